"""Local radii: how far the edges of a point reach in the data and on a map, which densMAP compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._csr import entry_rows
from actup._device import to_host
from actup._elementary import log, power
from actup.graph._records import Graph, Neighbors

_EPSILON = 1e-8  # added to a mean squared edge length, as in umap-learn; duplicates have radius 0
_CHUNK_ROWS = 2**14  # whose edges are looked up at a time
_CHUNK_EDGES = 2**22  # edges whose lengths are computed at a time


def edge_lengths(graph: Graph, neighbors: Neighbors, *, allow_unknown: bool = False) -> np.ndarray:
    """The distance of the two ends of every edge of a graph: (edges,) float32.

    An edge has the distance of its ends in ``neighbors``; both ends may know it, or only one of them. Edges
    that neither knows, as target values can add them, are NaN if ``allow_unknown``, else an error.
    """
    n, offsets, columns = len(graph), to_host(graph.offsets), to_host(graph.indices)
    ids, distances = to_host(neighbors.indices), to_host(neighbors.distances)
    order = np.argsort(ids, axis=1)
    keys = (np.arange(n)[:, None] * n + np.take_along_axis(ids, order, axis=1)).ravel()
    values = np.take_along_axis(distances, order, axis=1).ravel()
    found = np.full(len(columns), np.float32(-1))
    for first in range(0, n if keys.size else 0, _CHUNK_ROWS):
        chunk = offsets[first : first + _CHUNK_ROWS + 1]
        edges = slice(int(chunk[0]), int(chunk[-1]))
        heads, tails = first + entry_rows(chunk), columns[edges].astype(np.int64)
        for wanted in (heads * n + tails, tails * n + heads):
            at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            found[edges] = np.where(keys[at] == wanted, np.maximum(found[edges], values[at]), found[edges])
    if (found < 0).any() and not allow_unknown:
        edge = int(np.argmax(found < 0))
        head, tail = int(np.searchsorted(offsets, edge, side="right")) - 1, columns[edge]
        raise ValueError(
            f"the graph has an edge between points {head} and {tail}, of which neither is "
            "among the neighbours of the other: local radii need the neighbours that the graph was made of"
        )
    return np.asarray(np.where(found < 0, np.nan, found), np.float32)


def local_radii(graph: Graph, lengths: np.ndarray) -> np.ndarray:
    """The log local radii of the data: (n,) float32, NaN for points without edges.

    The radius of a point is the mean of its squared edge lengths (``edge_lengths``), weighted by the weights
    of the edges. Edges of unknown length, NaN, do not count.
    """
    rows, known = entry_rows(to_host(graph.offsets)), ~np.isnan(lengths)
    squared = np.where(known, lengths, 0).astype(np.float64) ** 2
    weights = np.where(known, to_host(graph.weights), 0).astype(np.float64)
    return _log_means(rows, weights, squared, len(graph))


def map_radii(graph: Graph, Y: Any, a: float, b: float) -> np.ndarray:
    """The log local radii of a map: (n,) float32, NaN for points without edges.

    As ``local_radii``, with distances on the map, and with the map's kernel 1/(1 + a d^(2b)) as weights.
    """
    rows, columns = entry_rows(to_host(graph.offsets)), to_host(graph.indices)
    Y = np.asarray(to_host(Y), np.float64)
    squared = np.empty(len(columns))
    for begin in range(0, len(columns), _CHUNK_EDGES):
        part = slice(begin, begin + _CHUNK_EDGES)
        squared[part] = ((Y[rows[part]] - Y[columns[part]]) ** 2).sum(axis=1)
    return _log_means(rows, 1 / (1 + a * power(squared, b)), squared, len(graph))


def standardize(radii: np.ndarray) -> np.ndarray:
    """Log radii with mean 0 and standard deviation 1, as layouts read them: float32, 0 for points without."""
    known = np.isfinite(radii)
    values = np.where(known, radii, 0).astype(np.float64)
    count = max(int(known.sum()), 1)
    centred = np.where(known, values - values.sum() / count, 0)
    deviation = np.sqrt((centred**2).sum() / count)
    return np.asarray(centred / deviation if deviation > 0 else centred, np.float32)


def _log_means(rows: np.ndarray, weights: np.ndarray, squared: np.ndarray, n: int) -> np.ndarray:
    """The logarithm of each row's weighted mean of squared lengths; edges are summed in their order."""
    totals = np.bincount(rows, weights, n)
    sums = np.bincount(rows, weights * squared, n)
    known = totals > 0
    means = np.where(known, sums, 0) / np.where(known, totals, 1)
    return np.where(known, log(_EPSILON + means), np.nan).astype(np.float32)
