"""Reads what find_clusters is given: the map, the graph, and the sizes of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from actup._csr import entry_rows
from actup._device import to_host
from actup.graph._records import Graph

MAX_DIMENSIONS = 16
SPACES = ("map", "graph")


@dataclass(frozen=True)
class ClusterInput:
    """The points to cluster: their places, and the graph if clusters are sought in it.

    Attributes
    ----------
    Y : ndarray of shape (n, n_components), float64
    placed : ndarray of shape (n,), bool
        False for points that have no place on the map (NaN).
    graph : Graph or None
        None: clusters are sought on the map.
    """

    Y: np.ndarray
    placed: np.ndarray
    graph: Graph | None


def read_input(model_or_Y: Any, space: str, graph: Any) -> ClusterInput:
    """Read a fitted model, a result of ``embed`` or an array, and the graph where it is used."""
    if space not in SPACES:
        raise ValueError(f"space={space!r} is not one of {', '.join(map(repr, SPACES))}")
    Y, placed = _read_places(model_or_Y)
    if graph is not None or space == "graph":
        own = graph if graph is not None else _own_graph(model_or_Y)
        return ClusterInput(Y, placed, _read_graph(own, len(Y)))
    if Y.shape[1] > MAX_DIMENSIONS:
        raise ValueError(
            f"Y has {Y.shape[1]} columns, but clusters are sought on maps of at most {MAX_DIMENSIONS}: "
            "reduce it first, or give the graph of a model with space='graph'"
        )
    return ClusterInput(Y, placed, None)


def _read_places(model_or_Y: Any) -> tuple[np.ndarray, np.ndarray]:
    given = getattr(model_or_Y, "embedding_", getattr(model_or_Y, "embedding", model_or_Y))
    if hasattr(given, "fit"):
        raise ValueError(f"{type(given).__name__} has no map yet: fit it first")
    array = np.asarray(to_host(given))
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


def _own_graph(model: Any) -> Any:
    for name in ("graph_", "graph"):
        if getattr(model, name, None) is not None:
            return getattr(model, name)
    raise ValueError("space='graph' needs a fitted model or graph=...: an array has no graph")


def _read_graph(graph: Any, n: int) -> Graph:
    read = graph if isinstance(graph, Graph) else Graph.from_scipy(graph)
    if len(read) != n:
        raise ValueError(f"graph has {len(read)} points, but the map has {n}: they must be the same points")
    read = Graph(*map(to_host, (read.offsets, read.indices, read.weights)))
    read.check_structure()
    weak = np.flatnonzero(~(read.weights > 0))
    if len(weak):
        raise ValueError(
            f"graph has the weight {read.weights[weak[0]]} at point {entry_rows(read.offsets)[weak[0]]}: "
            "weights must be positive"
        )
    return read


def read_count(value: int | None, name: str, least: int) -> int | None:
    """An optional whole number of at least ``least``."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be a whole number or None")
    if value < least:
        raise ValueError(f"{name}={value} must be at least {least}")
    return int(value)
