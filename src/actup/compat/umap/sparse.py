"""``umap.sparse``: distances between two sparse vectors, given as ascending column ids and their values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from actup.compat.umap.distances import named_distances

__all__ = ["sparse_named_distances", "sparse_need_n_features"]

# Metrics that count columns in which both vectors are 0: f(ind1, data1, ind2, data2, n_features).
sparse_need_n_features = (
    "hamming",
    "matching",
    "kulsinski",
    "rogerstanimoto",
    "russellrao",
    "sokalmichener",
    "correlation",
)

_OTHERS = (
    "euclidean", "manhattan", "l1", "taxicab", "chebyshev", "linf", "linfty", "linfinity", "minkowski",
    "canberra", "ll_dirichlet", "braycurtis", "jaccard", "dice", "sokalsneath", "cosine", "hellinger",
)  # fmt: skip


def arr_unique(arr: np.ndarray) -> np.ndarray:
    """The distinct values of an array, ascending."""
    return np.unique(arr)


def arr_union(ar1: np.ndarray, ar2: np.ndarray) -> np.ndarray:
    """The values that are in any of two arrays, ascending."""
    return np.union1d(ar1, ar2)


def arr_intersect(ar1: np.ndarray, ar2: np.ndarray) -> np.ndarray:
    """The values that are in both arrays, ascending."""
    return np.intersect1d(ar1, ar2)


def sparse_sum(ind1: Any, data1: Any, ind2: Any, data2: Any) -> tuple[np.ndarray, np.ndarray]:
    """The sum of two sparse vectors, without zeros."""
    return _combine(np.add, ind1, data1, ind2, data2)


def sparse_diff(ind1: Any, data1: Any, ind2: Any, data2: Any) -> tuple[np.ndarray, np.ndarray]:
    """The difference of two sparse vectors, without zeros."""
    return _combine(np.subtract, ind1, data1, ind2, data2)


def sparse_mul(ind1: Any, data1: Any, ind2: Any, data2: Any) -> tuple[np.ndarray, np.ndarray]:
    """The product of two sparse vectors column by column, without zeros."""
    return _combine(np.multiply, ind1, data1, ind2, data2)


def _combine(operation: Any, ind1: Any, data1: Any, ind2: Any, data2: Any) -> tuple[np.ndarray, np.ndarray]:
    columns, x, y = _dense(ind1, data1, ind2, data2)
    values = operation(x, y)
    return columns[values != 0], values[values != 0]


def _dense(ind1: Any, data1: Any, ind2: Any, data2: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns that any of two sparse vectors has, and both vectors in these columns."""
    columns = np.union1d(ind1, ind2)
    x, y = np.zeros(len(columns)), np.zeros(len(columns))
    x[np.searchsorted(columns, ind1)] = data1
    y[np.searchsorted(columns, ind2)] = data2
    return columns, x, y


def _distance(metric: str, ind1: Any, data1: Any, ind2: Any, data2: Any, *parameters: Any) -> float:
    _, x, y = _dense(ind1, data1, ind2, data2)
    if metric in sparse_need_n_features:
        n_features, *rest = parameters
        padding = np.zeros(max(0, int(n_features) - len(x)))
        return named_distances[metric](np.append(x, padding), np.append(y, padding), *rest)
    return named_distances[metric](x, y, *parameters) if len(x) else 0.0


sparse_named_distances: dict[str, Callable[..., float]] = {
    metric: partial(_distance, metric) for metric in (*_OTHERS, *sparse_need_n_features)
}


def __getattr__(name: str) -> Any:
    """``sparse_euclidean`` and the other functions of ``sparse_named_distances`` by their own names."""
    metric = name.removeprefix("sparse_").replace("_", "")
    if name.startswith("sparse_") and metric in sparse_named_distances:
        return sparse_named_distances[metric]
    if name == "sparse_ll_dirichlet":
        return sparse_named_distances["ll_dirichlet"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
