"""Reads what find_clusters is given: the map, the graph, and the sizes of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._device import to_host
from actup._maps import map_of
from actup.graph._records import Graph

MAX_DIMENSIONS = 16
SPACES = ("map", "graph")


@dataclass(frozen=True)
class ClusterInput:
    """The points to cluster: their places, and the graph if clusters are sought in it.

    Attributes
    ----------
    given : ndarray of shape (n, n_components), float64
        The places.
    Y : ndarray of shape (n, n_components), float64
        The places divided by a power of two, so that no square of them overflows or underflows.
    placed : ndarray of shape (n,), bool
        False for points that have no place on the map (NaN).
    graph : Graph or None
        None: clusters are sought on the map.
    """

    given: np.ndarray
    Y: np.ndarray
    placed: np.ndarray
    graph: Graph | None


def read_input(model_or_Y: Any, space: str, graph: Any) -> ClusterInput:
    """Read a fitted model, a result of ``embed`` or an array, and the graph where it is used."""
    if not isinstance(space, str) or space not in SPACES:
        raise ValueError(f"space={space!r} is not one of {', '.join(map(repr, SPACES))}")
    given, placed = _read_places(model_or_Y)
    Y = _scaled(given, placed)
    if graph is not None or space == "graph":
        own = graph if graph is not None else _own_graph(model_or_Y)
        return ClusterInput(given, Y, placed, _read_graph(own, len(Y)))
    if Y.shape[1] > MAX_DIMENSIONS:
        raise ValueError(
            f"Y has {Y.shape[1]} columns, but clusters are sought on maps of at most {MAX_DIMENSIONS}: "
            "reduce it first, or give the graph of a model with space='graph'"
        )
    return ClusterInput(given, Y, placed, None)


def _read_places(model_or_Y: Any) -> tuple[np.ndarray, np.ndarray]:
    given = map_of(model_or_Y)
    try:
        array = np.asarray(to_host(given))
    except ValueError as error:
        raise ValueError(f"Y must be a map, a matrix of one row per point ({error})") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"Y holds {array.dtype}, but a map must hold real numbers")
    array = np.array(array[:, None] if array.ndim == 1 else array, np.float64, order="C")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"Y must have shape (n, n_components) with at least one point, got {np.shape(given)}"
        )
    infinite = np.flatnonzero(np.isinf(array).any(axis=1))
    if len(infinite):
        raise ValueError(f"Y is infinite in row {infinite[0]}: remove such points, or set them to NaN")
    return array, ~np.isnan(array).any(axis=1)


def _scaled(places: np.ndarray, placed: np.ndarray) -> np.ndarray:
    largest = float(np.abs(places[placed]).max(initial=0))
    with np.errstate(invalid="ignore"):  # points without a place, with NaN of any kind
        return np.ascontiguousarray(np.ldexp(places, -int(np.frexp(largest)[1])))


def _own_graph(model: Any) -> Any:
    for name in ("graph_", "graph"):
        if getattr(model, name, None) is not None:
            return getattr(model, name)
    raise ValueError("space='graph' needs a fitted model or graph=...: an array has no graph")


def _read_graph(graph: Any, n: int) -> Graph:
    """The graph on the host, with ascending ids and positive weights."""
    if isinstance(graph, Graph):
        graph.check_structure()
        graph = graph.to_scipy()
    read = Graph.from_scipy(graph)
    if len(read) != n:
        raise ValueError(f"graph has {len(read)} points, but the map has {n}: they must be the same points")
    return read
