"""nearest_neighbors(): the nearest other points of every row, in any metric; usable on its own."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator

import numpy as np

from actup.graph import Neighbors
from actup.threads import count_threads

# Other names of the compiled metrics, as SciPy and scikit-learn know them.
_SYNONYMS = {
    "l2": "euclidean",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "taxicab": "manhattan",
    "linf": "chebyshev",
    "linfinity": "chebyshev",
    "infinity": "chebyshev",
}


def nearest_neighbors(
    X, n_neighbors: int = 15, *, metric: str | Callable = "euclidean", n_jobs: int | None = -1
) -> Neighbors:
    """The nearest other points of every row of ``X``, nearest first; ties go to the smaller id.

    Parameters
    ----------
    X : array-like of shape (n, columns), or (n, n) distances if ``metric`` is ``"precomputed"``
        Any numeric type; never changed. Distances in the compiled metrics are computed in float32.
    n_neighbors : int, default=15
        How many other points; a point is never its own neighbour, though an equal row may be.
    metric : str or callable, default="euclidean"
        ``"euclidean"``, ``"manhattan"``, ``"chebyshev"``, ``"cosine"`` and ``"correlation"`` are compiled.
        Any other metric of ``sklearn.metrics.pairwise_distances``, or a function of two rows, gives exact
        results as well, more slowly. ``"precomputed"``: ``X`` holds the distances from row to column.
    n_jobs : int, default=-1
        How many threads work; None and -1: one per core that this process may use.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances`` of shape (n, n_neighbors).

    Notes
    -----
    Rows without a direction (all zero under ``"cosine"``, constant under ``"correlation"``) are at distance 0
    from each other and at distance 1 from every other row.
    """
    threads = count_threads(n_jobs)
    name = _SYNONYMS.get(metric, metric) if isinstance(metric, str) else metric
    if name == "precomputed":
        return _from_distances(X, n_neighbors)

    from actup.backends import cpu

    if name in cpu.metrics():
        X = _as_rows(X, np.float32)
        neighbors = cpu.nearest_neighbors(X, _checked(n_neighbors, len(X)), name, threads)
    else:
        neighbors = _from_pairwise(_as_rows(X, None), n_neighbors, name, threads)
    return _refuse_overflow(neighbors)


def _as_rows(X, dtype) -> np.ndarray:
    """``X`` as a finite, C-contiguous matrix; a copy only where it has to be one."""
    from sklearn.utils import check_array

    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused by name
        return check_array(X, dtype=dtype or "numeric", order="C", input_name="X")


def _checked(n_neighbors, n_samples: int) -> int:
    """``n_neighbors`` if that many other points exist."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, numbers.Integral):
        raise TypeError(f"n_neighbors={n_neighbors!r} must be an integer")
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1")
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} samples, got {n_samples}"
        )
    return int(n_neighbors)


def _refuse_overflow(neighbors: Neighbors) -> Neighbors:
    if not np.isfinite(neighbors.distances).all():
        raise ValueError(
            "distances between rows of X are too large for float32: divide X by its largest value"
        )
    return neighbors


def _from_pairwise(X: np.ndarray, n_neighbors: int, metric: str | Callable, threads: int) -> Neighbors:
    """Neighbours in a metric that scikit-learn computes, block of rows by block of rows."""
    from sklearn.metrics import pairwise_distances_chunked
    from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

    k = _checked(n_neighbors, len(X))
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        X = X.astype(bool)
    blocks = pairwise_distances_chunked(X, metric=metric, n_jobs=threads, working_memory=128)  # MiB
    return _collect(blocks, len(X), k)


def _from_distances(X, n_neighbors: int) -> Neighbors:
    """Neighbours from a square matrix of distances; its diagonal plays no part."""
    X = _as_rows(X, None)
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"metric='precomputed' needs a square matrix of distances, got shape {X.shape}")
    k = _checked(n_neighbors, len(X))
    rows = max(1, 2**24 // len(X))
    blocks = (X[begin : begin + rows].astype(np.float64) for begin in range(0, len(X), rows))
    return _refuse_overflow(_collect(blocks, len(X), k))


def _collect(blocks: Iterator[np.ndarray], n_samples: int, k: int) -> Neighbors:
    """The k nearest others, from consecutive blocks of rows of the distance matrix; overwrites them."""
    indices = np.empty((n_samples, k), np.int32)
    distances = np.empty((n_samples, k), np.float32)
    begin = 0
    for block in blocks:
        if not (block >= 0).all():
            raise ValueError("distances must be numbers of at least 0; the metric gave one that is not")
        rows = slice(begin, begin + len(block))
        block[np.arange(len(block)), np.arange(n_samples)[rows]] = np.inf
        indices[rows] = _smallest(block, k)
        with np.errstate(over="ignore"):
            distances[rows] = np.take_along_axis(block, indices[rows], axis=1)
        begin += len(block)
    return Neighbors(indices, distances, engine="exact", recall=1.0)


def _smallest(block: np.ndarray, k: int) -> np.ndarray:
    """The columns of each row's k smallest values, ascending; ties go to the smaller column."""
    columns = np.sort(np.argpartition(block, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(block, columns, axis=1)
    tied = np.flatnonzero((block <= values.max(axis=1, keepdims=True)).sum(axis=1) > k)
    columns = np.take_along_axis(columns, np.argsort(values, axis=1, kind="stable"), axis=1)
    columns[tied] = np.argsort(block[tied], axis=1, kind="stable")[:, :k]
    return columns
