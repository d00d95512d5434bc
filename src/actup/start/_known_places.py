"""Start from places that only some points have: every other point starts among its neighbours."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from actup._csr import entry_rows
from actup.graph._records import Graph

_ROUNDS = 30  # in which places spread along edges, from the points that have one to those that have none
_CHUNK_ROWS = 4096  # whose edges are added up at a time
_REACH = 1e-2  # of the width of the known places: how far from their neighbours' mean points start


def fill_places(graph: Graph, places: np.ndarray, seed: int) -> np.ndarray:
    """Places for all points, from those of some points.

    In each round, points without a place that have neighbours with one start at the weighted mean of these
    places, at a small random distance. Points that no round reaches start anywhere among the others.

    Parameters
    ----------
    graph : Graph
    places : ndarray of shape (n, dimensions)
        Rows of NaN have no place.
    seed : int

    Returns
    -------
    ndarray of shape (n, dimensions), float64
        Known places are returned as they are.
    """
    known = ~np.isnan(places).any(axis=1)
    filled = np.where(known[:, None], places, 0.0)
    if known.all():
        return filled
    corners = places[known] if known.any() else np.array([[-1.0], [1.0]]).repeat(places.shape[1], axis=1)
    low, high = corners.min(axis=0), corners.max(axis=0)
    width = float((high - low).max()) or 1.0
    random = np.random.default_rng([seed, 5]).uniform(-1, 1, places.shape)
    weights = csr_matrix((graph.weights, graph.indices, graph.offsets), shape=(len(graph),) * 2)
    for _ in range(_ROUNDS):
        if known.all():
            return filled
        rows = np.flatnonzero(~known)
        reached = _weighted_sums(weights, rows, known.astype(np.float64))
        settled = rows[reached > 0]
        if not len(settled):
            break
        sums = np.stack(
            [_weighted_sums(weights, settled, filled[:, axis] * known) for axis in range(places.shape[1])],
            axis=1,
        )
        filled[settled] = sums / reached[reached > 0][:, None] + _REACH * width * random[settled]
        known[settled] = True
    filled[~known] = low + (high - low) * (random[~known] + 1) / 2
    return filled


def _weighted_sums(weights: csr_matrix, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sums of weight times value over the neighbours of some points, added in order."""
    sums = np.empty(len(rows))
    for begin in range(0, len(rows), _CHUNK_ROWS):
        part = weights[rows[begin : begin + _CHUNK_ROWS]]
        products = part.data * values[part.indices]
        sums[begin : begin + _CHUNK_ROWS] = np.bincount(
            entry_rows(part.indptr), products, minlength=part.shape[0]
        )
    return sums
