"""``umap.sparse``: distances between two sparse vectors, given as ascending column ids and their values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from actup.compat.umap._count_distances import approx_log_Gamma as approx_log_Gamma
from actup.compat.umap._count_distances import log_beta as log_beta
from actup.compat.umap._count_distances import log_single_beta as log_single_beta
from actup.compat.umap.distances import named_distances
from actup.compat.umap.utils import norm as norm

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

_LEAST_SMALL_WEIGHT, _LARGEST_SMALL_WEIGHT = 1e-8, 1e-4  # of edges that a graph does not have

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


def _distance(metric: str, ind1: Any, data1: Any, ind2: Any, data2: Any, **parameters: Any) -> float:
    _, x, y = _dense(ind1, data1, ind2, data2)
    return named_distances[metric](x, y, **parameters) if len(x) else 0.0


def _minkowski(ind1: Any, data1: Any, ind2: Any, data2: Any, p: float = 2.0) -> float:
    return _distance("minkowski", ind1, data1, ind2, data2, p=p)


def _distance_of_all_columns(
    metric: str, ind1: Any, data1: Any, ind2: Any, data2: Any, n_features: int
) -> float:
    _, x, y = _dense(ind1, data1, ind2, data2)
    padding = np.zeros(max(0, int(n_features) - len(x)))
    return named_distances[metric](np.append(x, padding), np.append(y, padding))


sparse_named_distances: dict[str, Callable[..., float]] = {
    **{metric: partial(_distance, metric) for metric in _OTHERS},
    "minkowski": _minkowski,
    **{metric: partial(_distance_of_all_columns, metric) for metric in sparse_need_n_features},
}


SPARSE_SPECIAL_METRICS = {sparse_named_distances[name]: name for name in ("hellinger", "ll_dirichlet")}


def general_sset_intersection(
    indptr1: np.ndarray,
    indices1: np.ndarray,
    data1: np.ndarray,
    indptr2: np.ndarray,
    indices2: np.ndarray,
    data2: np.ndarray,
    result_row: np.ndarray,
    result_col: np.ndarray,
    result_val: np.ndarray,
    right_complement: bool = False,
    mix_weight: float = 0.5,
) -> None:
    """Set, in place, the weights of edges in the intersection of two graphs, which are given as CSR arrays.

    Edges that neither graph has keep their values.
    """
    right = 1 - data2 if right_complement else data2
    least_left, least_right = _small_weight(data1), min(_small_weight(right), _LARGEST_SMALL_WEIGHT)
    one = _weights_at(indptr1, indices1, data1, result_row, result_col, least_left)
    other = _weights_at(indptr2, indices2, right, result_row, result_col, least_right)
    known = (one > least_left) | (other > least_right)
    if mix_weight < 0.5:
        weights = one * other ** (mix_weight / (1 - mix_weight))
    else:
        weights = one ** ((1 - mix_weight) / mix_weight) * other
    result_val[known] = weights[known]


def general_sset_union(
    indptr1: np.ndarray,
    indices1: np.ndarray,
    data1: np.ndarray,
    indptr2: np.ndarray,
    indices2: np.ndarray,
    data2: np.ndarray,
    result_row: np.ndarray,
    result_col: np.ndarray,
    result_val: np.ndarray,
) -> None:
    """Set, in place, the weights of edges in the union of two graphs, which are given as CSR arrays."""
    one = _weights_at(indptr1, indices1, data1, result_row, result_col, _small_weight(data1))
    other = _weights_at(indptr2, indices2, data2, result_row, result_col, _small_weight(data2))
    result_val[:] = one + other - one * other


def _small_weight(weights: np.ndarray) -> float:
    """The weight of an edge that a graph does not have: half of its least one."""
    return max(float(weights.min()) / 2, _LEAST_SMALL_WEIGHT)


def _weights_at(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    otherwise: float,
) -> np.ndarray:
    """The weights of some edges of a graph in CSR arrays; ``otherwise`` for those that it does not have."""
    width = int(max(indices.max(initial=0), columns.max(initial=0))) + 1
    keys = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * width + indices
    order = np.argsort(keys, kind="stable")
    wanted = rows.astype(np.int64) * width + columns
    at = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
    return np.where(keys[at] == wanted, data[at], otherwise).astype(np.float64)


def __getattr__(name: str) -> Any:
    """``sparse_euclidean`` and the other functions of ``sparse_named_distances`` by their own names."""
    metric = name.removeprefix("sparse_").replace("_", "")
    if name.startswith("sparse_") and metric in sparse_named_distances:
        return sparse_named_distances[metric]
    if name == "sparse_ll_dirichlet":
        return sparse_named_distances["ll_dirichlet"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
