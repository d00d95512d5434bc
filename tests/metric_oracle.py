"""Every compiled metric in float64, test rows for each metric, and a check of the neighbours found."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from actup.neighbors._metrics import compiled_metrics, metrics_where

COMPILED = compiled_metrics()
PRESENCE = metrics_where(presence=True)
K = 12
DENSE_ONLY = [name for name in metrics_where(sparse=False) if name in COMPILED]
SPARSE = [name for name in COMPILED if name not in DENSE_ONLY]
PARAMETERS = {"minkowski": {"p": 3.0}}
# Metrics in which a row equal to the query need not be its nearest neighbour.
EQUAL_ROWS_NOT_NEAREST = ("inner_product", "yule")


def presence_distances(metric, A, B):
    """All distances of a presence metric from rows of A to rows of B, in float64."""
    a, b = (A != 0).astype(float), (B != 0).astype(float)
    both = a @ b.T
    x, y, n = a.sum(1)[:, None], b.sum(1)[None, :], float(A.shape[1])
    only_x, only_y = x - both, y - both
    unequal = only_x + only_y
    with np.errstate(invalid="ignore", divide="ignore"):
        value = {
            "jaccard": lambda: unequal / (x + y - both),
            "dice": lambda: unequal / (x + y),
            "matching": lambda: unequal / n,
            "kulsinski": lambda: (unequal - both + n) / (unequal + n),
            "rogerstanimoto": lambda: 2 * unequal / (n + unequal),
            "sokalmichener": lambda: 2 * unequal / (n + unequal),
            "russellrao": lambda: (n - both) / n,
            "sokalsneath": lambda: unequal / (0.5 * both + unequal),
            "yule": lambda: 2 * only_x * only_y / (both * (n - both - unequal) + only_x * only_y),
        }[metric]()
    zero = (only_x * only_y == 0) if metric == "yule" else (unequal == 0)
    return np.where(zero, 0, value)


def brute_force(metric, A, X, **parameters):
    """All distances from rows of A to rows of X, in float64."""
    A, X = np.asarray(A, np.float64), np.asarray(X, np.float64)
    if metric in PRESENCE:
        return presence_distances(metric, A, X)
    match metric:
        case "manhattan":
            return cdist(A, X, "cityblock")
        case "hellinger":
            return np.sqrt(np.maximum(brute_force("cosine", np.sqrt(A), np.sqrt(X)), 0))
        case "softmax_hellinger":
            return brute_force("hellinger", softmax(A, axis=1), softmax(X, axis=1))
        case "inner_product":
            return (X**2).sum(1).max() - A @ X.T
        case "haversine":
            half = (A[:, None] - X[None]) / 2
            inner = np.cos(A[:, None, 0]) * np.cos(X[None, :, 0]) * np.sin(half[..., 1]) ** 2
            return 2 * np.arcsin(np.sqrt(np.sin(half[..., 0]) ** 2 + inner))
        case "gower":
            spans = np.ptp(X, axis=0)
            return (
                np.abs(A[:, None] - X[None])
                @ np.where(spans > 0, 1 / np.where(spans, spans, 1), 0)
                / A.shape[1]
            )
        case "seuclidean":
            return cdist(A, X, metric, V=X.var(axis=0, ddof=1))
        case "mahalanobis":
            return cdist(A, X, metric, VI=np.linalg.inv(np.cov(X.T)))
        case "cosine" | "correlation":
            rows = [M - M.mean(1, keepdims=True) if metric == "correlation" else M for M in (A, X)]
            lengths = [np.linalg.norm(M, axis=1) for M in rows]
            a, x = (M / np.where(norm > 0, norm, 1)[:, None] for M, norm in zip(rows, lengths, strict=True))
            distances = cdist(a, x, "sqeuclidean") / 2
            distances[(lengths[0] == 0)[:, None] != (lengths[1] == 0)[None]] = 1
            return distances
        case "canberra" | "braycurtis":
            return np.nan_to_num(cdist(A, X, metric))
    return cdist(A, X, metric, **parameters)


def points(metric, n=230, columns=37, seed=0):
    """Rows with many zeros, two all-zero rows and some duplicates; nonnegative where the metric needs it."""
    rng = np.random.default_rng(seed)
    if metric == "haversine":
        return rng.uniform([-1.5, -3], [1.5, 3], (n, 2))
    if metric == "mahalanobis":
        return rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6))
    X = rng.gamma(2, size=(n, columns)).round(1)
    X[rng.random(X.shape) < 0.6] = 0
    if metric not in ("hellinger", "braycurtis"):
        X *= rng.choice([-1, 1], X.shape)
    X[[5, 9]] = 0
    X[20:24] = X[3]
    return X.astype(np.float32)


def assert_nearest(found, exact, metric):
    """Each list has distinct ids with their true distances, ascending, and misses no nearer point."""
    k = found.indices.shape[1]
    tolerance = {"rtol": 2e-5, "atol": 3e-6 if metric in ("correlation", "inner_product") else 2e-6}
    if "hellinger" in metric:
        tolerance["atol"] = 1e-3  # the square root magnifies rounding errors near 0
    np.testing.assert_allclose(found.distances, np.take_along_axis(exact, found.indices, 1), **tolerance)
    np.testing.assert_allclose(found.distances, np.sort(exact, axis=1)[:, :k], **tolerance)
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert all(len(set(row)) == k for row in found.indices.tolist())


def exclude_self(exact):
    """The distances of rows to each other, with an infinite distance of each row to itself."""
    exact = exact.copy()
    np.fill_diagonal(exact, np.inf)
    return exact
