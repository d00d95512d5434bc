"""Neighbours in the data space, from the caller or the models, and the share of them that each map keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from actup._pipeline import Embedding
from actup._threads import count_threads
from actup._typing import CsrMatrix
from actup.estimators._base import Embedder
from actup.graph._records import Neighbors
from actup.plotting._scene import Values
from actup.quality._neighborhoods import map_tree, nearest_in_map
from actup.viewer._columns import read_values

_MAX_SHOWN_NEIGHBORS = 10  # per point: more lines hide the map
_MAX_COMPARED_NEIGHBORS = 15  # per point, for the share that a map keeps
# Without being asked, models with more points are shown without neighbours: they would be most of the file.
_MAX_UNASKED_POINTS = 250_000
_CHUNK_COMPARISONS = 1 << 24


def read_neighbors(given: Any, sources: Mapping[str, Any], n: int) -> np.ndarray | None:
    """Ids of the nearest points of every point in the data space, nearest first.

    Parameters
    ----------
    given : array-like of shape (n, k), Neighbors, "auto", False or None
        "auto" takes them from the first model; None does so if there is a model and there are not very many
        points; False: none.
    sources : mapping
        Maps or models by name.
    n : int
        Number of points.

    Returns
    -------
    ndarray of shape (n, k), int32, or None
        -1 where a point has fewer neighbours.
    """
    if given is False or (given is None and n > _MAX_UNASKED_POINTS):
        return None
    if given is None or (isinstance(given, str) and given == "auto"):
        lists_by_model = (_model_neighbors(source, n) for source in sources.values())
        found = next((lists for lists in lists_by_model if lists is not None), None)
        if found is None and given is not None:
            raise ValueError("neighbors='auto' needs a fitted model among the maps; give (n, k) ids instead")
        return found
    try:
        lists = np.asarray(given.indices if isinstance(given, Neighbors) else given)
    except ValueError:
        raise ValueError("neighbors has rows of different lengths: give an array of shape (n, k)") from None
    if lists.ndim != 2 or len(lists) != n or lists.dtype.kind not in "iu" or lists.shape[1] == 0:
        raise ValueError(
            f"neighbors must be whole numbers of shape ({n}, k), got {lists.dtype} of shape {lists.shape}"
        )
    if lists.min() < -1 or lists.max() >= n:
        raise ValueError(f"neighbors has ids {lists.min()} to {lists.max()}, but points are 0 to {n - 1}")
    return lists.astype(np.int32)


def _model_neighbors(source: Any, n: int) -> np.ndarray | None:
    """The neighbours that a model or a result was computed from, nearest first; None if it has none."""
    if isinstance(source, Embedding):
        if source.neighbors is not None and len(source.neighbors) == n:
            return np.asarray(source.neighbors.indices[:, :_MAX_COMPARED_NEIGHBORS])
        return None
    graph = getattr(source, "graph_", None) if isinstance(source, Embedder) else None
    if graph is None:  # also a model of fit_files, which keeps none
        return None
    lists = heaviest_neighbors(graph, _MAX_COMPARED_NEIGHBORS)
    inverse = getattr(source, "_unique_inverse_", None)
    if inverse is not None:  # the graph joins distinct rows: take the first sample of each
        first = np.unique(inverse, return_index=True)[1]
        lists = np.where(lists < 0, -1, first[lists])[inverse]
    return lists.astype(np.int32) if len(lists) == n else None


def heaviest_neighbors(graph: CsrMatrix, k: int) -> np.ndarray:
    """The k neighbours of the largest weight in each row of a graph, largest first; -1 where there are fewer.

    Parameters
    ----------
    graph : CSR matrix of shape (n, n)
    k : int

    Returns
    -------
    ndarray of shape (n, at most k), int64
    """
    sizes = np.diff(graph.indptr)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((graph.indices, -graph.data, rows))
    rank = np.arange(len(rows)) - np.repeat(graph.indptr[:-1], sizes)
    kept = rank < k
    lists = np.full((len(sizes), int(min(k, sizes.max(initial=1)))), -1)
    lists[rows[kept], rank[kept]] = graph.indices[order][kept]
    return lists


def shown_neighbors(lists: np.ndarray) -> np.ndarray:
    """As many of the neighbours as the page draws."""
    return lists[:, :_MAX_SHOWN_NEIGHBORS]


def neighbors_kept(Y: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Share of each point's neighbours in the data space that are among as many nearest points on the map.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        The map; NaN for points without a place.
    lists : ndarray of shape (n, k), int
        Neighbours in the data space; -1 for none.

    Returns
    -------
    ndarray of shape (n,), float64
        NaN for a point without neighbours or without a place.
    """
    lists = lists[:, :_MAX_COMPARED_NEIGHBORS]
    n, k = lists.shape
    k = min(k, n - 1)
    if k < 1:
        return np.full(n, np.nan)
    near = nearest_in_map(map_tree(_far_apart(Y)), np.arange(n), k, count_threads(-1))
    shares = np.full(n, np.nan)
    step = max(1, _CHUNK_COMPARISONS // (k * lists.shape[1]))
    for begin in range(0, n, step):
        chunk = slice(begin, begin + step)
        known = lists[chunk] >= 0
        kept = (lists[chunk][:, :, None] == near[chunk][:, None, :]).any(axis=2) & known
        counts = known.sum(axis=1)
        np.divide(kept.sum(axis=1), counts, out=shares[chunk], where=counts > 0)
    shares[np.isnan(Y[:, 0])] = np.nan
    return shares


def _far_apart(Y: np.ndarray) -> np.ndarray:
    """The map with points without a place so far away that they are nobody's neighbours."""
    return np.where(np.isnan(Y), np.nanmax(Y) + 10 * np.ptp(Y[~np.isnan(Y)]) + 1, Y)


def read_distortion(
    given: Any, maps: Mapping[str, np.ndarray], lists: np.ndarray | None, *, asked: bool
) -> tuple[str, list[Values | None]] | None:
    """The column that shows where a map lies: its name, and its values for all maps or for each map.

    Parameters
    ----------
    given : array-like of shape (n,), mapping of map name to such, "auto", False or None
    maps : mapping of str to ndarray of shape (n, 2)
    lists : ndarray of shape (n, k) or None
        Neighbours in the data space.
    asked : bool
        Whether the caller asked for neighbours, so that very many points are no reason to leave them out.
    """
    n = len(next(iter(maps.values())))
    if given is False:
        return None
    if given is None or (isinstance(given, str) and given == "auto"):
        if lists is None:
            if given is not None:
                raise ValueError("distortion='auto' needs neighbors, or a fitted model among the maps")
            return None
        if given is None and n > _MAX_UNASKED_POINTS and not asked:
            return None
        shares = [neighbors_kept(Y, lists) for Y in maps.values()]
        return "neighbours kept", [Values(share, 0.0, _highest_shown(share)) for share in shares]
    if isinstance(given, Mapping):
        unknown = [name for name in given if str(name) not in maps]
        if unknown or not given:
            raise ValueError(
                f"distortion names maps that are not shown: {unknown}; the maps are {list(maps)}"
            )
        by_name = {str(name): _given_distortion(values, n) for name, values in given.items()}
        return "distortion", [by_name.get(name) for name in maps]
    return "distortion", [_given_distortion(given, n)]


def _highest_shown(shares: np.ndarray) -> float:
    """The upper end of the scale of shares: their 99th percentile, so that low shares keep their colours."""
    known = shares[np.isfinite(shares)]
    return max(float(np.quantile(known, 0.99)), 0.05) if len(known) else 1.0


def _given_distortion(given: Any, n: int) -> Values:
    values = np.asarray(given)
    if values.shape != (n,) or values.dtype.kind not in "biuf":
        raise ValueError(
            f"distortion must have one number for each of the {n} points, got {values.dtype} of shape "
            f"{values.shape}"
        )
    return read_values(values.astype(np.float64))
