"""Embedder: what the three estimators share, from fitting to what is kept of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from actup._bytes import read_bytes
from actup._device import on_gpu, to_host
from actup._given import Given, check_rows_of_neighbors, count_rows
from actup._memory import explained, shape_of
from actup._pipeline import Embedding, descend, iterate_maps, prepare, with_column_numbers
from actup._threads import count_threads
from actup._typing import Array, CsrMatrix, Rows
from actup.backends import Backend, check_backend, choose_backend, load_backend
from actup.estimators._callbacks import CallbackSupportMixin, fit_task
from actup.estimators._files import FilesMixin
from actup.estimators._inputs import FitInputs, draw_seed, read_given_neighbors, read_mobility, reject_arrays
from actup.estimators._memory import MemoryMixin
from actup.estimators._state import (
    Derived,
    Estimator,
    FittedState,
    check_has_graph,
    is_fitted_to_files,
    snapshot,
)
from actup.estimators._viewing import ViewMixin
from actup.graph._records import Graph
from actup.graph._sample_weights import apply_sample_weights, neighbors_among, read_sample_weights
from actup.neighbors._finite_values import Role
from actup.neighbors._search import reject_unless_square
from actup.progress import Progress
from actup.recipe._recipe import Recipe
from actup.transform._inverse import rows_of_places
from actup.transform._new_rows import TrainingRows, check_map, place_new_rows


class Embedder(
    FilesMixin,
    MemoryMixin,
    ViewMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Fits a recipe to data. An estimator says with ``_recipe`` what to run.

    A run changes no attribute before it has succeeded; then it sets all of them at once (``FittedState``).

    An estimator also has the parameters ``metric``, ``precomputed_knn``, ``init``, ``random_state``,
    ``n_jobs``, ``verbose``, ``callback``, ``backend`` and ``max_memory``.
    """

    embedding_: np.ndarray
    n_epochs_: int
    recipe_: Recipe
    _training: TrainingRows
    _derived: Derived

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        sample_weight: Any = None,
        fixed: Any = None,
    ) -> Self:
        """Make a map of X.

        Ctrl-C during the layout keeps the points where they are: ``fit`` then warns and returns as usual. If
        ``fit`` raises an exception, the model stays as it was before: fitted to former data, or not fitted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, or a data frame, never changed; (n_samples, n_samples) distances,
            dense or sparse, if ``metric`` is "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels or target values, which ``UMAP`` uses (see ``target_metric``); other estimators ignore
            them: scikit-learn's pipelines pass y to every step.
        ensure_all_finite : bool or "allow-nan", default=True
            "allow-nan" lets missing values (NaN) through to a function as ``metric``, False infinite ones
            too. Metrics "nan_euclidean" and "gower" take missing values whatever it is, all others reject
            them.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts, at least 0; None: all alike. Samples of weight 0 are left out, and
            then placed on the map of the others as ``transform`` would place them.
        fixed : array-like of shape (n_samples,), default=None
            Samples that stay where ``init``, an array, has them: Booleans, or numbers from 0 (moves freely)
            to 1 (stays). Samples whose row of ``init`` is NaN start among their neighbours.

        Returns
        -------
        self
        """
        return self._fit(X, FitInputs(y, sample_weight, fixed, finite=ensure_all_finite))

    def _fit(self, X: Any, inputs: FitInputs) -> Self:
        with fit_task(self, X, inputs.y), self._progress() as progress:
            prepared, state = self._prepare(X, inputs, progress)
            reached = descend(prepared, progress, self._snapshot_epochs())
            state = self._with_weightless(state.advanced_to(reached), X, inputs.finite)
            self._completed(state).replace_state_of(self)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        sample_weight: Any = None,
        fixed: Any = None,
    ) -> Any:
        """Make a map of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, or a data frame, never changed; (n_samples, n_samples) distances,
            dense or sparse, if ``metric`` is "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels or target values, which ``UMAP`` uses.
        ensure_all_finite : bool or "allow-nan", default=True
            As in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            As in ``fit``.
        fixed : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32
            The map, or a data frame of it if ``set_output`` asked for one.
        """
        return self.fit(X, y, ensure_all_finite, sample_weight=sample_weight, fixed=fixed).embedding_

    def iter_fit(self, X: Any, y: Any = None, *, every: int = 10) -> Iterator[np.ndarray]:
        """Make a map of X step by step: ``for embedding in model.iter_fit(X): draw(embedding)``.

        The model is fitted to what has been reached whenever a step is handed out, so that the loop may be
        left at any time. Run to its end it gives the same bits as ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, or a data frame, never changed; (n_samples, n_samples) distances,
            dense or sparse, if ``metric`` is "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            As in ``fit``.
        every : int, default=10
            Epochs between two maps.

        Yields
        ------
        ndarray of shape (n_samples, n_components), float32
            The points at their start, then after every further ``every`` epochs, up to the last one.
        """
        if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
            raise ValueError(f"every={every!r} must be an integer of at least 1")
        return self._iterate(X, y, int(every))

    def _iterate(self, X: Any, y: Any, every: int) -> Iterator[np.ndarray]:
        with self._progress() as progress:
            prepared, state = self._prepare(X, FitInputs(y), progress)
            for reached in iterate_maps(prepared, every, progress):
                state = state.advanced_to(reached)
                state.replace_state_of(self)
                yield state.embedding_
            self._completed(state).replace_state_of(self)

    def transform(self, X: Any, ensure_all_finite: bool | str = True) -> Any:
        """Where new rows lie on the map.

        The map does not change, and a row's place depends on that row alone: not on the rows beside it, their
        order or ``n_jobs``. A row at distance 0 from a row of the training data gets its place; of several
        such rows, that of the one that equals it, or of the first one found. If X is all of the training
        data, the result is the map itself: only then do duplicates in the data get a place each. Rows unlike
        all training data land among those that are least unlike them. What is drawn at random depends on
        ``seed_`` (of ``UMAP``: on ``transform_seed``) alone.

        The data of ``fit`` are searched, which the estimator has kept: do not change them in place.
        Parameters that were set after ``fit`` have no effect here, except ``n_jobs``, ``backend`` and UMAP's
        ``transform_seed``. An array assigned to ``embedding_`` is the map that rows are placed on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite numbers, never changed; (n_rows, n_samples) distances to the training data, dense or
            sparse, if ``metric`` was "precomputed".
        ensure_all_finite : bool or "allow-nan", default=True
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_rows, n_components), float32
            Their places; an array of the same kind as X if that lies on a GPU and ``backend`` is "cuda".
        """
        return fitted_model(self)._places_of(X, ensure_all_finite)

    def _places_of(self, X: Any, finite: bool | str = True) -> Any:
        """Where rows lie on the map; the training data lie where they are."""
        count_threads(self.n_jobs)  # rejects a wrong one, as the next line does
        self._transform_seed()
        backend = load_backend(choose_backend(self.backend, X, len(self._training)))
        rows = self._read_rows(X, self.recipe_, backend, reset=False, finite=finite)
        if self._places_by_search() and self._training.are(rows):
            return backend.as_callers_kind(backend.load(self._checked_map().copy()), X)
        rows = backend.load_rows(rows, self.recipe_.metric)
        return backend.as_callers_kind(self._place(rows, backend), X)

    def _places_by_search(self) -> bool:
        """Whether rows are compared with the training data, so that these get the map itself."""
        return True

    def _checked_map(self) -> Array:
        """The map, which the caller may have assigned."""
        return check_map(self.embedding_, len(self._training), self.recipe_.n_components)

    def _place(self, rows: Rows, backend: Backend) -> Array:
        """The places of checked rows on the map, where the backend computes."""
        seed = self._transform_seed()
        training, places, counted = self._map_of()
        return place_new_rows(
            training,
            training.columns_of(rows, counted),
            places,
            self.recipe_,
            self.seed_ if seed is None else seed,
            count_threads(self.n_jobs),
            backend,
        )

    def _map_of(self, shown: np.ndarray | bool = True) -> tuple[TrainingRows, np.ndarray, np.ndarray | slice]:
        """What new rows are compared with: all samples but those of weight 0.

        Parameters
        ----------
        shown : ndarray of shape (n_samples,) or bool, default=True
            Which samples may count.

        Returns
        -------
        training : TrainingRows
        places : ndarray of shape (n_counted, n_components)
        counted : ndarray of shape (n_counted,) or slice
            The numbers of these samples.
        """
        weightless = getattr(self, "_weightless", None)
        if weightless is not None:
            shown = shown & ~weightless[getattr(self, "_unique_inverse_", slice(None))]
        if np.all(shown):
            return self._training, self.embedding_, slice(None)
        counted = np.flatnonzero(shown)
        return self._training.counted(counted), to_host(self.embedding_)[counted], counted

    def save(
        self, path: str | os.PathLike[str], *, data: str | None = "full", compress: bool = False
    ) -> None:
        """Write the fitted model to one file of plain arrays, for ``actup.load`` on any machine.

        The file holds no code. The loaded model's ``transform`` gives the same bits as this one's. The file
        appears under its name when it is complete; until then, and after an error, a former file stays.

        Parameters
        ----------
        path : str or path-like
            The file to write, by convention with the suffix ".actup"; one of another kind of file, such as
            ".csv", is rejected. An existing file is replaced, missing folders are created.
        data : {"full", "half", None}, default="full"
            What is kept of X for ``transform``. "half": its values in float16, which halves a file of
            float32; ``transform`` then differs in detail, also for rows of X itself. None: nothing, so that
            the loaded model cannot ``transform``.
        compress : bool, default=False
            Whether to compress the arrays, which takes far longer than writing them.

        Raises
        ------
        TypeError
            If a parameter cannot be written, such as a ``metric`` that is a function. A ``callback`` is left
            out: it is None after loading.
        ValueError
            If the model holds values that could not be read again, values of X do not fit "half", or the
            suffix names another kind of file.

        See Also
        --------
        actup.load : Reads the file.

        Examples
        --------
        >>> import os, tempfile
        >>> import actup
        >>> from sklearn.datasets import load_digits
        >>> X = load_digits().data
        >>> model = actup.UMAP(random_state=0).fit(X[:300])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "digits.actup")
        ...     model.save(path)
        ...     loaded = actup.load(path)
        >>> bool((loaded.transform(X[300:]) == model.transform(X[300:])).all())
        True
        """
        from actup.saving._model import save_model

        save_model(self, path, data, compress)

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
        model = fitted_model(self)
        threads = count_threads(model.n_jobs)
        training, places, _ = model._map_of()
        return rows_of_places(training, X, places, model.recipe_, threads)

    # --- what an estimator may add ---

    def _transform_seed(self) -> int | None:
        """The seed of ``transform`` if an estimator has a parameter for it; None: the seed of the fit."""
        return None

    def _snapshot_epochs(self) -> tuple[int, ...]:
        """The epochs after which the map is kept, ascending."""
        return ()

    def _completed(self, state: FittedState) -> FittedState:
        """What a fit leaves behind once its layout is finished."""
        return state

    def _given(self, inputs: FitInputs, rows: Rows, recipe: Recipe) -> Given:
        """What a run is given besides the rows, checked before any work is done."""
        n = rows.shape[0]
        init = self.init if inputs.init is None else inputs.init
        neighbors = read_given_neighbors(self.precomputed_knn)
        if neighbors is not None and inputs.kept is not None:
            check_rows_of_neighbors(neighbors, inputs.n_samples, "precomputed_knn")
            neighbors = neighbors_among(neighbors, inputs.kept)
        given = Given(
            init=None if isinstance(init, str) else init,
            neighbors=neighbors,
            neighbors_name="precomputed_knn",
            keep_neighbors=False,
            lean=inputs.lean,
            graph_changes=self._graph_changes(inputs),
            copies_rows=self._copies_rows(inputs),
        )
        if inputs.sample_weight is not None:
            weights = read_sample_weights(inputs.sample_weight, n)
            given = replace(given, reshape_graph=partial(_weigh, weights=weights))
        if inputs.fixed is not None:
            given = replace(given, mobility=read_mobility(inputs.fixed, given.init, n))
        return given

    # --- a run ---

    def _checked_recipe(self) -> Recipe:
        """The recipe of the parameters, after a check of those that are no part of it."""
        reject_arrays(self.get_params(deep=False))
        self._check_choices()
        self._transform_seed()
        count_threads(self.n_jobs)
        check_backend(self.backend)
        if self.max_memory is not None:
            read_bytes(self.max_memory, "max_memory")
        return self._recipe()

    def _check_choices(self) -> None:
        """Reject values of parameters that are no part of the recipe."""

    def _prepare(self, X: Any, inputs: FitInputs, progress: Progress) -> tuple[Embedding, FittedState]:
        """Run all stages up to the layout; the estimator itself stays as it is."""
        recipe = self._checked_recipe()  # first: rejects what cannot be run before any work is done
        backend = load_backend(choose_backend(self.backend, X, count_rows(X)))
        checked = snapshot(self)  # scikit-learn's check sets attributes
        recipe = with_column_numbers(recipe, X)
        inputs = replace(inputs, lean=checked._lean(X, recipe, inputs, backend))
        shape = partial(shape_of, X, recipe, Given(lean=inputs.lean), count_threads(self.n_jobs))
        with explained("read", shape, backend):
            rows = checked._read_rows(X, recipe, backend, reset=True, finite=inputs.finite)
        seed = draw_seed(self.random_state)
        return checked._prepare_rows(rows, recipe, inputs, backend, progress, seed, like=X)

    def _prepare_rows(
        self,
        rows: Rows,
        recipe: Recipe,
        inputs: FitInputs,
        backend: Backend,
        progress: Progress,
        seed: int,
        like: Any = None,
    ) -> tuple[Embedding, FittedState]:
        """As ``_prepare``, of checked rows. Samples of weight 0 take no part in the run."""
        all_rows, weighty = rows, inputs.weighty_samples(rows.shape[0])
        if weighty is not None:
            inputs = inputs.weighty_only(weighty, rows.shape[0], self.init)
            if recipe.metric == "precomputed":
                reject_unless_square(rows)
                rows = rows[:, weighty]
            rows = rows[weighty]
        given = self._given(inputs, rows, recipe)
        if inputs.sample_weight is not None and np.ptp(np.asarray(inputs.sample_weight)) > 0:
            recipe = recipe.but(prune=False)  # the edges of light samples are weak
        prepared = self._run(rows, recipe, given, backend, progress, seed, like)
        self._report_prepared(prepared)
        state = FittedState.of_run(prepared, TrainingRows(all_rows, recipe), seed, self)
        state = state if weighty is None else state.with_left_out(weighty, all_rows.shape[0])
        return replace(prepared, neighbors=None), state  # frees them, if they were kept

    def _run(
        self,
        rows: Rows | None,
        recipe: Recipe,
        given: Given,
        backend: Backend,
        progress: Progress,
        seed: int,
        like: Any = None,
    ) -> Embedding:
        threads = count_threads(self.n_jobs)
        with explained("read", partial(shape_of, rows, recipe, given, threads), backend):
            loaded = None if rows is None else backend.load_rows(rows, recipe.metric)
        return prepare(
            loaded,
            recipe,
            given,
            seed=seed,
            threads=threads,
            backend=backend,
            progress=progress,
            like=like,
        )

    def _with_weightless(self, state: FittedState, X: Any, finite: bool | str) -> FittedState:
        """The state with samples of weight 0 where new rows would be placed."""
        weightless, training = state.weightless_samples(), state._training
        if weightless is None or training is None:
            return state
        model = snapshot(self)
        state.replace_state_of(model)
        backend, rows = load_backend("cpu"), training.rows
        if rows is None:
            rows = model._read_rows(X, state.recipe_, backend, reset=False, finite=finite)
        places = to_host(model._place(to_host(rows)[np.flatnonzero(weightless)], backend))

        def completed(embedding: np.ndarray) -> np.ndarray:
            whole: np.ndarray = to_host(embedding).copy()
            whole[weightless] = places
            return whole

        maps = state.embedding_list_
        return replace(
            state,
            embedding_=completed(state.embedding_),
            embedding_list_=None if maps is None else [completed(map_) for map_ in maps],
        )

    def _report_prepared(self, prepared: Embedding) -> None:
        """Called with a run before its layout; it has its neighbours if ``_given`` asked to keep them."""

    def _read_rows(
        self, X: Any, recipe: Recipe, backend: Backend, *, reset: bool, finite: bool | str = True
    ) -> Rows:
        """Check X; record its columns for scikit-learn (``reset``), or compare them with the record."""
        check = partial(validate_data, self, reset=reset)
        role = Role.DATA if reset else Role.NEW_ROWS
        rows = backend.read_rows(
            X, recipe.metric, check=check, finite=finite, role=role, threads=count_threads(self.n_jobs)
        )
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
        check_has_graph(self)
        return self._derived.scipy_graph()

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def fitted_model(estimator: Estimator) -> Estimator:
    """A snapshot of an estimator that has been fitted to rows; raises NotFittedError otherwise."""
    check_is_fitted(estimator, "embedding_")
    if is_fitted_to_files(estimator):
        raise ValueError(
            "this model was fitted by fit_files, which keeps no rows to compare others with: fit a sample of "
            "the rows, then place all of them with actup.distributed.transform"
        )
    if not hasattr(estimator, "_training"):
        raise ValueError(
            "this model was combined of two others, or fitted to affinities alone: it has a map and a graph, "
            "but no rows to compare others with"
        )
    return snapshot(estimator)


def _weigh(graph: Graph, *, weights: np.ndarray, backend: Backend, threads: int) -> Graph:
    return apply_sample_weights(graph, weights)
