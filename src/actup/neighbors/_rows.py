"""The entrance for rows: everything a caller gives as X is checked here, once.

``read_rows`` gives the finite, C-contiguous (or canonical CSR) matrix of numbers that all stages take for
granted. The estimators pass scikit-learn's ``validate_data`` for the check itself, so that it also records
feature names; backend "cuda" reads arrays that lie on a GPU by itself.
"""

from __future__ import annotations

import reprlib
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from actup._csr import read_sparse
from actup._errors import WrongType
from actup._typing import Rows
from actup._values import beyond_floats, is_beyond_floats, reject_mask
from actup.neighbors._chunks import row_chunks, row_magnitudes
from actup.neighbors._finite_values import Role, reject_nonfinite
from actup.neighbors._metrics import compares_missing, record_of
from actup.neighbors._mixed_rows import mixed_parameters, read_mixed
from actup.neighbors._not_rows import reject_other_kinds, reject_other_shapes
from actup.neighbors._tables import (
    arrow_matrix,
    as_table,
    column_names,
    frame_columns,
    is_arrow_table,
    is_frame,
    temporal_columns,
)
from actup.neighbors._whole_numbers import narrowed, read_integers

# The types of dense rows that the engine reads without a conversion.
ENGINE_TYPES = (np.float32, np.float16, np.uint8, np.int8)

_SMALLEST_MAGNITUDE = 1e-36  # below it float32 has fewer digits
_CHUNK_VALUES = 2**20
_MAX_REASON = 100  # characters of another library's error, which may print a whole cell
_COMPLEX = "Complex data not supported"  # the words of scikit-learn, which its checks look for
_MAX_ROWS = 2**31 - 1  # ids are int32

Check = Callable[..., Any]


def read_rows(
    X: Any,
    metric: str | Callable[..., float],
    *,
    name: str = "X",
    check: Check | None = None,
    dtype: Any = "numeric",
    finite: bool | str = True,
    check_values: bool = True,
    role: Role = Role.DATA,
    threads: int = 1,
) -> Rows:
    """Check X and bring it into the form that all stages take for granted. X itself is never changed.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n, columns)
    metric : str or callable
        A canonical metric: "precomputed" allows infinite distances, "nan_euclidean" and "gower" allow missing
        values (NaN), and "gower" text.
    name : str, default="X"
        What errors call it.
    check : callable, default=None
        Called as ``check(X, **options)`` with the options of ``sklearn.utils.check_array``; None: that
        function.
    dtype : str or list of types, default="numeric"
        The types that X may keep.
    finite : bool or "allow-nan", default=True
        Which values a function as ``metric`` may meet: finite ones (True), also missing ones ("allow-nan"),
        or also infinite ones (False). Named metrics do not depend on it.
    check_values : bool, default=True
        Whether to reject values that are not finite; False if the caller does so later.
    role : Role, default=Role.DATA
        What the rows are given for: errors name the remedy that suits it.
    threads : int, default=1

    Returns
    -------
    ndarray or CSR matrix of shape (n, columns)
        C-contiguous, in the machine's byte order, finite; sparse ids ascend without duplicates. Booleans
        become uint8, and integers of uint64, longdouble, objects or pandas' nullable types become int64;
        every other type stays. A copy only where one is needed. For "gower": float64, in which numbers stand
        for text.
    """
    allow_missing, allow_infinite = _allowed_values(metric, finite)
    given = X = as_table(X, name)
    reject_other_kinds(X, name)
    reject_unsuitable_types(X, name)
    names = column_names(X)
    reject_duplicate_names(names, name)
    plain_check = partial(check_array, input_name=name)
    record_names = None  # scikit-learn's check of what it does not convert itself
    if sparse.issparse(X):
        X = read_sparse(X, name)
    elif metric == "gower":
        record_names, check, X = check, None, read_mixed(X, name)
    elif is_arrow_table(X):
        record_names, check, X = check, None, arrow_matrix(X)
    else:
        X = read_integers(X, name)
    check = plain_check if check is None else check
    # scikit-learn would check all values in one piece, which delays Ctrl-C.
    options: dict[str, Any] = {
        "dtype": dtype,
        "order": "C",
        "accept_sparse": "csr",
        "ensure_all_finite": False,
    }
    try:
        with np.errstate(over="ignore"):  # too large for the type becomes infinite, which is rejected by name
            rows = check(X, **options)
            if rows.dtype.kind == "O":  # categories of a data frame stay objects
                rows = rows.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith(_COMPLEX):  # scikit-learn's message prints the matrix
            raise ValueError(
                f"{_COMPLEX}: {name} holds complex numbers; give their real and imaginary parts as columns"
            ) from None
        _name_what_is_no_number(given, name, error)
        raise
    if rows.dtype.kind not in "biuf":
        raise TypeError(f"{name} holds {rows.dtype}, but must hold numbers: convert it to them")
    if record_names is not None:
        record_names(given, skip_check_array=True)
    if check_values and metric != "precomputed" and not allow_infinite:
        reject_nonfinite(
            rows, metric, name, allow_missing=allow_missing, column_names=names, role=role, threads=threads
        )
    if max(rows.shape if sparse.issparse(rows) else rows.shape[:1]) > _MAX_ROWS:
        raise ValueError(
            f"{name} has shape {rows.shape}, but rows and columns are numbered up to {_MAX_ROWS}"
        )
    if not rows.dtype.isnative:
        rows = rows.astype(rows.dtype.newbyteorder("="))
    rows = narrowed(rows, name)
    if rows.dtype == bool and not sparse.issparse(rows):
        rows = rows.view(np.uint8)
    return rows


def column_parameters(
    X: Any, metric: str | Callable[..., float], parameters: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The parameters of a canonical metric for X, in which columns are numbers instead of names.

    Only "gower" has such parameters. Columns of text in X are added to its ``categorical``.
    """
    if metric != "gower" or not isinstance(
        parameters, Mapping | None
    ):  # wrong ones are rejected by the search
        return parameters
    return mixed_parameters(X, parameters)


def _allowed_values(metric: str | Callable[..., float], finite: bool | str) -> tuple[bool, bool]:
    """Whether values may be missing, and whether they may be infinite."""
    if not isinstance(finite, bool | np.bool_ | str):
        raise WrongType(
            f"ensure_all_finite is a {type(finite).__name__}, but must be True, False or 'allow-nan': labels "
            "are the second argument of fit and partial_fit, weights are given by name, sample_weight=..."
        )
    if isinstance(finite, str) and finite != "allow-nan":
        raise ValueError(f"ensure_all_finite={finite!r} must be True, False or 'allow-nan'")
    is_function = callable(metric)
    return compares_missing(metric) or (is_function and finite is not True), is_function and not finite


def reject_unsuitable_types(X: Any, name: str) -> None:
    """Reject what is no matrix of numbers: masked arrays, other shapes, dates and durations."""
    if len(getattr(X, "shape", (0, 0))) == 1 and hasattr(X, "to_frame"):  # of pandas or polars
        raise ValueError(
            f"{name} is a {type(X).__name__}, which has one dimension: use {name}.to_frame() for one column, "
            f"or {name}.to_frame().T for one row"
        )
    reject_mask(X, name)
    for column, kind in temporal_columns(X):
        place = "" if column is None else f" in column {column!r}"
        raise TypeError(
            f"{name} holds dates or durations{place} ({kind}), which have no scale: convert them to numbers, "
            "e.g. days since the first date, or drop them"
        )
    reject_other_shapes(X, name)


def reject_duplicate_names(columns: list[Any] | None, name: str) -> None:
    """Reject columns of one name; None stands for columns without names."""
    for column, count in Counter(columns or []).items():
        if count > 1:
            raise ValueError(f"{name} has {count} columns {column!r}: give each a name of its own")


def _name_what_is_no_number(X: Any, name: str, error: Exception) -> None:
    """Raise the error of a failed check anew with the column and row of the first value that is no number.

    Does nothing if every value is a number, unless all are text: the check then failed for another reason,
    which it names.
    """
    kind = TypeError if isinstance(error, TypeError) else ValueError
    for column, values in _columns_that_may_hold_text(X):
        for row, value in enumerate(values):
            if is_beyond_floats(value):
                raise beyond_floats(value, f"{name} in column {column!r}, row {row} holds ") from None
            if not _is_number_or_none(value):
                missing = type(value).__name__ == "NAType"  # of pandas, which need not be installed
                remedy = "fill missing values or drop their rows" if missing else "convert or drop the column"
                remedy += f", or use metric='gower', which compares {'rows with gaps' if missing else 'text'}"
                # The words of a TypeError are those that scikit-learn's checks look for.
                reason = f" ({textwrap.shorten(str(error), _MAX_REASON)})" if kind is TypeError else ""
                place = f"{reprlib.repr(value)} in column {column!r}, row {row}"
                raise kind(f"{name} holds {place}{reason}: {remedy}") from None
    if np.asarray(X).dtype.kind in "US" and np.size(X):
        first = reprlib.repr(np.asarray(X).ravel()[0].item())
        raise kind(
            f"{name} holds text that reads as numbers, {first} in column 0, row 0: convert it, e.g. with "
            f"np.asarray({name}, dtype=float)"
        ) from None


def _is_number_or_none(value: Any) -> bool:
    """Whether NumPy converts the value to a float; None becomes NaN."""
    try:
        return value is None or isinstance(float(value), float)
    except (TypeError, ValueError):
        return False


def _columns_that_may_hold_text(X: Any) -> Iterator[tuple[Any, Iterable[Any]]]:
    """The columns of objects or text with their names, or their numbers if X is no data frame."""
    if is_frame(X):
        for column, values in frame_columns(X):
            if getattr(values.dtype, "kind", "O") not in "biuf":
                yield column, values
    elif not sparse.issparse(X):
        array = np.asarray(X)
        if array.ndim == 2 and array.dtype.kind in "OUS":
            yield from enumerate(array.T.tolist())


def reject_underflow(
    rows: Rows, metric: str | Callable[..., float], name: str = "X", is_query: bool = False
) -> None:
    """Reject float64 values that underflow float32 in a metric that the engine compares without a transform.

    Angular metrics need a large enough value in every row, others in one row. Queries are only checked in
    angular metrics, because the points set the scale of the others.
    """
    record = record_of(metric)
    if record is None or not record.is_compiled or record.is_transformed or record.presence:
        return
    if rows.dtype.kind != "f" or rows.dtype.itemsize <= 4 or (is_query and not record.angular):
        return
    if not record.angular:  # the first chunk usually settles it
        chunks = (rows[chunk] for chunk in row_chunks(rows, _CHUNK_VALUES))
        if any(row_magnitudes(chunk, _CHUNK_VALUES).max() >= _SMALLEST_MAGNITUDE for chunk in chunks):
            return
    largest = row_magnitudes(rows, _CHUNK_VALUES)
    small = np.flatnonzero((largest > 0) & (largest < _SMALLEST_MAGNITUDE))
    if len(small):
        raise ValueError(
            f"row {small[0]} of {name} is too small for float32, its largest value is {largest[small[0]]}: "
            f"divide {'the row' if record.angular else name} by it"
        )


def nonzero_mask(rows: Rows) -> Rows:
    """Rows reduced to which values are nonzero, unless the engine reads their type: uint8, sparse float32."""
    if is_engine_type(rows):
        return rows
    if not sparse.issparse(rows):
        return (rows != 0).view(np.uint8)
    return sparse.csr_matrix(((rows.data != 0).astype(np.float32), rows.indices, rows.indptr), rows.shape)


def is_engine_type(rows: Rows) -> bool:
    """Whether the engine reads rows of this type without a conversion."""
    return bool(rows.dtype == np.float32 if sparse.issparse(rows) else rows.dtype in ENGINE_TYPES)


def as_sparse_or_dense(rows: Rows, wanted_sparse: bool) -> Rows:
    """Rows as CSR or as an array, whatever they are."""
    if sparse.issparse(rows) == wanted_sparse:
        return rows
    if not wanted_sparse:
        return rows.toarray()
    dtype = np.float32 if rows.dtype.itemsize <= 2 else None  # SciPy has no sparse float16
    return sparse.csr_matrix(rows, dtype=dtype)
