"""nearest_neighbors() and NeighborIndex: the nearest points of rows, in any metric; usable on their own."""

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

_ALGORITHMS = ("auto", "exact", "approximate")


def nearest_neighbors(
    X,
    n_neighbors: int = 15,
    *,
    metric: str | Callable = "euclidean",
    algorithm: str = "auto",
    recall: float = 0.97,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Neighbors:
    """The nearest other points of every row of ``X``, nearest first; ties go to the smaller id.

    Parameters
    ----------
    X : array-like of shape (n, columns), or (n, n) distances if ``metric`` is ``"precomputed"``
        Any numeric type; never changed. The approximate search reads float32, float16, uint8 and int8 as they
        are, from a memory map if they lie in one; other types become float32. Distances in the compiled
        metrics are computed in float32.
    n_neighbors : int, default=15
        How many other points; a point is never its own neighbour, though an equal row may be.
    metric : str or callable, default="euclidean"
        ``"euclidean"``, ``"manhattan"``, ``"chebyshev"``, ``"cosine"`` and ``"correlation"`` are compiled.
        Any other metric of ``sklearn.metrics.pairwise_distances``, or a function of two rows, gives exact
        results as well, more slowly. ``"precomputed"``: ``X`` holds the distances from row to column.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        ``"exact"`` compares all pairs. ``"approximate"`` searches clusters of integer codes and knows the
        metrics ``"euclidean"``, ``"cosine"`` and ``"correlation"``. ``"auto"`` takes the approximate search
        where it knows the metric and is the faster one.
    recall : float, default=0.97
        The share of true neighbours that the approximate search is to find. What it takes is measured on 512
        rows of ``X``; what was found is in the result.
    random_state : int, default=0
        Seed of the approximate search. The same seed gives the same result at any number of threads.
    n_jobs : int, default=-1
        How many threads work; None and -1: one per core that this process may use.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances`` of shape (n, n_neighbors), and the ``recall`` measured on the sample.

    Warns
    -----
    UserWarning
        If less than 0.9 of the sampled rows' neighbours were found: data without structure, and too many of
        it to compare all pairs.

    Notes
    -----
    Rows without a direction (all zero under ``"cosine"``, constant under ``"correlation"``) are at distance 0
    from each other and at distance 1 from every other row.
    """
    threads = count_threads(n_jobs)
    name = _SYNONYMS.get(metric, metric) if isinstance(metric, str) else metric
    search = _Search(algorithm, recall, random_state)
    if name == "precomputed":
        search.refuse_approximate(name)
        return _from_distances(X, n_neighbors)

    from actup.backends import cpu, join

    if name in cpu.metrics():
        X = _as_rows(X, join.SCALARS if name in join.METRICS else np.float32)
        k = _checked(n_neighbors, len(X))
        if search.approximates(name, X.shape):
            neighbors = join.JoinSearch(X, name, search.seed, threads).neighbors(k, search.recall)
        else:
            neighbors = cpu.exact_neighbors(X.astype(np.float32, copy=False), k, name, threads)
    else:
        search.refuse_approximate(name)
        neighbors = _from_pairwise(_as_rows(X, None), n_neighbors, name, threads)
    return _refuse_overflow(neighbors)


class NeighborIndex:
    """The rows of ``X``, ready to be searched for the neighbours of other rows.

    A row's answer depends on the row, ``X`` and the seed alone: not on the rows asked for beside it, nor on
    the number of threads.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        Read as ``nearest_neighbors`` reads it, and kept; do not change it while the index is in use.
    metric : str, default="euclidean"
        ``"euclidean"``, ``"manhattan"``, ``"chebyshev"``, ``"cosine"`` or ``"correlation"``.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
    recall : float, default=0.97
    random_state : int, default=0
    n_jobs : int, default=-1
        As in ``nearest_neighbors``.
    """

    def __init__(
        self,
        X,
        *,
        metric: str = "euclidean",
        algorithm: str = "auto",
        recall: float = 0.97,
        random_state: int = 0,
        n_jobs: int | None = -1,
    ):
        from actup.backends import cpu, join

        self._threads = count_threads(n_jobs)
        self._metric = _SYNONYMS.get(metric, metric)
        if self._metric not in cpu.metrics():
            raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, cpu.metrics()))}")
        search = _Search(algorithm, recall, random_state)
        self._recall = search.recall
        self._X = _as_rows(X, join.SCALARS if self._metric in join.METRICS else np.float32)
        self._join = None
        if search.approximates(self._metric, self._X.shape):
            self._join = join.JoinSearch(self._X, self._metric, search.seed, self._threads)

    def query(self, X_new, n_neighbors: int = 15) -> Neighbors:
        """The rows of ``X`` nearest to every row of ``X_new``, nearest first; ties go to the smaller id.

        Parameters
        ----------
        X_new : array-like of shape (m, columns)
        n_neighbors : int, default 15
            At most n. A row that is also one of ``X`` finds itself.

        Returns
        -------
        Neighbors
            ``indices`` of rows of ``X`` and ``distances``, of shape (m, n_neighbors).
        """
        from actup.backends import cpu, join

        rows = _as_rows(X_new, join.SCALARS if self._join else np.float32, "X_new")
        if rows.shape[1] != self._X.shape[1]:
            raise ValueError(f"X_new has {rows.shape[1]} columns, but X has {self._X.shape[1]}")
        k = _checked(n_neighbors, len(self._X) + 1)
        if self._join:
            return _refuse_overflow(self._join.query(rows, k, self._recall))
        points = self._X.astype(np.float32, copy=False)
        return _refuse_overflow(cpu.neighbors_query(points, rows, k, self._metric, self._threads))


class _Search:
    """The parameters of the approximate search, checked, and whether it is the one to use."""

    def __init__(self, algorithm: str, recall: float, random_state: int):
        if algorithm not in _ALGORITHMS:
            raise ValueError(f"algorithm={algorithm!r} is not one of {', '.join(map(repr, _ALGORITHMS))}")
        if not isinstance(recall, numbers.Real) or not 0 < recall <= 1:
            raise ValueError(f"recall={recall!r} must be a share above 0 and at most 1")
        if (
            isinstance(random_state, bool)
            or not isinstance(random_state, numbers.Integral)
            or not 0 <= random_state < 2**64
        ):
            raise ValueError(f"random_state={random_state!r} must be an integer from 0 to 2**64 - 1")
        self.algorithm = algorithm
        self.recall = float(recall)
        self.seed = int(random_state)

    def approximates(self, metric: str, shape: tuple[int, int]) -> bool:
        from actup.backends import join

        if metric not in join.METRICS:
            self.refuse_approximate(metric)
            return False
        if self.algorithm == "auto":
            return not join.exact_is_cheaper(*shape)
        return self.algorithm == "approximate" and shape[0] > 1

    def refuse_approximate(self, metric: str | Callable) -> None:
        if self.algorithm == "approximate":
            raise ValueError(
                f"algorithm='approximate' does not know metric={metric!r}: use 'auto' or 'exact', or one of "
                "the metrics 'euclidean', 'cosine' and 'correlation'"
            )


def _as_rows(X, dtype, name: str = "X") -> np.ndarray:
    """``X`` as a finite, C-contiguous matrix; a copy only where it has to be one."""
    from sklearn.utils import check_array

    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused by name
        return check_array(X, dtype=dtype or "numeric", order="C", input_name=name)


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
