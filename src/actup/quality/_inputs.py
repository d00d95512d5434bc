"""Checks of what the measures are given, once for all of them."""

from __future__ import annotations

import numpy as np

from actup.quality._points import Points


class NotMeasurable(ValueError):
    """A measure that these points do not allow; the report leaves it out and shows the message."""


def check_map(Y) -> np.ndarray:
    """A map as an ndarray of shape (n, dimensions), float64, finite and not empty."""
    Y = np.asarray(Y)
    if Y.ndim != 2 or 0 in Y.shape:
        raise ValueError(f"Y must have the shape (n, dimensions) with neither 0, got {Y.shape}")
    if Y.dtype.kind not in "biuf":
        raise ValueError(f"Y must hold real numbers, got dtype {Y.dtype}")
    Y = np.ascontiguousarray(Y, np.float64)
    if not np.isfinite(Y).all():
        raise ValueError("Y holds NaN or infinite values: a map must be finite to be measured")
    return Y


def check_pair(X, Y, metric: str) -> tuple[Points, np.ndarray]:
    """X as points and Y as a map, as many of one as of the other."""
    Y = check_map(Y)
    points = X if isinstance(X, Points) else Points(X, metric)
    if len(points) != len(Y):
        raise ValueError(f"X has {len(points)} rows and Y has {len(Y)}: a map has one row per point")
    return points, Y


def check_labels(labels, n: int) -> np.ndarray:
    """Labels of n points as class numbers 0, 1, ... in the order of the labels: (n,) int64."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise ValueError(f"labels must have the shape ({n},), one per point, got {labels.shape}")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise ValueError("labels must be classes, got NaN or fractional numbers: bin them first")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def check_k(k, largest: int, n: int) -> int:
    """k as an int between 1 and ``largest``, which follows from the number of points n."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise TypeError(f"k={k!r} must be an integer")
    if k < 1:
        raise ValueError(f"k={k} must be at least 1")
    if k > largest:
        raise NotMeasurable(f"k={k} is too large for {n} points")
    return int(k)


def check_sample(sample) -> int | None:
    """A sample size of at least 1, or None for everything."""
    if sample is None:
        return None
    if isinstance(sample, bool) or not isinstance(sample, int | np.integer):
        raise TypeError(f"sample={sample!r} must be an integer, or None for everything")
    if sample < 1:
        raise ValueError(f"sample={sample} must be at least 1, or None for everything")
    return int(sample)


def draw_rows(n: int, sample, random_state: int) -> np.ndarray:
    """``sample`` of n rows in ascending order, or all of them if it is None or not below n."""
    sample = check_sample(sample)
    if sample is None or sample >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, sample, replace=False))
