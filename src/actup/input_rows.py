"""as_rows(): what a caller gives as rows, checked, in a type in which the metric tells them apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from actup.backends.join import SCALARS
from actup.backends.search import is_searched
from actup.comparison import COMPILED, DISGUISED, PRESENCE
from actup.row_parts import row_parts

_SMALLEST = 1e-36  # of a largest value: float32 has fewer digits of smaller ones
_VALUES_AT_ONCE = 2**20
_MOST = 2**31 - 1  # what ids can number
# The length of a row plays no part: each must be large enough by itself.
_DIRECTIONS = ("cosine", "correlation", "hellinger")


def as_rows(X, metric: str | Callable, name: str = "X"):
    """``X`` as a finite matrix, C-contiguous or canonical CSR; a copy only where it has to be one.

    It has a type that searches read (dense: float32, float16, uint8, int8; sparse: float32) if the engine
    knows the metric. Rows that are moved first keep theirs; so do dense ones under "hamming" if float32 would
    make different values equal; those of which only presence counts become uint8.
    """
    from actup.scikit_learn import assert_all_finite, check_array

    _refuse_kinds(X, name)
    if isinstance(X, np.ndarray) and X.dtype == bool:
        X = X.view(np.uint8)
    missing = {"nan_euclidean": "allow-nan", "precomputed": False}.get(metric, True)
    half = getattr(X, "dtype", None) == np.float16  # of which scikit-learn would make an array of flags
    options = {"order": "C", "accept_sparse": "csr", "ensure_all_finite": False if half else missing}
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused by name
        rows = check_array(X, dtype=_types(X, metric), input_name=name, **options)
    if half and missing is not False:
        for part in row_parts(rows, _VALUES_AT_ONCE):
            assert_all_finite(rows[part], allow_nan=missing == "allow-nan", input_name=name)
    if max(rows.shape if sparse.issparse(rows) else rows.shape[:1]) > _MOST:
        raise ValueError(f"{name} has shape {rows.shape}, but rows and columns are numbered up to {_MOST}")
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    if metric in PRESENCE:
        return _presence(rows)
    if metric == "hamming":
        return _narrowed(rows, name)
    if metric in COMPILED and metric not in DISGUISED:
        _refuse_underflow(rows, X, metric, name)
    return rows


def is_wide(rows) -> bool:
    """Whether as_rows() left rows in a type that has more digits than float32."""
    return rows.dtype.itemsize > 2 and rows.dtype != np.float32


def refuse_wide(name: str) -> None:
    """Refuse rows that float32 makes equal where "hamming" sees differences."""
    raise ValueError(
        f"{name} has values that float32 cannot hold, which metric='hamming' cannot tell apart: number the "
        "different values of each column from 0 on"
    )


def _refuse_kinds(X, name: str) -> None:
    if np.ma.isMaskedArray(X):
        raise TypeError(f"{name} is a masked array, whose mask would be lost: fill it, or leave rows out")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise TypeError(f"{name} holds times ({X.dtype}), which have no scale: turn them into numbers")


def _types(X, metric: str | Callable):
    """The types that rows are checked in, as scikit-learn takes them; "numeric" for any number."""
    if metric not in COMPILED or metric in (*DISGUISED, *PRESENCE, "hamming"):
        return "numeric"
    return np.float32 if sparse.issparse(X) else SCALARS


def _presence(rows):
    """Rows of which only matters what is not zero, be it ever so small."""
    if is_searched(rows):
        return rows
    if not sparse.issparse(rows):
        return (rows != 0).view(np.uint8)
    return sparse.csr_matrix(((rows.data != 0).astype(np.float32), rows.indices, rows.indptr), rows.shape)


def _narrowed(rows, name: str):
    """Rows in float32 if that makes no two values equal; dense ones as they are if it does."""
    if is_searched(rows):
        return rows
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = rows.astype(np.float32)
        same = (
            np.array_equal(_values(narrow[part]).astype(rows.dtype), _values(rows[part]))
            for part in row_parts(rows, _VALUES_AT_ONCE)
        )
        if all(same):
            return narrow
    if sparse.issparse(rows):
        refuse_wide(name)
    return rows


def _refuse_underflow(rows, X, metric: str, name: str) -> None:
    """Refuse numbers of which float32, in which the rows are, leaves nothing.

    New rows are judged one by one, and only where they have a meaning without the others' scale.
    """
    kind = getattr(X, "dtype", np.dtype(np.float64))
    if not isinstance(kind, np.dtype) or kind.kind != "f" or kind.itemsize <= rows.dtype.itemsize:
        return
    largest = np.concatenate([_largest(rows[part]) for part in row_parts(rows, _VALUES_AT_ONCE)])
    if metric not in _DIRECTIONS and (name != "X" or largest.max() >= _SMALLEST):
        return
    small = np.flatnonzero(largest < _SMALLEST)
    wide = X if sparse.issparse(X) else np.asarray(X, np.float64)
    for part in row_parts(wide, _VALUES_AT_ONCE):
        values = _largest(wide[small[part]]) if len(small[part]) else np.zeros(1)
        if values.any():
            row = np.flatnonzero(values)[0]
            raise ValueError(
                f"row {small[part][row]} of {name} is too small for float32, its largest value is "
                f"{values[row]}: divide {'the row' if metric in _DIRECTIONS else name} by it"
            )


def _values(rows) -> np.ndarray:
    return rows.data if sparse.issparse(rows) else rows


def _largest(rows) -> np.ndarray:
    """The largest magnitude of each row."""
    if sparse.issparse(rows):
        return abs(rows).max(axis=1).toarray().ravel()
    return np.maximum(rows.max(axis=1), -rows.min(axis=1))
