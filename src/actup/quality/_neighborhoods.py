"""Measures of neighbourhoods: which points are near each other in X and in the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from actup._cached_property import cached_property
from actup._engine import engine
from actup._threads import count_threads, map_in_threads
from actup._typing import Rows
from actup.quality._inputs import check_k, check_pair, draw_rows, within_range
from actup.quality._points import MeasuredPoints

_CHUNK_DISTANCES = 1 << 24  # distances held at a time
_MAP_ROWS_PER_TASK = 16  # rows of map distances that one thread computes at a time
_QUERIES_PER_THREAD = 2000  # of a tree; fewer take less time than a thread


@dataclass(frozen=True)
class Neighborhoods:
    """X and its map; the neighbours of a sample of points in both, ranked among all points.

    Attributes
    ----------
    points : MeasuredPoints
        The n rows of X.
    Y : ndarray of shape (n, n_components), float64
    k : int
        The largest neighbourhood that will be asked for; cut to n - 1.
    sample : int or None
        Number of points whose neighbours are ranked; None for all.
    random_state : int
    threads : int
    """

    points: MeasuredPoints
    Y: np.ndarray
    k: int
    sample: int | None
    random_state: int
    threads: int

    def recall(self, k: int) -> float:
        """Share of the k nearest in X that are among the k nearest in the map."""
        n = len(self.Y)
        k = check_k(k, n - 1, n)
        ranks, _ = self._ranks
        return float(np.count_nonzero(ranks[:, :k] <= k) / (len(ranks) * k))

    def trustworthiness(self, k: int) -> float:
        """One minus the cost of points among the k nearest in the map only, by their rank in X."""
        return self._one_minus_cost(k, side=0)

    def continuity(self, k: int) -> float:
        """One minus the cost of points among the k nearest in X only, by their rank in the map."""
        return self._one_minus_cost(k, side=1)

    def _one_minus_cost(self, k: int, side: int) -> float:
        """The measure for ranks in X (side 0) or in the map (side 1)."""
        # Venna and Kaski (2001): each rank costs its excess over k; the sum is divided by its largest value.
        n = len(self.Y)
        k = check_k(k, (n - 1) // 2, n)
        ranks = self._ranks[side][:, :k]
        cost = int(np.maximum(ranks.astype(np.int64) - k, 0).sum())
        return 1 - 2 * cost / (len(ranks) * k * (2 * n - 3 * k - 1))

    @cached_property
    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The rank in X of each neighbour in the map, and the rank in the map of each neighbour in X.

        Both (rows, k) int32; ranks count from 1, equal distances are ranked by index.
        """
        n = len(self.Y)
        k = min(self.k, n - 1)
        rows = draw_rows(n, self.sample, self.random_state)
        in_X, in_map = np.empty((2, len(rows), k), np.int32)
        step = max(1, _CHUNK_DISTANCES // n)
        for begin in range(0, len(rows), step):
            chunk = slice(begin, begin + step)
            in_X[chunk], in_map[chunk] = self._compare(rows[chunk], k)
        return in_X, in_map

    def _compare(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        keys_X = self.points.sort_keys(rows, self.threads)
        keys_map = _map_sort_keys(self.Y, rows, self.threads)
        near_X = engine.nearest_in_rows(keys_X, k, self.threads)
        near_map = engine.nearest_in_rows(keys_map, k, self.threads)
        return (
            engine.ranks_in_rows(keys_X, near_map, self.threads),
            engine.ranks_in_rows(keys_map, near_X, self.threads),
        )


def _map_sort_keys(Y: np.ndarray, rows: np.ndarray, threads: int) -> np.ndarray:
    """Squared distances in the map from the given rows to all points, infinite to the row itself."""
    keys = np.empty((len(rows), len(Y)))

    def fill(begin: int) -> None:
        chunk = slice(begin, begin + _MAP_ROWS_PER_TASK)
        cdist(Y[rows[chunk]], Y, "sqeuclidean", out=keys[chunk])

    list(map_in_threads(fill, range(0, len(rows), _MAP_ROWS_PER_TASK), threads))
    keys[np.arange(len(rows)), rows] = np.inf
    return keys


def map_tree(Y: np.ndarray) -> cKDTree:
    """A tree of the points of a map, in any scale."""
    return cKDTree(within_range(Y))


def nearest_in_map(tree: cKDTree, rows: np.ndarray, k: int, threads: int) -> np.ndarray:
    """The k nearest other points of the given rows of a map, nearest first: (rows, k)."""
    workers = min(threads, 1 + len(rows) // _QUERIES_PER_THREAD)
    _, found = tree.query(tree.data[rows], k + 1, workers=workers)
    others = found != rows[:, None]
    # Where more than k other points coincide with a row, the tree may not list the row itself.
    without_itself = others.all(axis=1)
    others[without_itself, -1] = False
    return np.asarray(found[others]).reshape(len(rows), k)


def neighbor_recall(
    X: Rows,
    Y: ArrayLike,
    k: int = 10,
    *,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Share of a point's k nearest neighbours in X that are among its k nearest in the map.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The data.
    Y : array-like of shape (n, n_components)
        The map.
    k : int, default=10
        Number of neighbours.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows of X. Distances in the map are always Euclidean.
    sample : int or None, default=2000
        Number of points whose neighbours are compared; the neighbours are found among all points. None: every
        point.
    random_state : int, default=0
        Seed of the sample.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    Raises
    ------
    NotMeasurable
        If there are not more than k points.

    See Also
    --------
    trustworthiness : How far away in X the wrong neighbours in the map are.
    continuity : How far away in the map the missing neighbours are.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import neighbor_recall
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> neighbor_recall(X, 2 * X)
    1.0
    >>> round(neighbor_recall(X, X[:, :2]), 2)  # a map that drops one of the columns
    0.43
    """
    points, Y = check_pair(X, Y, metric)
    return Neighborhoods(points, Y, k, sample, random_state, count_threads(n_jobs)).recall(k)


def trustworthiness(
    X: Rows,
    Y: ArrayLike,
    k: int = 15,
    *,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Measure whether neighbours in the map are near in X.

    A point that is among the k nearest in the map but not in X costs its rank in X minus k.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The data.
    Y : array-like of shape (n, n_components)
        The map.
    k : int, default=15
        Number of neighbours, less than half the number of points.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows of X. Distances in the map are always Euclidean.
    sample : int or None, default=2000
        Number of points whose neighbours are compared; ranks count all points. None: every point, as
        ``sklearn.manifold.trustworthiness`` does.
    random_state : int, default=0
        Seed of the sample.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    Raises
    ------
    NotMeasurable
        If k is not less than half the number of points.

    See Also
    --------
    continuity : The same with X and the map exchanged.
    sklearn.manifold.trustworthiness : The same measure without sampling.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import trustworthiness
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> trustworthiness(X, 2 * X)
    1.0
    >>> round(trustworthiness(X, X[:, :2]), 2)  # a map that drops one of the columns
    0.85
    """
    points, Y = check_pair(X, Y, metric)
    return Neighborhoods(points, Y, k, sample, random_state, count_threads(n_jobs)).trustworthiness(k)


def continuity(
    X: Rows,
    Y: ArrayLike,
    k: int = 15,
    *,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Measure whether neighbours in X are near in the map.

    A point that is among the k nearest in X but not in the map costs its rank in the map minus k.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The data.
    Y : array-like of shape (n, n_components)
        The map.
    k : int, default=15
        Number of neighbours, less than half the number of points.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows of X. Distances in the map are always Euclidean.
    sample : int or None, default=2000
        Number of points whose neighbours are compared; ranks count all points. None: every point.
    random_state : int, default=0
        Seed of the sample.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    Raises
    ------
    NotMeasurable
        If k is not less than half the number of points.

    See Also
    --------
    trustworthiness : The same with X and the map exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import continuity
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> continuity(X, 2 * X)
    1.0
    >>> round(continuity(X, X[:, :2]), 2)  # a map that drops one of the columns
    0.96
    """
    points, Y = check_pair(X, Y, metric)
    return Neighborhoods(points, Y, k, sample, random_state, count_threads(n_jobs)).continuity(k)
