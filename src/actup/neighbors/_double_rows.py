"""Differences and distances of rows in float64, dense or sparse, summed alike on every processor."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from actup._csr import entry_rows
from actup._elementary import power
from actup._typing import Rows
from actup.neighbors._comparison import Comparison
from actup.neighbors._row_transforms import fits_int64


def scaled(rows: Rows, factors: np.ndarray | None) -> Rows:
    """Rows of float64 times the factors of the columns, in place."""
    if factors is None:
        return rows
    if sparse.issparse(rows):
        rows.data *= factors[rows.indices]
    else:
        rows *= factors
    return rows


def repeat(row: Rows, count: int) -> Rows:
    """One row as often as needed; dense rows are broadcast instead."""
    return row[np.zeros(count, np.int64)] if sparse.issparse(row) else row


def mean_length(rows: Rows) -> int:
    """The stored values of a row."""
    return int(rows.nnz // rows.shape[0]) if sparse.issparse(rows) else int(rows.shape[1])


def difference(rows: Rows, others: Rows) -> Rows:
    """Differences in float64; of integers they are taken first, because float64 does not hold all int64."""
    if fits_int64(rows) and fits_int64(others):
        return (rows.astype(np.int64) - others.astype(np.int64)).astype(np.float64)
    difference = rows.astype(np.float64) - others.astype(np.float64)
    return difference.tocsr() if sparse.issparse(difference) else difference


def dense_column(matrix: Rows, rows: np.ndarray, column: int) -> np.ndarray:
    values = matrix[:, [column]].toarray()[rows, 0] if sparse.issparse(matrix) else matrix[rows, column]
    return np.asarray(values)


def norms(rows: Rows, comparison: Comparison) -> np.ndarray:
    """The distance of each row from 0, in float64."""
    if not sparse.issparse(rows):
        norms: np.ndarray
        match comparison.metric:
            case "euclidean":
                doubles = rows.astype(np.float64)
                norms = np.sqrt((doubles * doubles).sum(axis=1))
            case "manhattan":
                norms = np.abs(rows).sum(axis=1, dtype=np.float64)
            case "chebyshev":
                norms = np.abs(rows).max(axis=1).astype(np.float64)
            case _:
                powers = power(np.abs(rows.astype(np.float64)), comparison.p)
                norms = power(powers.sum(axis=1), 1 / comparison.p)
        return norms
    exponent = exponent_of(comparison)
    row_of = entry_rows(rows.indptr)
    powers = powers_of(np.abs(rows.data.astype(np.float64)), exponent)
    return root_of(np.bincount(row_of, powers, minlength=rows.shape[0]), exponent)


def exponent_of(comparison: Comparison) -> float:
    return {"euclidean": 2.0, "manhattan": 1.0}.get(comparison.metric, comparison.p)


def powers_of(sizes: np.ndarray, exponent: float) -> np.ndarray:
    """Values of at least 0 to the power of an exponent."""
    if exponent == 1:
        return sizes
    return sizes * sizes if exponent == 2 else power(sizes, exponent)


def root_of(sums: np.ndarray, exponent: float) -> np.ndarray:
    if exponent == 1:
        return sums
    return np.asarray(np.sqrt(sums)) if exponent == 2 else power(sums, 1 / exponent)


def relative_distances(rows: Rows, others: Rows, metric: str) -> np.ndarray:
    """Distances in "canberra" or "braycurtis" between rows and as many others, in float64."""
    rows, others = rows.astype(np.float64), others.astype(np.float64)
    if not sparse.issparse(rows):
        return _relative_sums(rows, others, metric, axis=1)
    manhattan = Comparison("manhattan")
    if metric == "canberra":
        reciprocals = (abs(rows) + abs(others)).tocsr()
        reciprocals.data = 1 / np.where(reciprocals.data > 0, reciprocals.data, 1)
        return norms((rows - others).multiply(reciprocals).tocsr(), manhattan)
    sums, totals = (norms(M.tocsr(), manhattan) for M in (rows - others, rows + others))
    return _quotients(sums, totals)


def _relative_sums(values: np.ndarray, others: np.ndarray, metric: str, axis: int) -> np.ndarray:
    """Distances in "canberra" or "braycurtis" of values along an axis."""
    sizes = np.abs(values - others)
    scales = np.abs(values) + np.abs(others) if metric == "canberra" else np.abs(values + others)
    if metric == "canberra":
        np.divide(sizes, scales, out=sizes, where=scales > 0)
        return np.asarray(sizes.sum(axis=axis))
    return _quotients(sizes.sum(axis=axis), scales.sum(axis=axis))


def _quotients(sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Sums over totals; 0 / 0 is 0."""
    quotients: np.ndarray = np.divide(sums, totals, out=np.where(sums > 0, np.inf, 0.0), where=totals > 0)
    return quotients


def distances_to(row: np.ndarray, points: np.ndarray, comparison: Comparison) -> np.ndarray:
    """Distances from one row, (columns,), to points, (columns, n), in float64."""
    if comparison.metric in ("canberra", "braycurtis"):
        return _relative_sums(row[:, None], points, comparison.metric, axis=0)
    sizes = points - row[:, None]
    np.abs(sizes, out=sizes)
    if comparison.metric == "chebyshev":
        return np.asarray(sizes.max(axis=0))
    exponent = exponent_of(comparison)
    return root_of(powers_of(sizes, exponent).sum(axis=0), exponent)
