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
from actup._pipeline import descend
from actup._typing import CsrMatrix, Rows
from actup.backends import choose_backend, load_backend
from actup.estimators._base import Embedder, fitted_model
from actup.estimators._inputs import FitInputs
from actup.estimators._state import FittedState
from actup.graph._records import Graph
from actup.neighbors._rows import as_sparse_or_dense
from actup.progress import Progress
from actup.start._coordinates import scale_start


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

    def _grow(self, X: Any, y: Any = None, finite: bool | str = True) -> Self:
        """Add rows to the map of a fitted model."""
        model = fitted_model(self)
        _reject_distances(model, "partial_fit")
        model.precomputed_knn = None  # those of the rows before, if they were given
        backend = load_backend(choose_backend(model.backend, X, len(model._training)))
        rows = model._read_rows(X, model.recipe_, backend, reset=False, finite=finite)
        places = to_host(model._place(backend.load_rows(rows, model.recipe_.metric), backend))
        known = len(model._training)
        init = np.concatenate([to_host(model.embedding_), places])
        has_place = np.isfinite(init).all(axis=1)  # disconnected samples may have none
        inputs = FitInputs(
            y=_joined_labels(model, y, rows.shape[0]),
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

        The new map starts where ``transform`` places the rows on this map, and is turned so that it resembles
        this one as closely as possible.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The new data, of the same kind and columns; rows may be new, changed, missing, in another order.
        y : array-like of shape (n_rows,), default=None
            As in ``fit``.

        Returns
        -------
        estimator
            A new model of the same parameters; this one does not change. ``movement_`` is the
            root-mean-square distance between the places of the rows that both maps have (of all rows if they
            have none in common) as a share of the root-mean-square radius of this map.
        """
        model = fitted_model(self)
        _reject_distances(model, "refit")
        start = to_host(model.transform(X))
        new: Self = clone(self)
        with Progress(self.verbose, self.callback) as progress:
            prepared, state = new._prepare(X, FitInputs(y, init=start), progress)
            state = state.advanced_to(descend(prepared, progress))
        shared = _rows_on_the_map(start, to_host(model.embedding_))
        shared = shared if shared.any() else np.ones(len(start), bool)
        embedding = align_to(to_host(state.embedding_), start, shared).astype(np.float32)
        moved = embedding[shared].astype(np.float64) - start[shared]
        radius = np.sqrt(model.embedding_.astype(np.float64).var(axis=0).sum())
        movement = float(np.sqrt((moved**2).sum(axis=1).mean()) / (radius or 1.0))
        new._completed(replace(state, embedding_=embedding, movement_=movement)).replace_state_of(new)
        return new

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


def _reject_distances(model: Embedder, method: str) -> None:
    if model._training.rows is None:
        raise ValueError(
            f"{method} needs rows, but the model was fitted to distances (metric='precomputed'): fit to the "
            "distances of all rows instead"
        )


def _joined_labels(model: Embedder, y: Any, count: int) -> Any:
    """The labels of the rows on the map and of new ones."""
    known = getattr(model, "_labels", None)
    if known is None:
        return None
    if y is None or len(y) != count:
        raise ValueError(
            f"y must have one label for each of {count} new rows, because the map was made with labels: use "
            "-1 or NaN where a label is unknown"
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
