"""How well a map keeps the order of distances: triplets of points, and rank correlation."""

from __future__ import annotations

import numpy as np

from actup._threads import count_threads
from actup.quality._inputs import NotMeasurable, check_pair, check_sample
from actup.quality._points import Points


def triplet_accuracy(
    X,
    Y,
    *,
    metric: str = "euclidean",
    sample: int | None = 100_000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """How often the nearer of two random points is also the nearer one in the map.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
    Y : array of shape (n, dimensions)
    metric : {"euclidean", "cosine"}
        Of X; the map is always Euclidean.
    sample : int or None
        How many triplets (a point and two others) are looked at. None: all, in O(n³) time.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        About 0.5 for a map without any structure, 1 if all distances keep their order.
    """
    points, Y = check_pair(X, Y, metric)
    n, threads = len(Y), count_threads(n_jobs)
    if n < 3:
        raise NotMeasurable(f"a triplet needs at least 3 points, got {n}")
    sample = check_sample(sample)
    if sample is None:
        return _all_triplets(points, Y, threads)
    rng = np.random.default_rng(random_state)
    anchor = rng.integers(n, size=sample)
    step, other = rng.integers(1, n, sample), rng.integers(1, n - 1, sample)
    other += other >= step  # three different points
    near, far = (anchor + step) % n, (anchor + other) % n
    in_X = np.sign(points.between(anchor, near, threads) - points.between(anchor, far, threads))
    in_map = np.sign(_squared_distances(Y, anchor, near) - _squared_distances(Y, anchor, far))
    return float(np.mean(in_X == in_map))


def _all_triplets(points: Points, Y: np.ndarray, threads: int) -> float:
    n, agreeing = len(Y), 0
    for anchor in range(n):
        here, others = np.full(n - 1, anchor), np.delete(np.arange(n), anchor)
        in_X = points.between(here, others, threads)
        in_map = _squared_distances(Y, here, others)
        same = np.sign(in_X[:, None] - in_X) == np.sign(in_map[:, None] - in_map)
        agreeing += np.count_nonzero(same) - (n - 1)  # each pair twice, less the diagonal
    return agreeing / (n * (n - 1) * (n - 2))


def distance_correlation(
    X,
    Y,
    *,
    metric: str = "euclidean",
    sample: int | None = 100_000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Spearman's rank correlation of the distances in X and in the map.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
    Y : array of shape (n, dimensions)
    metric : {"euclidean", "cosine"}
        Of X; the map is always Euclidean.
    sample : int or None
        How many random pairs are looked at. None: all of them.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        Between -1 and 1; higher is better. 0 if all distances of one side are equal.
    """
    from scipy.stats import rankdata

    points, Y = check_pair(X, Y, metric)
    n = len(Y)
    if n < 3:
        raise NotMeasurable(f"a correlation of distances needs at least 3 points, got {n}")
    sample = check_sample(sample)
    if sample is None:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(random_state)
        first = rng.integers(n, size=sample)
        second = (first + rng.integers(1, n, sample)) % n
    ranks_X = rankdata(points.between(first, second, count_threads(n_jobs)))
    ranks_map = rankdata(_squared_distances(Y, first, second))
    ranks_X -= ranks_X.mean()
    ranks_map -= ranks_map.mean()
    scale = np.sqrt(np.sum(ranks_X**2) * np.sum(ranks_map**2))
    return float(np.sum(ranks_X * ranks_map) / scale) if scale > 0 else 0.0


def _squared_distances(Y: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.square(Y[first] - Y[second]).sum(axis=1)
