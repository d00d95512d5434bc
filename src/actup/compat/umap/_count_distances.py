"""The distance between two vectors of counts, and the logarithms of the beta function that it is made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LEAST_COUNT = 0.9  # a value above this is a count, as in umap-learn
_FARTHEST = 1e8  # between a vector of counts and one without any, as in umap-learn


def approx_log_Gamma(x: float) -> float:
    """The logarithm of the gamma function; not approximate here."""
    return math.lgamma(x)


def log_beta(x: float, y: float) -> float:
    """The logarithm of the beta function."""
    return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)


def log_single_beta(x: float) -> float:
    """The logarithm of the beta function of two equal numbers."""
    return log_beta(x, x)


def ll_dirichlet(data1: Any, data2: Any) -> float:
    """How unlikely each vector of counts is under the Dirichlet posterior of the other."""
    x, y = np.asarray(data1, np.float64), np.asarray(data2, np.float64)
    total, other_total = x.sum(), y.sum()
    if total == 0 or other_total == 0:
        return 0.0 if total == other_total else _FARTHEST
    common = -log_beta(total, other_total)
    own, other_own = -log_single_beta(total), -log_single_beta(other_total)
    for count, other_count in zip(x, y):  # noqa: B905  (numba has no strict=)
        if count * other_count > _LEAST_COUNT:
            common += log_beta(count, other_count)
        if count > _LEAST_COUNT:
            own += log_single_beta(count)
        if other_count > _LEAST_COUNT:
            other_own += log_single_beta(other_count)
    return math.sqrt(max((common - other_own) / other_total + (common - own) / total, 0.0))
