"""How well a map separates given labels: the paper's two measures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.spatial import cKDTree

from actup._threads import count_threads
from actup.quality._inputs import NotMeasurable, check_k, check_labels, check_map
from actup.quality._neighborhoods import nearest_in_map

_VOTES = 1 << 22  # votes counted at a time


def knn_accuracy(Y, labels, k: int = 100, *, shrink: bool = True, n_jobs: int = -1) -> float:
    """How often the nearest neighbours of a point in the map vote for its label, over all points.

    Parameters
    ----------
    Y : array of shape (n, dimensions)
    labels : array of shape (n,)
    k : int
        How many neighbours vote, never the point itself; 100 in the paper. Most votes win; of several labels
        with as many votes, the smallest.
    shrink : bool
        Whether fewer vote when classes are small, as ``voters`` says. If False, exactly k do.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        Between 0 and 1; higher is better.
    """
    Y = check_map(Y)
    classes, threads = check_labels(labels, len(Y)), count_threads(n_jobs)
    n, count = len(Y), int(classes.max()) + 1
    if n < 2:
        raise NotMeasurable(f"{n} point has no neighbours: at least 2 are needed")
    k = voters(classes, k) if shrink else check_k(k, n - 1, n)
    tree, correct = cKDTree(Y), 0
    step = max(1, _VOTES // max(k, count))
    for begin in range(0, n, step):
        rows = np.arange(begin, min(n, begin + step))
        votes = classes[nearest_in_map(tree, rows, k, threads)]
        votes += count * np.arange(len(rows))[:, None]
        votes = np.bincount(votes.ravel(), minlength=count * len(rows)).reshape(len(rows), count)
        correct += int(np.count_nonzero(votes.argmax(axis=1) == classes[rows]))
    return correct / n


def voters(labels, k: int = 100) -> int:
    """How many neighbours vote in ``knn_accuracy``: k, or all others of an average class if they are fewer.

    Parameters
    ----------
    labels : array of shape (n,)
    k : int

    Returns
    -------
    int
        From 1 to k. In a class of 72 points, only 71 neighbours can vote for it.
    """
    others = len(labels) // len(np.unique(labels)) - 1
    return min(check_k(k, k, len(labels)), max(1, others))


def v_measure(Y, labels, *, n_init: int = 4, random_state: int = 0, n_jobs: int = -1) -> float:
    """V-measure of k-means in the map, with as many clusters as there are classes.

    Parameters
    ----------
    Y : array of shape (n, dimensions)
    labels : array of shape (n,)
    n_init : int
        Starts of k-means; the one with the lowest inertia counts.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        The harmonic mean of homogeneity and completeness, between 0 and 1; higher is better.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import v_measure_score
    from threadpoolctl import threadpool_limits

    Y = check_map(Y)
    classes = check_labels(labels, len(Y))
    clusters = min(int(classes.max()) + 1, len(np.unique(Y, axis=0)))
    seeds = np.random.SeedSequence(random_state).generate_state(n_init)

    # The sums of k-means depend on the number of OpenMP threads: one in each worker.
    workers = ThreadPoolExecutor(count_threads(n_jobs), initializer=threadpool_limits, initargs=(1, "openmp"))
    with threadpool_limits(1, "blas"), workers:
        fits = workers.map(lambda seed: KMeans(clusters, n_init=1, random_state=int(seed)).fit(Y), seeds)
        best = min(fits, key=lambda model: model.inertia_)
    return float(v_measure_score(classes, best.labels_))
