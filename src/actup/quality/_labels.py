"""Measures of how well a map separates given labels: the two that the ActUp paper reports."""

from __future__ import annotations

import reprlib

import numpy as np
from numpy.typing import ArrayLike

from actup._errors import WrongType
from actup._labels import label_array
from actup._threads import count_threads, map_in_threads
from actup._values import naming_memory, read_count, read_flag
from actup.quality._inputs import NotMeasurable, check_k, check_labels, check_map, within_range
from actup.quality._neighborhoods import map_tree, nearest_in_map

_CHUNK_VOTES = 1 << 22  # votes counted at a time
_MAX_KMEANS_DISTANCES = 500_000_000  # points times clusters: beyond it, k-means takes many minutes


def knn_accuracy(
    Y: ArrayLike, labels: ArrayLike, k: int = 100, *, shrink: bool = True, n_jobs: int = -1
) -> float:
    """Share of points whose label is predicted by a vote of their nearest neighbours in the map.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        The map.
    labels : array-like of shape (n,)
        Class of every point; none may be missing.
    k : int, default=100
        Number of neighbours that vote, never the point itself; 100 in the ActUp paper. A tie goes to the
        smallest label.
    shrink : bool, default=True
        Whether fewer neighbours vote when classes are small, see :func:`voters`. If False, exactly k vote.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    Raises
    ------
    NotMeasurable
        If there is only one point, or ``shrink`` is False and there are not more than k points.

    See Also
    --------
    voters : How many neighbours vote.
    v_measure : Compares clusters of the map with the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.quality import knn_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> round(knn_accuracy(X[:, 2:], y, k=10), 2)  # petal length and width as a map
    0.96
    """
    Y = check_map(Y)
    classes, threads = check_labels(labels, len(Y)), count_threads(n_jobs)
    shrink = read_flag(shrink, "shrink")
    n, count = len(Y), int(classes.max()) + 1
    if n < 2:
        raise NotMeasurable(f"{n} point has no neighbours: at least 2 are needed")
    k = voters(classes, k) if shrink else check_k(k, n - 1, n)
    tree, correct = map_tree(Y), 0
    elect = _elect_by_counting if count <= k else _elect_by_sorting
    step = max(1, _CHUNK_VOTES // k)
    for begin in range(0, n, step):
        rows = np.arange(begin, min(n, begin + step))
        elected = elect(classes[nearest_in_map(tree, rows, k, threads)], count)
        correct += int(np.count_nonzero(elected == classes[rows]))
    return correct / n


def _elect_by_counting(votes: np.ndarray, count: int) -> np.ndarray:
    """The most frequent of ``count`` classes in every row of votes, the smallest one of a tie."""
    rows = len(votes)
    votes = votes + count * np.arange(rows)[:, None]
    counts = np.bincount(votes.ravel(), minlength=count * rows).reshape(rows, count)
    return np.asarray(counts.argmax(axis=1))


def _elect_by_sorting(votes: np.ndarray, count: int) -> np.ndarray:
    """As ``_elect_by_counting``, in a time that does not depend on the number of classes."""
    votes = np.sort(votes, axis=1)
    places = np.arange(votes.shape[1])
    is_first = np.ones(votes.shape, bool)
    is_first[:, 1:] = votes[:, 1:] != votes[:, :-1]
    run_length = places - np.maximum.accumulate(np.where(is_first, places, 0), axis=1)
    winner = run_length.argmax(axis=1)  # where the first of the longest runs of equal votes ends
    return np.asarray(votes[np.arange(len(votes)), winner])


def voters(labels: ArrayLike, k: int = 100) -> int:
    """Number of neighbours that vote in :func:`knn_accuracy`: k, or fewer if classes are small.

    A class of 72 points offers only 71 neighbours of the same class, so at most as many vote as an average
    class has other points.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Class of every point; none may be missing.
    k : int, default=100
        Largest number of neighbours that vote.

    Returns
    -------
    int
        From 1 to k.

    See Also
    --------
    knn_accuracy : The vote itself.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import voters
    >>> voters(np.repeat(range(10), 500))  # ten classes of 500 points
    100
    >>> voters(np.repeat(range(100), 72))  # a hundred classes of 72 points
    71
    """
    n = np.size(label_array(labels))
    classes = check_labels(labels, n)
    others = n // (int(classes.max(initial=0)) + 1) - 1
    return min(check_k(k, k, n), max(1, others))


def v_measure(
    Y: ArrayLike, labels: ArrayLike, *, n_init: int = 4, random_state: int = 0, n_jobs: int = -1
) -> float:
    """V-measure of a k-means clustering of the map, with as many clusters as there are classes.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        The map.
    labels : array-like of shape (n,)
        Class of every point; none may be missing.
    n_init : int, default=4
        Number of random starts of k-means; the clustering with the lowest inertia is kept.
    random_state : int, default=0
        Seed of the starts.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        The harmonic mean of homogeneity and completeness, between 0 and 1; higher is better.

    Raises
    ------
    NotMeasurable
        If there are so many points and classes that k-means would take many minutes.

    See Also
    --------
    knn_accuracy : Compares the labels of neighbours in the map.
    sklearn.metrics.v_measure_score : The V-measure of two labelings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.quality import v_measure
    >>> X, y = load_iris(return_X_y=True)
    >>> round(v_measure(X[:, 2:], y), 2)  # petal length and width as a map
    0.86
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import v_measure_score
    from threadpoolctl import ThreadpoolController

    starts = read_count(n_init, "n_init", 1)
    try:
        seed = np.random.SeedSequence(random_state)
    except (TypeError, ValueError):
        shown = reprlib.repr(random_state)
        raise WrongType(f"random_state={shown} must be a whole number of at least 0") from None
    Y = within_range(check_map(Y))
    classes = check_labels(labels, len(Y))
    clusters = min(int(classes.max()) + 1, len(np.unique(Y, axis=0)))
    if len(Y) * clusters > _MAX_KMEANS_DISTANCES:
        raise NotMeasurable(f"k-means of {len(Y)} points with {clusters} clusters would take many minutes")
    with naming_memory(n_init, "n_init"):
        seeds = seed.generate_state(starts)

    # The sums of k-means depend on the number of OpenMP threads, so each worker uses one.
    libraries = ThreadpoolController()

    def fit(seed: int) -> KMeans:
        with libraries.limit(limits=1, user_api="openmp"):
            return KMeans(clusters, n_init=1, random_state=seed).fit(Y)

    with libraries.limit(limits=1, user_api="blas"):
        models = map_in_threads(fit, map(int, seeds), count_threads(n_jobs))
        best = min(models, key=lambda model: float(model.inertia_))
    return float(v_measure_score(classes, best.labels_))
