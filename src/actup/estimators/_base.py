"""Embedder: what the three estimators share, from fitting to what is kept of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from actup._device import on_gpu
from actup._pipeline import Embedding, Given, count_rows, descend, iterate_maps, prepare
from actup._threads import count_threads
from actup._typing import Array, CsrMatrix, Rows
from actup.backends import Backend, choose_backend, load_backend
from actup.estimators._state import Derived, FittedState, snapshot
from actup.graph._records import Neighbors, read_lists
from actup.progress import Progress
from actup.recipe._recipe import Recipe
from actup.transform._inverse import rows_of_places
from actup.transform._new_rows import TrainingRows, place_new_rows

Start = str | np.ndarray | None
RandomState = int | np.random.RandomState | np.random.Generator | None
Lists = tuple[Any, ...] | None  # (indices, distances), or umap-learn's (indices, distances, index)


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Fits a recipe to data. An estimator says with ``_recipe`` what to run.

    A run changes no attribute before it has succeeded; then it sets all of them at once (``FittedState``).

    An estimator also has the parameters ``metric``, ``precomputed_knn``, ``init``, ``random_state``,
    ``n_jobs``, ``verbose``, ``callback`` and ``backend``.
    """

    embedding_: np.ndarray
    n_epochs_: int
    recipe_: Recipe
    _training: TrainingRows
    _derived: Derived

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _warn_if_labels(self, y: Any) -> None:
        """Called with the y of a fit, which no estimator uses."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Make a map of X.

        Ctrl-C during the layout keeps the points where they are: ``fit`` then warns and returns as usual. If
        ``fit`` raises an exception, the model stays as it was before: fitted to former data, or not fitted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, never changed; (n_samples, n_samples) distances, dense or sparse, if
            ``metric`` is "precomputed".
        y : None
            Not used; here because scikit-learn's pipelines pass it. ``UMAP`` warns, since umap-learn uses it.

        Returns
        -------
        self
        """
        self._warn_if_labels(y)
        with Progress(self.verbose, self.callback) as progress:
            prepared, state = self._prepare(X, progress)
            state.advanced_to(descend(prepared, progress)).replace_state_of(self)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Make a map of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, never changed; (n_samples, n_samples) distances, dense or sparse, if
            ``metric`` is "precomputed".
        y : None
            Not used; here because scikit-learn's pipelines pass it. ``UMAP`` warns, since umap-learn uses it.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32
            The map, or a data frame of it if ``set_output`` asked for one.
        """
        return self.fit(X, y).embedding_

    def iter_fit(self, X: Any, y: Any = None, *, every: int = 10) -> Iterator[np.ndarray]:
        """Make a map of X step by step: ``for embedding in model.iter_fit(X): draw(embedding)``.

        The model is fitted to what has been reached whenever a step is handed out, so that the loop may be
        left at any time. Run to its end it gives the same bits as ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, never changed; (n_samples, n_samples) distances, dense or sparse, if
            ``metric`` is "precomputed".
        y : None
            Not used; here because ``fit`` has it.
        every : int, default=10
            Epochs between two maps.

        Yields
        ------
        ndarray of shape (n_samples, n_components), float32
            The points at their start, then after every further ``every`` epochs, up to the last one.
        """
        if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
            raise ValueError(f"every={every!r} must be an integer of at least 1")
        self._warn_if_labels(y)
        with Progress(self.verbose, self.callback) as progress:
            prepared, state = self._prepare(X, progress)
            for reached in iterate_maps(prepared, int(every), progress):
                state.advanced_to(reached).replace_state_of(self)
                yield reached.embedding

    def transform(self, X: Any) -> Array:
        """Where new rows lie on the map.

        The map does not change, and a row's place depends on that row alone: not on the rows beside it, their
        order or ``n_jobs``. A row at distance 0 from a row of the training data gets its place; of several
        such rows, that of the first one found. So the training data get the map itself, as long as no row
        comes twice. Rows unlike all training data land among those that are least unlike them. What is drawn
        at random depends on ``seed_`` (of ``UMAP``: on ``transform_seed``) alone.

        The data of ``fit`` are searched, which the estimator has kept: do not change them in place.
        Parameters that were set after ``fit`` have no effect here, except ``n_jobs``, ``backend`` and UMAP's
        ``transform_seed``. An array assigned to ``embedding_`` is the map that rows are placed on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite numbers, never changed; (n_rows, n_samples) distances to the training data, dense or
            sparse, if ``metric`` was "precomputed".

        Returns
        -------
        ndarray of shape (n_rows, n_components), float32
            Their places; an array of the same kind as X if that lies on a GPU and ``backend`` is "cuda".
        """
        check_is_fitted(self, ["embedding_", "_training"])
        model = snapshot(self)
        seed = model._transform_seed()
        backend = load_backend(choose_backend(model.backend, X, len(model._training)))
        rows = backend.load_rows(model._read_rows(X, model.recipe_, backend, reset=False))
        places = place_new_rows(
            model._training,
            rows,
            model.embedding_,
            model.recipe_,
            model.seed_ if seed is None else seed,
            count_threads(model.n_jobs),
            backend,
        )
        return backend.as_callers_kind(places, X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Which data would lie at places of the map.

        Around each place, rows are taken for a linear function of places, fitted to the training rows whose
        points are nearest. Each row depends on its place alone, and no value leaves the range that its column
        has among these training rows: places outside the map get rows like those at its edge.

        Parameters
        ----------
        X : array-like of shape (n_places, n_components)
            Places on the map: finite numbers, never changed.

        Returns
        -------
        ndarray of shape (n_places, n_features), float32
            Their rows, dense even if the training data are sparse.

        Raises
        ------
        ValueError
            If ``metric`` was "precomputed", so that there are no rows to give.
        """
        check_is_fitted(self, ["embedding_", "_training"])
        model = snapshot(self)
        threads = count_threads(model.n_jobs)
        return rows_of_places(model._training, X, model.embedding_, model.recipe_, threads)

    def _transform_seed(self) -> int | None:
        """The seed of ``transform`` if an estimator has a parameter for it; None: the seed of the fit."""
        return None

    def _prepare(self, X: Any, progress: Progress) -> tuple[Embedding, FittedState]:
        """Run all stages up to the layout; the estimator itself stays as it is."""
        recipe = self._recipe()  # first: rejects what cannot be run before any work is done
        self._transform_seed()  # rejects a wrong one
        known = _given_neighbors(self.precomputed_knn)
        backend = load_backend(choose_backend(self.backend, X, count_rows(X)))
        checked = snapshot(self)  # scikit-learn's check sets attributes
        rows = checked._read_rows(X, recipe, backend, reset=True)
        training = TrainingRows(rows, recipe)
        seed = _draw_seed(self.random_state)
        prepared = prepare(
            backend.load_rows(rows),
            recipe,
            Given(
                init=None if isinstance(self.init, str) else self.init,
                neighbors=known,
                neighbors_name="precomputed_knn",
            ),
            seed=seed,
            threads=count_threads(self.n_jobs),
            backend=backend,
            progress=progress,
            like=X,
        )
        state = FittedState.of_run(prepared, training, seed, checked)
        return replace(prepared, neighbors=None), state  # as large as the graph: free them now

    def _read_rows(self, X: Any, recipe: Recipe, backend: Backend, *, reset: bool) -> Rows:
        """Check X; record its columns for scikit-learn (``reset``), or compare them with the record."""
        check = partial(validate_data, self, reset=reset)
        rows = backend.read_rows(X, recipe.metric, check=check)
        if on_gpu(X):  # scikit-learn has not seen it
            self._record_columns(rows, reset)
        return rows

    def _record_columns(self, rows: Rows, reset: bool) -> None:
        if reset:
            self.n_features_in_ = rows.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        elif rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    @property
    def graph_(self) -> CsrMatrix:
        check_is_fitted(self, "_derived")
        return self._derived.scipy_graph()

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def start_name(init: Start, otherwise: str) -> str | None:
    """The start that a recipe names; coordinates are handed to the layout instead."""
    return init if init is None or isinstance(init, str) else otherwise


def change(base: Recipe, names: dict[str, str], **changes: Any) -> Recipe:
    """``base.but(**changes)``, with errors that speak of the estimator's own parameter names."""
    try:
        return base.but(**changes)
    except (TypeError, ValueError) as error:
        message = str(error)
        for switch, name in names.items():
            if message.startswith(f"{switch}="):
                message = message.replace(switch, name, 1)
        raise type(error)(message) from None


def _given_neighbors(lists: Lists) -> Neighbors | None:
    """The neighbours that ``precomputed_knn`` holds; umap-learn's default is a tuple of None."""
    if lists is None or (isinstance(lists, tuple) and all(part is None for part in lists)):
        return None
    if isinstance(lists, Neighbors):
        return lists
    if not isinstance(lists, tuple | list) or len(lists) not in (2, 3):
        raise TypeError(
            f"precomputed_knn={lists!r} must be (indices, distances) or (indices, distances, index)"
        )
    return read_lists(lists[0], lists[1], ("precomputed_knn[0]", "precomputed_knn[1]"))


def _draw_seed(random_state: RandomState) -> int:
    """The seed of a fit; an integer is the seed itself, so that it means the same in ``actup.embed``."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    try:
        source = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer from 0 to 2**32 - 1, or NumPy's "
            "RandomState or Generator"
        ) from None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(source.randint(2**31 - 1))
