"""Neighbours that are too far away to count, and points that are left without any edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from actup._device import array_module
from actup._errors import WrongType
from actup._typing import Array
from actup._values import as_float
from actup.graph._records import Graph, Neighbors

# The largest distance of bounded metrics: rows that far apart have nothing in common. As in umap-learn.
_LARGEST_DISTANCES = {
    "correlation": 2.0,
    "cosine": 2.0,
    "hellinger": 1.0,
    "jaccard": 1.0,
    "bit_jaccard": 1.0,
    "dice": 1.0,
}
# A share of the limit: float32 rounds the largest distances of "hellinger", "cosine" and "correlation" to
# slightly less than their bound. Distances of "jaccard" and "dice" this close to 1 need a million columns.
_ROUNDING = 1e-6


def disconnection_distance(metric: str | Callable[..., float], given: float | None = None) -> float:
    """The distance from which on neighbours do not count: as given, or the largest one of a bounded metric.

    Parameters
    ----------
    metric : str or callable
    given : float or None, default=None
        Greater than 0; infinity: all neighbours count.
    """
    if given is None:
        return _LARGEST_DISTANCES.get(metric, np.inf) if isinstance(metric, str) else np.inf
    if isinstance(given, bool) or not isinstance(given, Real):
        raise WrongType(f"disconnection_distance={given!r} must be a number or None")
    distance: Any = given
    if not distance > 0:
        raise ValueError(
            f"disconnection_distance={given!r} must be greater than 0; None: no neighbour is cut"
        )
    return as_float(distance, "disconnection_distance")


def too_far(distances: Array, limit: float) -> Array:
    """Which distances are at or beyond the limit, up to the rounding of float32: Booleans."""
    lowest = limit * (1 - _ROUNDING)
    return distances >= (lowest if lowest <= float(np.finfo(np.float32).max) else np.inf)


def disconnect(neighbors: Neighbors, distance: float) -> tuple[Neighbors, Array]:
    """Lists in which neighbours at or beyond a distance do not count.

    Parameters
    ----------
    neighbors : Neighbors
        Distances ascend in every row. Not changed; may lie on a GPU.
    distance : float
        See ``disconnection_distance``.

    Returns
    -------
    neighbors : Neighbors
        With id -1 and an infinite distance for neighbours that do not count, which come last in their rows:
        ``Backend.affinity_graph`` gives them no edge. The same object if all neighbours count.
    disconnected : array of shape (n,), bool
        Which rows have no neighbour left.
    """
    xp = array_module(neighbors.distances)
    cut = too_far(neighbors.distances, distance)
    disconnected = cut.all(axis=1) if cut.shape[1] else xp.zeros(len(neighbors), bool)
    if not bool(cut.any()):
        return neighbors, disconnected
    ids = xp.where(cut, np.int32(-1), neighbors.indices)
    distances = xp.where(cut, np.float32(np.inf), neighbors.distances)
    return replace(neighbors, indices=ids, distances=distances), disconnected


def isolated_points(graph: Graph) -> Array:
    """Which points of a graph have no edge: (n,) bool."""
    return graph.offsets[1:] == graph.offsets[:-1]
