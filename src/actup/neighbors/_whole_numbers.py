"""Read integers of other types as int64, without loss; reject those that neither int64 nor float64 holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from actup._typing import Rows
from actup.neighbors._finite_values import value_chunks

_LARGEST_EXACT = 2**53  # float64 holds all integers up to here


def read_integers(X: Any, name: str) -> Any:
    """X with integer objects and pandas' nullable integers as int64, if all of X then holds integers.

    Parameters
    ----------
    X : object
        Never changed. Returned as it is if there is nothing to convert.
    name : str
        What errors call it.
    """
    if hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "items"):  # a data frame of pandas
        return _read_frame(X, name)
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 2:
        integers = _integers(X.ravel())
        return X if integers is None else integers.reshape(X.shape)
    return X


def _read_frame(X: Any, name: str) -> Any:
    """A data frame with the same columns; integers beside other numbers must survive as float64."""
    columns = [(column, _integers(values)) for column, values in X.items()]
    integers = [values for _, values in columns if values is not None]
    if not integers:
        return X
    if len(integers) == len(columns):
        common = np.result_type(*integers)
        if common.kind not in "iu" and all(map(_fits_int64, integers)):
            common = np.dtype(np.int64)  # NumPy would take float64 for int64 beside uint64
        if common.kind in "iu":
            return X if all(dtype == common for dtype in X.dtypes) else X.astype(common)
    for column, values in columns:
        if values is not None and values.size:
            _reject_lost(values[:, None], f"column {column!r} of {name}", "no type of all columns")
    return X


def _fits_int64(values: np.ndarray) -> bool:
    return bool(values.max(initial=0) <= np.iinfo(np.int64).max)


def _integers(values: Any) -> np.ndarray | None:
    """A column as NumPy's integers; None if it holds anything else, or a value is missing."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return np.asarray(values)
    if getattr(dtype, "kind", "") in ("i", "u"):  # pandas' nullable integers
        return None if values.isna().any() else values.to_numpy(f"{dtype.kind}{dtype.itemsize}")
    if getattr(dtype, "kind", "") == "O" and isinstance(dtype, np.dtype):
        try:
            array = np.array(list(values))
        except (TypeError, ValueError):
            return None
        return array if array.ndim == 1 and array.dtype.kind in "iu" else None
    return None


def narrowed(rows: Rows, name: str) -> Rows:
    """Rows of uint64 as int64, and rows of longdouble as int64 or float64.

    Numbers that neither holds are rejected. Longdoubles below 2**53 are rounded to float64, as in any
    computation with it.
    """
    values = rows.data if sparse.issparse(rows) else rows
    if rows.dtype == np.uint64:
        if all(_fits_int64(part) for part in value_chunks(rows)):
            return _with_values(rows, values.view(np.int64))
        _reject_lost(rows, name, "neither int64 nor float64")
    elif rows.dtype.kind == "f" and rows.dtype.itemsize > 8:
        large = [part[np.abs(part) > _LARGEST_EXACT] for part in value_chunks(rows)]
        if not any((part.astype(np.float64) != part).any() for part in large):
            return _with_values(rows, values.astype(np.float64))
        limit = np.iinfo(np.int64).max
        if all(((np.abs(part) < limit) & (part == np.rint(part))).all() for part in value_chunks(rows)):
            return _with_values(rows, values.astype(np.int64))
        _reject_lost(rows, name, "neither int64 nor float64")
    return rows


def _with_values(rows: Rows, values: np.ndarray) -> Rows:
    if not sparse.issparse(rows):
        return values
    return type(rows)((values, rows.indices, rows.indptr), shape=rows.shape)


def _reject_lost(rows: Rows, name: str, types: str) -> None:
    """Reject rows with a value beyond 2**53 that float64 changes."""
    for values in value_chunks(rows):
        large = values[(values > _LARGEST_EXACT) | (values < -_LARGEST_EXACT)]
        with np.errstate(invalid="ignore"):  # float64 may round to 2**64, which uint64 does not hold
            lost = large[large.astype(np.float64).astype(values.dtype) != large]
        if len(lost):
            raise ValueError(
                f"{name} holds {lost[0]}, which {types} can hold: subtract the smallest value of each "
                "column first"
            )
