"""Test rows for the approximate searches, and a check of the neighbour lists found for them."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise_distances

from actup.neighbors import nearest_neighbors

K = 15


def clustered(n=6000, columns=200, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, columns)) * 3
    spread = rng.normal(size=(columns, columns)) / np.sqrt(columns)
    return (centres[rng.integers(40, size=n)] + rng.normal(size=(n, columns)) @ spread).astype(np.float32)


def low_rank(n=6000, columns=300, rank=6):
    rng = np.random.default_rng(1)
    X = np.tanh(rng.normal(size=(n, rank)) @ rng.normal(size=(rank, columns)))
    return (X + 0.01 * rng.normal(size=X.shape)).astype(np.float32)


def uniform(n=6000, columns=10):
    return np.random.default_rng(2).random((n, columns), np.float32)


def noise(n=5000, columns=300):
    return np.random.default_rng(3).normal(size=(n, columns)).astype(np.float32)


def duplicates(n=6000):
    """Half of the rows are duplicates of three rows, and the rest are all different."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 60)).astype(np.float32)
    X[rng.permutation(n)[: n // 2]] = rng.normal(size=(3, 60)).astype(np.float32)[
        rng.integers(3, size=n // 2)
    ]
    return X


def approximate(X, k=K, **options):
    return nearest_neighbors(X, k, algorithm="approximate", **options)


def true_distances(X, rows, metric="euclidean"):
    exact = pairwise_distances(X[rows].astype(np.float64), X.astype(np.float64), metric=metric)
    exact[np.arange(len(rows)), rows] = np.inf
    return exact


def check_lists(found, X, metric="euclidean", min_recall=0.97):
    """Check ids, order, distances and recall against brute force on 300 rows; return the recall."""
    rows = np.linspace(0, len(X) - 1, 300).astype(int)
    exact = true_distances(X, rows, metric)
    indices, distances = found.indices[rows], found.distances[rows]
    k = indices.shape[1]
    assert found.indices.min() >= 0 and found.indices.max() < len(X)
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    assert (np.diff(np.sort(found.indices, axis=1), axis=1) > 0).all()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    scale = np.median(exact)  # scikit-learn gives equal rows a distance slightly above 0
    np.testing.assert_allclose(distances, np.take_along_axis(exact, indices, 1), rtol=1e-4, atol=1e-6 * scale)
    radii = np.sort(exact, axis=1)[:, k - 1 : k]
    recall = np.mean(distances <= radii * (1 + 1e-5) + 1e-6 * scale)
    assert recall >= min_recall
    assert abs(recall - found.recall) < 0.03
    return recall
