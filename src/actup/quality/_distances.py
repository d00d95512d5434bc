"""Measures of how well a map keeps the order of distances: triplets of points, and rank correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from actup._threads import count_threads
from actup._typing import Rows
from actup.quality._inputs import NotMeasurable, check_pair, check_sample, random_generator
from actup.quality._points import MeasuredPoints


def triplet_accuracy(
    X: Rows,
    Y: ArrayLike,
    *,
    metric: str = "euclidean",
    sample: int | None = 100_000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Share of triplets in which the nearer of two points in X is also the nearer one in the map.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The data.
    Y : array-like of shape (n, n_components)
        The map.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows of X. Distances in the map are always Euclidean.
    sample : int or None, default=100_000
        Number of random triplets (a point and two others). None, or as many as there are: all of them, in
        O(n³) time.
    random_state : int, default=0
        Seed of the triplets.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        About 0.5 for a map without any structure, 1 if all distances keep their order.

    Raises
    ------
    NotMeasurable
        If there are fewer than 3 points.

    See Also
    --------
    distance_correlation : Also about distances of all sizes, as a rank correlation.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import triplet_accuracy
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> triplet_accuracy(X, 2 * X)
    1.0
    >>> round(triplet_accuracy(X, X[:, :2]), 2)  # a map that drops one of the columns
    0.82
    """
    points, Y = check_pair(X, Y, metric)
    n, threads = len(Y), count_threads(n_jobs)
    if n < 3:
        raise NotMeasurable(f"a triplet needs at least 3 points, got {n}")
    sample, rng = check_sample(sample), random_generator(random_state)
    if sample is None or sample >= n * (n - 1) * (n - 2) // 2:
        return _all_triplets(points, Y, threads)
    anchor = rng.integers(n, size=sample)
    first_step, second_step = rng.integers(1, n, sample), rng.integers(1, n - 1, sample)
    second_step += second_step >= first_step  # three different points
    first, second = (anchor + first_step) % n, (anchor + second_step) % n
    in_X = np.sign(
        points.pair_distances(anchor, first, threads) - points.pair_distances(anchor, second, threads)
    )
    in_map = np.sign(_squared_distances(Y, anchor, first) - _squared_distances(Y, anchor, second))
    return float(np.mean(in_X == in_map))


def _all_triplets(points: MeasuredPoints, Y: np.ndarray, threads: int) -> float:
    n, agreeing = len(Y), 0
    for anchor in range(n):
        anchors, others = np.full(n - 1, anchor), np.delete(np.arange(n), anchor)
        in_X = points.pair_distances(anchors, others, threads)
        in_map = _squared_distances(Y, anchors, others)
        same = np.sign(in_X[:, None] - in_X) == np.sign(in_map[:, None] - in_map)
        agreeing += int(np.count_nonzero(same)) - (n - 1)  # each pair twice, less the diagonal
    return agreeing / (n * (n - 1) * (n - 2))


def distance_correlation(
    X: Rows,
    Y: ArrayLike,
    *,
    metric: str = "euclidean",
    sample: int | None = 100_000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> float:
    """Spearman's rank correlation between the distances in X and in the map.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The data.
    Y : array-like of shape (n, n_components)
        The map.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows of X. Distances in the map are always Euclidean.
    sample : int or None, default=100_000
        Number of random pairs. None, or as many as there are: all of them.
    random_state : int, default=0
        Seed of the pairs.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        Between -1 and 1; higher is better. 0 if all distances in X, or all in the map, are equal.

    Raises
    ------
    NotMeasurable
        If there are fewer than 3 points.

    See Also
    --------
    triplet_accuracy : Compares only distances from the same point.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import distance_correlation
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> round(distance_correlation(X, 2 * X), 6)
    1.0
    >>> round(distance_correlation(X, X[:, :2]), 2)  # a map that drops one of the columns
    0.79
    """
    from scipy.stats import rankdata

    points, Y = check_pair(X, Y, metric)
    n = len(Y)
    if n < 3:
        raise NotMeasurable(f"a correlation of distances needs at least 3 points, got {n}")
    sample, rng = check_sample(sample), random_generator(random_state)
    if sample is None or sample >= n * (n - 1) // 2:
        first, second = np.triu_indices(n, 1)
    else:
        first = rng.integers(n, size=sample)
        second = (first + rng.integers(1, n, sample)) % n
    ranks_X = rankdata(points.pair_distances(first, second, count_threads(n_jobs)))
    ranks_map = rankdata(_squared_distances(Y, first, second))
    ranks_X -= ranks_X.mean()
    ranks_map -= ranks_map.mean()
    scale = np.sqrt(np.sum(ranks_X**2) * np.sum(ranks_map**2))
    return float(np.sum(ranks_X * ranks_map) / scale) if scale > 0 else 0.0


def _squared_distances(Y: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    distances: np.ndarray = np.square(Y[first] - Y[second]).sum(axis=1)
    return distances
