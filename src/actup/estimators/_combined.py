"""Combine two fitted models of the same samples into one map: model1 * model2, + and -."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from actup._given import Given
from actup._pipeline import descend
from actup.backends import load_backend
from actup.estimators._state import FittedState, check_has_graph, snapshot
from actup.graph._records import Graph
from actup.graph._set_operations import intersect, reset_local_connectivity, unite
from actup.progress import Progress

if TYPE_CHECKING:
    from actup.estimators._umap import UMAP

_OPERATIONS = {
    "intersection": lambda one, other: reset_local_connectivity(intersect(one, other, 0.5), True),
    "union": lambda one, other: reset_local_connectivity(unite(one, other), True),
    "difference": lambda one, other: reset_local_connectivity(
        intersect(one, other, 0.5, right_complement=True), False
    ),
}


def combine(one: UMAP, other: object, operation: str) -> Any:
    """A model with the parameters of the first one, whose graph is made of the graphs of both.

    It has a map and a graph, but no rows, so that it cannot place new ones.

    Parameters
    ----------
    one, other : UMAP
        Fitted to the same samples, in the same order.
    operation : {"intersection", "union", "difference"}
    """
    from actup.estimators._umap import UMAP

    if not isinstance(other, UMAP):
        return NotImplemented
    for model in (one, other):
        check_has_graph(model)
    first, second = snapshot(one), snapshot(other)
    sizes = first.graph_.shape[0], second.graph_.shape[0]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"the models were fitted to {sizes[0]} and {sizes[1]} samples: only models of the same samples "
            "can be combined"
        )
    graph = Graph.from_scipy(_OPERATIONS[operation](first.graph_, second.graph_))
    combined = clone(one)
    with Progress(one.verbose, one.callback) as progress:
        backend = load_backend("cpu")
        prepared = first._run(None, first.recipe_, Given(graph=graph), backend, progress, first.seed_)
        state = FittedState.of_run(prepared, None, first.seed_, first)
        state.advanced_to(descend(prepared, progress)).replace_state_of(combined)
    return combined
