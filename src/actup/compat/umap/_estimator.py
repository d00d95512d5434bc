"""UMAP for programs that also read or set what umap-learn keeps in private attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from actup._arguments import explain_unknown_arguments
from actup._warnings import warn_user
from actup.backends import load_backend
from actup.compat.umap._search_index import SearchIndex
from actup.estimators._umap import UMAP as _UMAP
from actup.estimators._umap_private import DERIVED, KNOWN_BEFORE_FIT, recipe_of
from actup.graph._disconnection import disconnection_distance
from actup.graph._target import check_target_neighbors
from actup.recipe._recipe import Recipe
from actup.transform._new_rows import TrainingRows

_MANY_COMPONENTS = 8  # umap-learn warns of the inverse in this many dimensions


@dataclass(frozen=True)
class DistanceAlone:
    """A function of two rows that may return a pair (distance, gradient), as umap-learn allows."""

    function: Callable[..., Any]

    def __call__(self, x: np.ndarray, y: np.ndarray, **parameters: Any) -> float:
        value = self.function(x, y, **parameters)
        return float(value[0] if isinstance(value, tuple) else value)


@explain_unknown_arguments
@dataclass(eq=False, repr=False)
class UMAP(_UMAP):
    """``actup.UMAP``, with the private attributes of umap-learn's class that other programs read or set.

    Parameters, attributes and methods are those of ``actup.UMAP``. As in umap-learn, samples without
    connected neighbours have coordinates of NaN, a densMAP or a model of one sample places no new rows, and
    ``inverse_transform`` is an error for densMAP, sparse data, metrics without a gradient and mode "graph".
    Programs that build a fitted model by hand, as scanpy's ``ingest`` does, set ``embedding_``, ``_raw_data``
    and what else they know (``_a``, ``_b``, ``_n_neighbors``, ``_metric_kwds``) and call ``transform``.

    See Also
    --------
    actup.UMAP : The documentation of all parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup.compat.umap import UMAP
    >>> X = load_digits().data
    >>> model = UMAP(random_state=0).fit(X[:200])
    >>> model._n_neighbors, model._raw_data.shape
    (15, (200, 64))

    A model of known places:

    >>> other = UMAP()
    >>> other._raw_data, other.embedding_ = X[:200], model.embedding_
    >>> other.transform(X[200:203]).shape
    (3, 2)
    """

    _: KW_ONLY
    disconnected: str = "nan"

    def __getattr__(self, name: str) -> Any:
        derive = _DERIVED.get(name)
        if derive is None or not ("embedding_" in vars(self) or name in KNOWN_BEFORE_FIT):
            return self.__getattribute__(name)  # raises the AttributeError that led here
        return derive(self)

    def transform(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        own = vars(self)
        if "embedding_" in own and "_raw_data" in own and "_training" not in own:
            self._adopt(own["_raw_data"])
        if own.get("recipe_") is not None and own["recipe_"].density_weight:
            raise NotImplementedError("a densMAP places no new rows here; actup.UMAP(densmap=True) does")
        if "_training" in own and len(own["_training"]) == 1:
            raise ValueError("the model was fitted to one sample, among which no row has a place")
        return super().transform(X, *args, **kwargs)

    def inverse_transform(self, X: Any) -> np.ndarray:
        self._check_transform_mode()
        if "recipe_" in vars(self):
            reason = _why_no_inverse(self)
            if reason is not None:
                raise ValueError(f"inverse_transform is not available for {reason}; actup.UMAP has it")
            n_components = self.recipe_.n_components
            if n_components >= _MANY_COMPONENTS:
                warn_user(
                    f"n_components={n_components}: in so many dimensions few points of the map lie "
                    "around a place, so that its row is less precise"
                )
        return super().inverse_transform(X)

    def _recipe(self) -> Recipe:
        """As in ``actup.UMAP``; what is wrong with a parameter is a ValueError, as in umap-learn."""
        try:
            _check_parameters(self)
            recipe = super()._recipe()
        except TypeError as error:
            raise ValueError(str(error)) from None
        return recipe.but(metric=DistanceAlone(recipe.metric)) if callable(recipe.metric) else recipe

    def _check_target(self, y: Any) -> None:
        """As in ``actup.UMAP``, but only with a target, as in umap-learn."""
        if y is not None:
            super()._check_target(y)

    def _validate_parameters(self) -> None:
        """Reject parameters that cannot be used, as umap-learn does before it fits."""
        self._recipe()

    def _adopt(self, data: Any) -> None:
        """Make a fitted model of what a program has set: the data, their places, and what else it knows."""
        own = vars(self)
        recipe = self._recipe().but(
            n_components=int(np.shape(self.embedding_)[1]),
            n_neighbors=int(own.get("_n_neighbors", self.n_neighbors)),
            metric_kwds=dict(own.get("_metric_kwds") or self.metric_kwds or {}),
        )
        if "_a" in own and "_b" in own:
            recipe = recipe.but(a=float(own["_a"]), b=float(own["_b"]))
        rows = self._read_rows(data, recipe, load_backend("cpu"), reset=True)
        self.recipe_, self.seed_, self._training = recipe, 0, TrainingRows(rows, recipe)

    def _search_index(self) -> SearchIndex:
        """The training data as an index that can be searched; built once per fit."""
        index: SearchIndex | None
        training, index = vars(self).get("_index_of_training", (None, None))
        if training is not self._training:
            recipe = self.recipe_
            k = min(recipe.n_neighbors, len(self._training))
            seed, jobs = self.seed_, -1 if self.n_jobs is None else self.n_jobs
            index = SearchIndex(self._training.rows, k, recipe.metric, dict(recipe.metric_kwds), seed, jobs)
            self._index_of_training = (self._training, index)
        assert index is not None
        return index


def _why_no_inverse(model: UMAP) -> str | None:
    """Why umap-learn has no ``inverse_transform`` for a fitted model; None if it has one."""
    training = vars(model).get("_training")
    if training is None or training.rows is None:
        return None  # actup.UMAP says why
    if model.recipe_.density_weight:
        return "a densMAP"
    if issparse(training.rows):
        return "sparse data"
    if model._inverse_distance_func is None:
        return f"metric={model.metric!r}, which has no gradient"
    return "transform_mode='graph'" if model.transform_mode == "graph" else None


def _check_parameters(model: Any) -> None:
    """Reject values that umap-learn rejects and ``actup.UMAP`` checks later, or has no use for."""
    if not isinstance(model.init, str) and np.ndim(model.init) != 2:
        raise ValueError(f"init={model.init!r} must be a name or an array of shape (n_samples, n_components)")
    n_jobs = model.n_jobs
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and (n_jobs == -1 or n_jobs >= 1)):
        raise ValueError(f"n_jobs={n_jobs!r} must be an integer of at least 1, or -1 for all cores")
    target_n_neighbors = getattr(model, "target_n_neighbors", -1)
    if not (isinstance(target_n_neighbors, int | np.integer) and target_n_neighbors == -1):
        check_target_neighbors(target_n_neighbors)
    if not isinstance(getattr(model, "tqdm_kwds", None), dict | None):
        raise ValueError(f"tqdm_kwds={model.tqdm_kwds!r} must be a dict or None")
    disconnection_distance(model.metric, getattr(model, "disconnection_distance", None))
    _check_given_neighbors(model)


def _check_given_neighbors(model: Any) -> None:
    given = model.precomputed_knn
    if not isinstance(given, tuple | list) or all(part is None for part in given):
        return
    if getattr(model, "unique", False):
        raise ValueError("unique=True cannot be used with precomputed_knn: leave one of them out")
    for part, array in enumerate(given[:2]):
        if not isinstance(array, np.ndarray):
            raise ValueError(f"precomputed_knn[{part}] is a {type(array).__name__}, but must be an ndarray")


def _bandwidths(model: UMAP) -> tuple[np.ndarray, np.ndarray]:
    from actup.compat.umap._graphs import smooth_knn_dist

    distances = model._search_index().neighbor_graph[1]
    local_connectivity = getattr(model, "local_connectivity", 1.0)
    return smooth_knn_dist(distances, float(distances.shape[1]), local_connectivity=local_connectivity)


def _distance_function(model: UMAP, parameter: str, gradients: bool) -> Any:
    from actup.compat.umap import distances

    named = distances.named_distances_with_gradients if gradients else distances.named_distances
    metric = getattr(model, parameter, "euclidean")
    if not callable(metric):
        return named.get(metric) if isinstance(metric, str) else None
    return metric if not gradients or _returns_gradient(model, metric) else None


def _returns_gradient(model: UMAP, metric: Callable[..., Any]) -> bool:
    """Whether a function of two rows returns a pair (distance, gradient), tried on two rows of the data."""
    rows: Any = model._training.rows
    value = metric(rows[0].copy(), rows[-1].copy(), **dict(recipe_of(model).metric_kwds))
    return isinstance(value, tuple)


# What umap-learn keeps in private attributes, and how it follows from an estimator of ActUp.
_DERIVED: dict[str, Callable[[UMAP], Any]] = {
    **DERIVED,
    "_input_distance_func": lambda model: _distance_function(model, "metric", gradients=False),
    "_inverse_distance_func": lambda model: _distance_function(model, "metric", gradients=True),
    "_knn_dists": lambda model: model._search_index().neighbor_graph[1],
    "_knn_indices": lambda model: model._search_index().neighbor_graph[0],
    "_knn_search_index": lambda model: model._search_index(),
    "_output_distance_func": lambda model: _distance_function(model, "output_metric", gradients=True),
    "_rhos": lambda model: _bandwidths(model)[1],
    "_sigmas": lambda model: _bandwidths(model)[0],
}
