"""as_rows(): what a caller gives as rows, checked, in a type in which the metric tells them apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from actup.neighbors._chunks import largest_of_rows, row_parts
from actup.neighbors._comparison import COMPILED, DISGUISED, PRESENCE
from actup.neighbors._search import is_searched

_SMALLEST = 1e-36  # of a largest value: float32 has fewer digits of smaller ones
_VALUES_AT_ONCE = 2**20
_MOST = 2**31 - 1  # what ids can number
# The length of a row plays no part: each must be large enough by itself.
_DIRECTIONS = ("cosine", "correlation", "hellinger")


def as_rows(X, metric: str | Callable, name: str = "X"):
    """``X`` as a finite matrix, C-contiguous or canonical CSR; a copy only where it has to be one.

    Its type stays, unless only the presence of values counts: then it becomes uint8 (sparse rows: float32).
    """
    from actup._scikit_learn import assert_all_finite, check_array

    refuse_kinds(X, name)
    if isinstance(X, np.ndarray) and X.dtype == bool:
        X = X.view(np.uint8)
    missing = {"nan_euclidean": "allow-nan", "precomputed": False}.get(metric, True)
    half = getattr(X, "dtype", None) == np.float16  # of which scikit-learn would make an array of flags
    options = {"order": "C", "accept_sparse": "csr", "ensure_all_finite": False if half else missing}
    rows = check_array(X, dtype="numeric", input_name=name, **options)
    if half and missing is not False:
        for part in row_parts(rows, _VALUES_AT_ONCE):
            assert_all_finite(rows[part], allow_nan=missing == "allow-nan", input_name=name)
    if max(rows.shape if sparse.issparse(rows) else rows.shape[:1]) > _MOST:
        raise ValueError(f"{name} has shape {rows.shape}, but rows and columns are numbered up to {_MOST}")
    rows = settled(rows, owned=rows is not X)
    if metric in PRESENCE:
        return _presence(rows)
    if metric in COMPILED and metric not in DISGUISED:
        refuse_underflow(rows, metric, name)
    return rows


def settled(X, owned: bool = False):
    """Checked rows in the machine's byte order, sparse ones with ascending ids, none twice.

    The same array if it is that; it is only changed if it is ``owned``.
    """
    rows = X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))
    if not sparse.issparse(rows) or rows.has_canonical_format:
        return rows
    rows = rows if owned or rows is not X else rows.copy()
    rows.sum_duplicates()
    return rows


def refuse_kinds(X, name: str) -> None:
    """Refuse what would lose its meaning as an array of numbers."""
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


def refuse_underflow(rows, metric: str, name: str) -> None:
    """Refuse numbers of which float32 would leave nothing.

    New rows are judged one by one, and only where they have a meaning without the others' scale.
    """
    if rows.dtype.kind != "f" or rows.dtype.itemsize <= 4 or (name != "X" and metric not in _DIRECTIONS):
        return
    largest = largest_of_rows(rows, _VALUES_AT_ONCE)
    if metric not in _DIRECTIONS and largest.max() >= _SMALLEST:
        return
    small = np.flatnonzero((largest > 0) & (largest < _SMALLEST))
    if len(small):
        raise ValueError(
            f"row {small[0]} of {name} is too small for float32, its largest value is {largest[small[0]]}: "
            f"divide {'the row' if metric in _DIRECTIONS else name} by it"
        )
