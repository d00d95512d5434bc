"""What umap-learn keeps in private attributes of a model, and how it follows from one of ActUp.

Programs such as scanpy's ``ingest`` read them. Each is computed when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scipy.sparse import issparse

from actup.graph._disconnection import disconnection_distance
from actup.recipe._recipe import Recipe

if TYPE_CHECKING:
    from actup.estimators._umap import UMAP

_SMALL_ROWS = 4096  # umap-learn compares all pairs of fewer rows


def recipe_of(model: UMAP) -> Recipe:
    """The recipe of the fit; of a model that is not fitted, the one that a fit would use."""
    return vars(model).get("recipe_") or model._recipe()


def _neighborhood(model: UMAP) -> int:
    """The size of a neighbourhood, which umap-learn cuts to one less than the number of points."""
    wanted = recipe_of(model).n_neighbors
    if "_derived" not in vars(model):
        return wanted
    points = model.graph_.shape[0]
    return wanted if model.n_neighbors < points else points - 1


DERIVED: dict[str, Callable[[Any], Any]] = {
    "_a": lambda model: recipe_of(model).kernel()[0],
    "_b": lambda model: recipe_of(model).kernel()[1],
    "_disconnection_distance": lambda model: disconnection_distance(
        model.metric, getattr(model, "disconnection_distance", None)
    ),
    "_initial_alpha": lambda model: model.learning_rate,
    "_input_hash": lambda model: None,
    "_metric_kwds": lambda model: dict(recipe_of(model).metric_kwds),
    "_n_neighbors": _neighborhood,
    "_raw_data": lambda model: model._training.rows,
    "_small_data": lambda model: len(model._training) < _SMALL_ROWS,
    "_sparse_data": lambda model: issparse(model._training.rows),
    "_supervised": lambda model: "_labels" in vars(model),
}
KNOWN_BEFORE_FIT = ("_a", "_b", "_disconnection_distance", "_initial_alpha", "_metric_kwds", "_n_neighbors")
# Those that only actup.compat.umap.UMAP has: they need its distances and its search index.
ONLY_IN_COMPAT = (
    "_input_distance_func",
    "_inverse_distance_func",
    "_knn_dists",
    "_knn_indices",
    "_knn_search_index",
    "_output_distance_func",
    "_rhos",
    "_sigmas",
    "_validate_parameters",
)
