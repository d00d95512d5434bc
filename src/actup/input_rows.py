"""as_rows(): what a caller gives as rows, checked, in a type in which the metric tells them apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from actup.backends.search import is_searched
from actup.comparison import COMPILED, DISGUISED, PRESENCE
from actup.row_parts import row_parts

_SMALLEST = 1e-36  # of a largest value: float32 has fewer digits of smaller ones
_VALUES_AT_ONCE = 2**20
_MOST = 2**31 - 1  # what ids can number
_MOST_DIFFERENT = 2**20  # values that are told apart before they become float32
# The length of a row plays no part: each must be large enough by itself.
_DIRECTIONS = ("cosine", "correlation", "hellinger")


def as_rows(X, metric: str | Callable, name: str = "X"):
    """``X`` as a finite matrix, C-contiguous or canonical CSR; a copy only where it has to be one.

    Its type stays, but for two kinds of metrics that the engine knows: rows of which only presence counts
    become uint8 (sparse ones float32), and those under "hamming" float32 if that keeps values apart.
    """
    from actup.scikit_learn import assert_all_finite, check_array

    _refuse_kinds(X, name)
    if isinstance(X, np.ndarray) and X.dtype == bool:
        X = X.view(np.uint8)
    missing = {"nan_euclidean": "allow-nan", "precomputed": False}.get(metric, True)
    half = getattr(X, "dtype", None) == np.float16  # of which scikit-learn would make an array of flags
    options = {"order": "C", "accept_sparse": "csr", "ensure_all_finite": False if half else missing}
    rows = check_array(X, dtype="numeric", input_name=name, **options)
    if half and missing is not False:
        for part in row_parts(rows, _VALUES_AT_ONCE):
            assert_all_finite(rows[part], allow_nan=missing == "allow-nan", input_name=name)
    if not rows.dtype.isnative:
        rows = rows.astype(rows.dtype.newbyteorder("="))
    if max(rows.shape if sparse.issparse(rows) else rows.shape[:1]) > _MOST:
        raise ValueError(f"{name} has shape {rows.shape}, but rows and columns are numbered up to {_MOST}")
    if sparse.issparse(rows):
        rows = canonical(rows, owned=rows is not X)
    if metric in PRESENCE:
        return _presence(rows)
    if metric == "hamming":
        return _narrowed(rows, name)
    if metric in COMPILED and metric not in DISGUISED:
        refuse_underflow(rows, metric, name)
    return rows


def canonical(X, owned: bool = False):
    """CSR rows with ascending ids, none twice; the same matrix if it is that, or ``owned``."""
    if X.has_canonical_format:
        return X
    rows = X if owned else X.copy()
    rows.sum_duplicates()
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
    types = [getattr(X, "dtype", None), *getattr(X, "dtypes", ())]  # a data frame has several
    times = [kind for kind in types if getattr(kind, "kind", None) in ("m", "M")]
    if times:
        raise TypeError(f"{name} holds times ({times[0]}), which have no scale: turn them into numbers")


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
    if _stay_apart(rows):
        return rows.astype(np.float32)
    if sparse.issparse(rows):
        refuse_wide(name)
    return rows


def _stay_apart(rows) -> bool:
    """Whether values that differ do so in float32. Whole numbers must stay what they are: others may come."""
    different = np.empty(0, rows.dtype)
    for part in row_parts(rows, _VALUES_AT_ONCE):
        values = _values(rows[part])
        with np.errstate(over="ignore", invalid="ignore"):
            changed = values[values.astype(np.float32).astype(rows.dtype) != values]
        if changed.size and rows.dtype.kind != "f":
            return False
        different = np.union1d(different, changed)
        if len(different) > _MOST_DIFFERENT:
            return False
    if not len(different):
        return True
    with np.errstate(over="ignore"):
        narrow = np.unique(different.astype(np.float32))
    if len(narrow) < len(different) or not np.isfinite(narrow).all():
        return False
    # nor may they meet one that float32 holds
    exact = narrow.astype(rows.dtype)
    return not any(np.isin(_values(rows[part]), exact).any() for part in row_parts(rows, _VALUES_AT_ONCE))


def refuse_underflow(rows, metric: str, name: str) -> None:
    """Refuse numbers of which float32 would leave nothing.

    New rows are judged one by one, and only where they have a meaning without the others' scale.
    """
    if rows.dtype.kind != "f" or rows.dtype.itemsize <= 4 or (name != "X" and metric not in _DIRECTIONS):
        return
    largest = np.concatenate([_largest(rows[part]) for part in row_parts(rows, _VALUES_AT_ONCE)])
    if metric not in _DIRECTIONS and largest.max() >= _SMALLEST:
        return
    small = np.flatnonzero((largest > 0) & (largest < _SMALLEST))
    if len(small):
        raise ValueError(
            f"row {small[0]} of {name} is too small for float32, its largest value is {largest[small[0]]}: "
            f"divide {'the row' if metric in _DIRECTIONS else name} by it"
        )


def _values(rows) -> np.ndarray:
    return rows.data if sparse.issparse(rows) else rows


def _largest(rows) -> np.ndarray:
    """The largest magnitude of each row."""
    if sparse.issparse(rows):
        return abs(rows).max(axis=1).toarray().ravel()
    return np.maximum(rows.max(axis=1), -rows.min(axis=1))
