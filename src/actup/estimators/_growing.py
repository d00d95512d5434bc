"""GrowingMap: maps that take in new rows, follow tomorrow's data, or show a selection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from actup._device import to_host
from actup._given import Given
from actup._maps import align_to
from actup._pipeline import descend, settle
from actup._threads import count_threads
from actup._typing import CsrMatrix, Rows
from actup.backends import choose_backend, load_backend
from actup.estimators._base import Embedder, fitted_model
from actup.estimators._inputs import FitInputs
from actup.estimators._state import FittedState
from actup.graph._records import Graph
from actup.neighbors._rows import as_sparse_or_dense
from actup.progress import Progress
from actup.start._coordinates import scale_start

# While new rows descend in ``refit``, the steps of shared points are shortened by this power of the share of
# new rows. Measured on digits: shared points hardly move while few rows are new, and maps of mostly new rows
# are as good as those of a fit.
_MOBILITY_POWER = 3

_DISTANCES_INSTEAD = "fit to the distances of all rows instead"


class GrowingMap(Embedder):
    """What an estimator does with a finished map when the data change."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to the map: the points that are there stay where they are, to the bit.

        The first call fits the model. In later calls the neighbours of all rows are searched again, the new
        rows are placed on the map as ``transform`` does, and then settle among all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            New rows, of the same kind and columns as those of the first call.
        y : array-like of shape (n_rows,), default=None
            Labels of the new rows, if the map was made with labels.

        Returns
        -------
        self

        See Also
        --------
        refit : A new map of other data, which resembles this one.
        """
        return self._grow(X, y) if hasattr(self, "embedding_") else self.fit(X, y)

    def _grow(self, X: Any, y: Any = None, finite: bool | str = True, method: str = "partial_fit") -> Self:
        """Add rows to the map of a fitted model; errors speak of the method that the caller has called."""
        model = fitted_model(self)
        model._checked_recipe()  # parameters that were set since the fit must be right
        model._training.check_has_rows(method, _DISTANCES_INSTEAD)
        model.precomputed_knn = None  # those of the rows before, if they were given
        backend = load_backend(choose_backend(model.backend, X, len(model._training)))
        rows = model._read_rows(X, model.recipe_, backend, reset=False, finite=finite)
        places = to_host(model._place(backend.load_rows(rows, model.recipe_.metric), backend))
        known = len(model._training)
        init = np.concatenate([to_host(model.embedding_), places])
        has_place = np.isfinite(init).all(axis=1)  # disconnected samples may have none
        inputs = FitInputs(
            y=_joined_labels(model, y, rows.shape[0], method),
            fixed=has_place & (np.arange(len(init)) < known),
            init=np.where(has_place[:, None], init, np.nan),
        )
        joined = _stack(to_host(model._training.rows), to_host(rows))
        with Progress(self.verbose, self.callback) as progress:
            prepared, state = model._prepare_rows(
                joined, model.recipe_, inputs, backend, progress, model.seed_
            )
            self._completed(state.advanced_to(descend(prepared, progress))).replace_state_of(self)
        return self

    def refit(self, X: Any, y: Any = None) -> Self:
        """Make a new map of other data that can be compared with this one, such as tomorrow's data.

        Points start where ``transform`` places their rows. Those of rows that this map does not have descend
        first, while the others hardly move; then all settle together, in the last part of a descent. The new
        map is turned so that it resembles this one as closely as possible.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The new data, of the same kind and columns; rows may be new, changed, missing, in another order.
        y : array-like of shape (n_rows,), default=None
            As in ``fit``.

        Returns
        -------
        estimator
            A new model of the same parameters; this one does not change. ``n_shared_`` is the number of rows
            that both maps have. ``movement_`` is the root-mean-square distance between their places on the
            two maps as a share of the root-mean-square radius of this map; NaN if there are none. The new map
            is turned and moved but not scaled: maps of t-SNE grow with the number of points, which counts as
            movement.
        """
        model = fitted_model(self)
        given, known = model._checked_recipe().n_components, model.recipe_.n_components
        if given != known:
            raise ValueError(
                f"n_components={given}, but refit begins with a map in {known} dimensions: use fit"
            )
        model._training.check_has_rows("refit", _DISTANCES_INSTEAD)
        model.__dict__.pop("network_", None)  # places by a search are those of the map, for shared rows
        start, places = to_host(model._places_of(X)), to_host(model.embedding_)
        has_place = np.isfinite(start).all(axis=1)  # disconnected samples may have none
        shared = has_place & _rows_on_the_map(start, places)
        new: Self = clone(self)
        with Progress(self.verbose, self.callback) as progress:
            state = new._fit_to_places(X, y, start, shared, progress)
        reached = to_host(state.embedding_)
        compared = shared & np.isfinite(reached).all(axis=1)
        aligned_by = compared if compared.any() else has_place & np.isfinite(reached).all(axis=1)
        embedding = align_to(reached, start, aligned_by).astype(np.float32)
        state = replace(
            state,
            embedding_=embedding,
            movement_=_movement(embedding[compared], start[compared], places),
            n_shared_=int(shared.sum()),
        )
        new._completed(state).replace_state_of(new)
        return new

    def _fit_to_places(
        self, X: Any, y: Any, start: np.ndarray, known: np.ndarray, progress: Progress
    ) -> FittedState:
        """Fit to rows that have places, some of which are those of a finished map.

        Parameters
        ----------
        X, y : object
            As in ``fit``.
        start : ndarray of shape (n, n_components)
            Where the points start; NaN: among their neighbours.
        known : ndarray of shape (n,), bool
            The points that move little, or not at all, until the others have found their places.
        progress : Progress
        """
        fixed = None
        if known.any() or np.isnan(start).any():
            fixed = np.where(known, 1 - (~known).mean() ** _MOBILITY_POWER, 0.0)
        prepared, state = self._prepare(X, FitInputs(y, init=start, fixed=fixed), progress)
        reached = prepared if known.all() else descend(prepared, progress)
        if known.any() and reached.layout is not None and not progress.stopped and not reached.interrupted:
            backend = load_backend(choose_backend(self.backend, X, len(start)))
            threads = count_threads(self.n_jobs)
            reached = settle(reached, progress, seed=state.seed_, threads=threads, backend=backend)
        return state.advanced_to(reached)

    def subset(self, selection: Any) -> Self:
        """Make a map of some of the samples, from the graph that is already known.

        Parameters
        ----------
        selection : array-like
            Booleans, one for each sample, or the numbers of the samples that are selected.

        Returns
        -------
        estimator
            A new model of the same parameters, fitted to the selected rows; this one does not change. It
            starts from this map.
        """
        with Progress(self.verbose, self.callback) as progress:
            return self._subset(selection, progress)

    def _subset(self, selection: Any, progress: Progress) -> Self:
        """As ``subset``, reporting to ``progress``."""
        model = fitted_model(self)
        model._checked_recipe()  # parameters that were set since the fit must be right
        chosen = _selected_rows(selection, len(model._training))
        graph = _subgraph(model, chosen)
        start = to_host(model.embedding_)[chosen]
        recipe = model.recipe_
        start = scale_start(start, recipe.start_extent, recipe.start_size, model.seed_)
        new: Self = clone(self)
        rows = None if model._training.rows is None else to_host(model._training.rows)[chosen]
        backend = load_backend(choose_backend(model.backend, model.embedding_, len(chosen)))
        given = Given(init=start, graph=graph)
        prepared = model._run(rows, recipe, given, backend, progress, model.seed_)
        training = model._training.selected(chosen)
        state = FittedState.of_run(prepared, training, model.seed_, model)
        new._completed(state.advanced_to(descend(prepared, progress))).replace_state_of(new)
        return new


def _joined_labels(model: Embedder, y: Any, count: int, method: str) -> Any:
    """The labels of the rows on the map and of new ones."""
    known = getattr(model, "_labels", None)
    if known is None:
        return None
    if y is None or len(y) != count:
        instead = "use partial_fit(X, y), with " if method == "update" else "use "
        raise ValueError(
            f"y must have one label for each of {count} new rows, because the map was made with labels: "
            f"{instead}-1 or NaN where a label is unknown"
        )
    return np.concatenate([known, np.asarray(y)])


def _stack(rows: Rows, others: Rows) -> Rows:
    others = as_sparse_or_dense(others, sparse.issparse(rows))
    if sparse.issparse(rows):
        return sparse.vstack([rows, others], format="csr")
    return np.concatenate([rows, others])


def _rows_on_the_map(places: np.ndarray, embedding: np.ndarray) -> np.ndarray:
    """Which places are those of points of the map, to the bit: such rows were in its data."""
    known = {place.tobytes() for place in np.ascontiguousarray(embedding)}
    return np.fromiter((place.tobytes() in known for place in places), bool, len(places))


def _movement(places: np.ndarray, before: np.ndarray, old_map: np.ndarray) -> float:
    """How far points have moved (root mean square) as a share of the old map's radius; NaN for no points."""
    if not len(places):
        return float("nan")
    shown = old_map[np.isfinite(old_map).all(axis=1)].astype(np.float64)
    radius = np.sqrt(shown.var(axis=0).sum()) or 1.0
    moved = places.astype(np.float64) - before
    return float(np.sqrt((moved**2).sum(axis=1).mean()) / radius)


def _selected_rows(selection: Any, n: int) -> np.ndarray:
    """The numbers of selected samples, ascending where Booleans are given."""
    chosen = np.asarray(selection)
    if chosen.dtype == bool:
        if chosen.shape != (n,):
            raise ValueError(f"selection has shape {chosen.shape}, but the map has {n} samples")
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise TypeError(
            f"selection holds {chosen.dtype} in shape {chosen.shape}: give one Boolean for each of {n} "
            "samples, or the numbers of samples"
        )
    if len(chosen) < 2:
        raise ValueError(f"selection has {len(chosen)} samples: select at least 2")
    if chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(
            f"selection has numbers {chosen.min()} to {chosen.max()}, but samples are numbered 0 to {n - 1}"
        )
    if len(np.unique(chosen)) < len(chosen):
        raise ValueError("selection names a sample twice: give distinct numbers")
    return chosen


def _subgraph(model: Any, chosen: np.ndarray) -> Graph:
    """The edges between selected samples."""
    matrix: CsrMatrix = model.graph_
    if matrix.shape[0] != len(model._training):
        raise ValueError("subset needs a graph of all samples, but unique=True made one of the distinct rows")
    part = matrix[chosen][:, chosen]
    if not part.nnz:
        raise ValueError(
            f"selection has {len(chosen)} samples, none of which is a neighbour of another: select more, or "
            "fit a model to them"
        )
    return Graph.from_scipy(part)
