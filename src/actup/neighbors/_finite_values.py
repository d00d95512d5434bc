"""Reject values that are missing, infinite or too large for float32, by their row and column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

import numpy as np
from scipy import sparse

from actup._engine import engine
from actup._typing import Rows
from actup.neighbors._chunks import row_chunks

_ENGINE_FLOATS = (np.float32, np.float64)  # the types that the engine checks
_CHUNK_VALUES = 2**20  # values that are checked at a time: Ctrl-C is answered between chunks


class Role(Enum):
    """What rows are given for, which decides how a value that is not finite can be mended.

    Attributes
    ----------
    DATA
        A map is made of them, or they are searched.
    NEW_ROWS
        They are compared with other rows, whose metric is settled.
    PLACES
        They are places on a map.
    """

    DATA = auto()
    NEW_ROWS = auto()
    PLACES = auto()


def value_chunks(rows: Rows, values: int = _CHUNK_VALUES) -> Iterator[np.ndarray]:
    """The stored values of rows, dense or CSR, chunk by chunk."""
    if sparse.issparse(rows):
        return (rows.data[begin : begin + values] for begin in range(0, rows.nnz, values))
    return (rows[chunk] for chunk in row_chunks(rows, values))


def reject_nonfinite(
    rows: Rows,
    metric: str | Callable[..., float],
    name: str,
    *,
    allow_missing: bool = False,
    column_names: Any = None,
    role: Role = Role.DATA,
    threads: int = 1,
) -> None:
    """Reject infinite values, and missing ones (NaN) unless they are allowed.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, columns)
    metric : str or callable
        A canonical metric, for the remedy.
    name : str
        What errors call the rows.
    allow_missing : bool, default=False
    column_names : sequence, default=None
        Those of a data frame; None: columns are numbered.
    role : Role, default=Role.DATA
    threads : int, default=1
    """
    values = rows.data if sparse.issparse(rows) else rows
    if values.dtype in _ENGINE_FLOATS and not allow_missing and are_all_finite(values, threads):
        return
    found = first_nonfinite(rows, allow_missing)
    if found is None:
        return
    row, column, value = found
    column = column if column_names is None else column_names[column]
    missing = bool(np.isnan(value))
    remedy = _missing_remedy(metric, sparse.issparse(rows), role) if missing else _INFINITY_REMEDIES[role]
    raise ValueError(
        f"{name} contains {'NaN' if missing else 'infinity'} in row {row}, column {column!r}: {remedy}"
    )


_INFINITY_REMEDIES = {
    Role.DATA: "replace it by a finite number, or by NaN, which sklearn.impute.SimpleImputer fills, or drop "
    "its row or column",
    Role.NEW_ROWS: "replace it by a finite number, or drop its row",
    Role.PLACES: "places on a map are finite numbers: drop the row",
}


def _missing_remedy(metric: str | Callable[..., float], is_sparse: bool, role: Role) -> str:
    if role is Role.PLACES:
        return _INFINITY_REMEDIES[role]
    if role is Role.NEW_ROWS:
        remedy = "fill it as in the data of fit, or drop its row"
        if callable(metric):
            remedy += ", or use ensure_all_finite='allow-nan' if your function compares missing values"
        return remedy
    remedy = "fill it, e.g. with sklearn.impute.SimpleImputer, or drop its row or column"
    if not is_sparse:
        remedy += "; metric='nan_euclidean' and metric='gower' compare rows with missing values"
        if callable(metric):
            remedy += ", and so may your function: use ensure_all_finite='allow-nan' in fit and transform"
    return remedy


def are_all_finite(values: np.ndarray, threads: int = 1) -> bool:
    """Whether all values are finite, of an array of any kind of numbers."""
    if values.dtype in _ENGINE_FLOATS and values.flags.c_contiguous:
        return engine.all_finite(values.reshape(-1), threads)
    return bool(np.isfinite(values).all())


def first_nonfinite(rows: Rows, allow_missing: bool = False) -> tuple[int, Any, Any] | None:
    """Row, column and value of the first value that is not finite; None if there is none."""
    if rows.dtype.kind != "f":
        return None
    before = 0
    for values in value_chunks(rows):
        bad = np.isinf(values) if allow_missing else ~np.isfinite(values)
        if bad.any():
            at = int(bad.argmax())
            value = values.ravel()[at]
            if sparse.issparse(rows):
                entry = before + at
                return int(np.searchsorted(rows.indptr, entry, "right")) - 1, int(rows.indices[entry]), value
            return before + at // values.shape[1], at % values.shape[1], value
        before += len(values)
    return None


def reject_overflow_of(given: Rows, converted: Rows, name: str) -> None:
    """Reject rows that float32 cannot hold.

    Parameters
    ----------
    given : ndarray or CSR matrix of shape (n, columns)
        Finite rows of the caller.
    converted : ndarray or CSR matrix with n rows
        The same rows where the engine compares them.
    name : str
        What errors call the rows.
    """
    found = first_nonfinite(converted)
    if found is None:
        return
    row = found[0]
    values = np.abs((given[row : row + 1].data if sparse.issparse(given) else given[row]).astype(np.float64))
    raise ValueError(
        f"{name} contains infinity or a value too large for dtype('float32'): the largest value of row {row} "
        f"is {values.max():.3g}: divide {name} by its largest value, or drop the row"
    )
