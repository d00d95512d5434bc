"""Neighborhoods: who is near whom in X and in a map, for a sample of points, with exact ranks among all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from actup._engine import engine
from actup._threads import count_threads
from actup.quality._inputs import check_k, check_pair, draw_rows
from actup.quality._points import Points

_BLOCK = 1 << 24  # distances held at a time
_MAP_ROWS = 16  # rows of distances in the map that one thread fills at a time


@dataclass(frozen=True)
class Neighborhoods:
    """X and its map, and the points of both that are compared.

    Attributes
    ----------
    points : Points
        Of X, n of them.
    Y : ndarray of shape (n, dimensions), float64
    k : int
        The largest neighbourhood that will be asked for; shortened to n - 1.
    sample : int or None
        How many points are looked at; None for all.
    random_state : int
    threads : int
    """

    points: Points
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
        """One minus what the intruders among the k nearest in the map cost, by their rank in X."""
        return self._one_minus_cost(k, 0)

    def continuity(self, k: int) -> float:
        """One minus what those missing of the k nearest in X cost, by their rank in the map."""
        return self._one_minus_cost(k, 1)

    def _one_minus_cost(self, k: int, side: int) -> float:
        # Venna and Kaski (2001): the cost of a rank beyond k, over the largest sum of costs there can be.
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
        step = max(1, _BLOCK // n)
        for begin in range(0, len(rows), step):
            block = slice(begin, begin + step)
            in_X[block], in_map[block] = self._compare(rows[block], k)
        return in_X, in_map

    def _compare(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        order_X = self.points.order_from(rows, self.threads)
        order_map = _map_order_from(self.Y, rows, self.threads)
        near_X = engine.nearest_in_rows(order_X, k, self.threads)
        near_map = engine.nearest_in_rows(order_map, k, self.threads)
        return (
            engine.ranks_in_rows(order_X, near_map, self.threads),
            engine.ranks_in_rows(order_map, near_X, self.threads),
        )


def _map_order_from(Y: np.ndarray, rows: np.ndarray, threads: int) -> np.ndarray:
    """Squared distances in the map from some rows to all points, infinite to the row itself."""
    result = np.empty((len(rows), len(Y)))

    def fill(begin: int) -> None:
        piece = slice(begin, begin + _MAP_ROWS)
        cdist(Y[rows[piece]], Y, "sqeuclidean", out=result[piece])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, len(rows), _MAP_ROWS)))
    result[np.arange(len(rows)), rows] = np.inf
    return result


def nearest_in_map(tree: cKDTree, rows: np.ndarray, k: int, threads: int) -> np.ndarray:
    """The k nearest other points of some rows of a map, nearest first: (rows, k)."""
    _, found = tree.query(tree.data[rows], k + 1, workers=threads)
    others = found != rows[:, None]
    crowded = others.all(axis=1)  # more than k points coincide with this one, which was not found itself
    others[crowded, -1] = False
    return found[others].reshape(len(rows), k)


def neighbor_recall(
    X,
    Y,
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
    X : array or sparse matrix of shape (n, features)
    Y : array of shape (n, dimensions)
    k : int
    metric : {"euclidean", "cosine"}
        Of X; the map is always Euclidean.
    sample : int or None
        How many points are looked at; their neighbours are found among all. None: every point.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        Between 0 and 1; higher is better.
    """
    points, Y = check_pair(X, Y, metric)
    return Neighborhoods(points, Y, k, sample, random_state, count_threads(n_jobs)).recall(k)


def trustworthiness(
    X,
    Y,
    k: int = 15,
    *,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Whether neighbours in the map are near in X: each intruder costs its rank in X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
    Y : array of shape (n, dimensions)
    k : int
        Less than half the number of points.
    metric : {"euclidean", "cosine"}
        Of X; the map is always Euclidean.
    sample : int or None
        How many points are looked at, with ranks among all. None: every point, which is what
        ``sklearn.manifold.trustworthiness`` does.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        Between 0 and 1; higher is better.
    """
    points, Y = check_pair(X, Y, metric)
    return Neighborhoods(points, Y, k, sample, random_state, count_threads(n_jobs)).trustworthiness(k)


def continuity(
    X,
    Y,
    k: int = 15,
    *,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Whether neighbours in X are near in the map: trustworthiness with the two exchanged.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
    Y : array of shape (n, dimensions)
    k : int
        Less than half the number of points.
    metric : {"euclidean", "cosine"}
        Of X; the map is always Euclidean.
    sample : int or None
        How many points are looked at, with ranks among all. None: every point.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        Between 0 and 1; higher is better.
    """
    points, Y = check_pair(X, Y, metric)
    return Neighborhoods(points, Y, k, sample, random_state, count_threads(n_jobs)).continuity(k)
