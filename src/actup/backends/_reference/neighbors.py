"""Exact nearest neighbours of the oracle: every distance, then a sort."""

from __future__ import annotations

import numpy as np

from actup.graph._records import Neighbors

REFERENCE_METRICS = ("euclidean", "manhattan", "chebyshev", "cosine", "correlation")


def nearest_neighbors(X: np.ndarray, k: int, metric: str, threads: int = 1) -> Neighbors:
    """The k nearest other points of every point; ties go to the lower ids.

    Parameters
    ----------
    X : ndarray of shape (n, features)
    k : int
        Less than n.
    metric : str
    threads : int
        Ignored: the oracle runs on one thread.
    """
    X = np.asarray(X, np.float64)
    n = len(X)
    if not 0 <= k < max(n, 1):
        raise ValueError(f"k={k} neighbours need at least {k + 1} samples, got {n}: lower k")
    indices = np.empty((n, k), np.int32)
    distances = np.empty((n, k), np.float32)
    for i in range(n):
        from_i = distances_from(X, i, metric)
        from_i[i] = np.inf  # a point is never its own neighbour
        indices[i] = np.argsort(from_i, kind="stable")[:k]
        distances[i] = from_i[indices[i]]
    return Neighbors(indices, distances, "exact", 1.0)


def distances_from(X: np.ndarray, i: int, metric: str) -> np.ndarray:
    """The distances from point i to every point: (n,) float64."""
    match metric:
        case "euclidean":
            return np.asarray(np.sqrt(((X - X[i]) ** 2).sum(axis=1)))
        case "manhattan":
            return np.asarray(np.abs(X - X[i]).sum(axis=1))
        case "chebyshev":
            return np.asarray(np.abs(X - X[i]).max(axis=1))
        case "cosine":
            return _angular_distances(X, i)
        case "correlation":
            return _angular_distances(X - X.mean(axis=1, keepdims=True), i)
    raise ValueError(f"metric={metric!r} is not one of {', '.join(REFERENCE_METRICS)}")


def _angular_distances(X: np.ndarray, i: int) -> np.ndarray:
    """1 - cos of the angle, from differences of unit vectors, so that equal directions are at distance 0.

    A vector of zeros has no direction: it is at distance 0 from other zeros and 1 from all other rows, as in
    umap-learn.
    """
    lengths = np.sqrt((X**2).sum(axis=1))
    directions = X / np.where(lengths == 0, 1, lengths)[:, None]
    distances: np.ndarray = ((directions - directions[i]) ** 2).sum(axis=1) / 2  # |u - v|² = 2 - 2 cos
    distances[(lengths == 0) != (lengths[i] == 0)] = 1
    return distances
