"""Read rows of numbers and categories for metric "gower" as one matrix of float64.

Numbers stay numbers. Text becomes a number that depends on the text alone, so that new rows need no table of
the categories of X; missing values become NaN.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from actup._errors import WrongType
from actup._values import beyond_floats, is_beyond_floats
from actup.neighbors._not_rows import reject_other_kinds
from actup.neighbors._tables import as_table, column_names, frame_columns, is_frame

_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed
# Text becomes a float64 of this sign and exponent, with 52 bits of a hash: beyond -2**900, where no data are.
_TEXT_BITS = np.uint64((1 << 63) | ((1023 + 900) << 52))
_TEXT_LIMIT = -(2.0**900)


def is_text(values: np.ndarray) -> np.ndarray:
    """Which values of a mixed matrix stand for text."""
    found: np.ndarray = values <= _TEXT_LIMIT
    return found


def mixed_parameters(X: Any, parameters: Mapping[str, Any] | None, name: str = "X") -> dict[str, Any]:
    """The parameters of "gower" with columns by their numbers: those that the caller names and those of text.

    Parameters
    ----------
    X : array-like or data frame of shape (n, columns)
    parameters : mapping or None
        ``categorical``: names or numbers of columns, or a mask; ``weights``: one number per column, or a
        mapping from columns to numbers. Others are kept, and rejected where parameters are checked.
    name : str
        What errors call X.

    Returns
    -------
    dict
        ``categorical``: ascending tuple of int; ``weights``: tuple of float, if there are any.
    """
    given = dict(parameters or {})
    is_array = hasattr(X, "dtype") and hasattr(X, "shape")  # a dask array is not computed for its columns
    X = X if is_array else as_table(X, name)
    reject_other_kinds(X, name)
    names = column_names(X)
    text = [number for number, (_, values) in enumerate(_columns(X)) if _is_categorical(values)]
    count = len(names) if names is not None else _column_count(X)
    wanted = _numbers_of(given.get("categorical"), names, count, name)
    resolved = {**given, "categorical": tuple(sorted({*text, *wanted}))}
    if isinstance(given.get("weights"), Mapping):
        weights = np.ones(count)
        for column, weight in given["weights"].items():
            weights[_number_of(column, names, count, "weights", name)] = weight
        resolved["weights"] = tuple(weights.tolist())
    return resolved


def _column_count(X: Any) -> int:
    shape = X.shape if hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    return int(shape[1]) if len(shape) == 2 else 0


def _numbers_of(columns: Any, names: list[Any] | None, count: int, name: str) -> list[int]:
    """The numbers of columns that are given by name, by number or as a mask."""
    if columns is None:
        return []
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        columns = [columns]
    columns = list(columns)
    if len(columns) == count and all(isinstance(column, bool | np.bool_) for column in columns):
        return np.flatnonzero(columns).tolist()
    return [_number_of(column, names, count, "categorical", name) for column in columns]


def _number_of(column: Any, names: list[Any] | None, count: int, parameter: str, name: str) -> int:
    if names is not None and column in names:
        return names.index(column)
    is_number = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if is_number and -count <= column < count:
        return int(column) % count
    raise ValueError(
        f"metric_kwds {parameter} has {column!r}, which is no column of {name}: give "
        f"{'names of its columns' if names is not None else f'numbers from 0 to {count - 1}'}"
    )


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """The columns of X that may hold anything but numbers, of all columns of a data frame."""
    kind = getattr(X.dtype, "kind", "f") if hasattr(X, "dtype") else "O"
    if is_frame(X):
        yield from frame_columns(X)
    elif kind in "OUS":
        rows = np.asarray(X)
        if rows.dtype.kind in "US" and not hasattr(
            X, "dtype"
        ):  # text in a list turned its numbers into text too
            rows = np.asarray(X, dtype=object)
        if rows.ndim == 2 and rows.dtype.kind in "OUS":
            yield from enumerate(rows.T)


def _is_categorical(values: Any) -> bool:
    """Whether a column holds categories: by its type, or because it holds something that is no number."""
    dtype = values.dtype
    if str(dtype).startswith(("category", "Categorical", "Enum")):
        return True
    if _is_numeric(dtype):
        return False
    return any(_number(value) is None for value in _plain(values))


def _is_numeric(dtype: Any) -> bool:
    """Whether a type of NumPy, pandas or polars holds numbers or Booleans."""
    if hasattr(dtype, "is_numeric"):  # of polars
        return bool(dtype.is_numeric() or str(dtype) == "Boolean")
    return getattr(dtype, "kind", "O") in "biuf"


def _plain(values: Any) -> Iterable[Any]:
    """The values of a column as Python objects."""
    plain: Iterable[Any] = values.to_list() if hasattr(values, "to_list") else values.tolist()
    return plain


def _number(value: Any) -> float | None:
    """A number or a missing value as a float; None for anything else."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return np.nan
    if isinstance(value, Real | np.bool_) or type(value).__name__ == "Decimal":
        if is_beyond_floats(value):
            raise beyond_floats(value, "X holds ")
        return float(value)
    return None


def read_mixed(X: Any, name: str) -> np.ndarray:
    """X as a matrix of float64 in which numbers stand for text, and NaN for what is missing.

    Parameters
    ----------
    X : array-like or data frame of shape (n, columns)
        As ``as_table`` returns it.
    name : str
        What errors call it.
    """
    if not is_frame(X):
        columns = list(_columns(X))
        if not columns:
            if np.iscomplexobj(X):
                raise ValueError(f"{name} holds complex numbers; give real and imaginary parts as columns")
            try:
                return np.asarray(X, np.float64)
            except (TypeError, ValueError):
                raise WrongType(
                    f"{name} is {type(X).__name__}, but must be a matrix or data frame of numbers and text"
                ) from None
        return np.column_stack([_read_column(column, values, name) for column, values in columns])
    rows = np.empty((len(X) if not hasattr(X, "num_rows") else X.num_rows, len(column_names(X) or ())))
    for number, (column, values) in enumerate(frame_columns(X)):
        rows[:, number] = _read_column(column, values, name)
    return rows


def _read_column(column: Any, values: Any, name: str) -> np.ndarray:
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return np.asarray(values, np.float64)
    if _is_numeric(dtype):
        if hasattr(values, "isna"):
            return np.asarray(values.to_numpy(np.float64, na_value=np.nan))
        return np.asarray(values.cast(float).to_numpy(), np.float64)
    if hasattr(values, "cat") and hasattr(values.cat, "codes"):  # of pandas: each category is read once
        codes = _codes(values.cat.categories.tolist(), column, name)
        return np.asarray(np.append(codes, np.nan)[values.cat.codes.to_numpy()])
    return _codes(_plain(values), column, name)


def _codes(values: Iterable[Any], column: Any, name: str) -> np.ndarray:
    """Numbers as they are, and a number for each text."""
    known: dict[Any, float] = {}

    def code(value: Any) -> float:
        number = _number(value)
        return _text_code(value) if number is None else number

    found = []
    for row, value in enumerate(values):
        try:
            if value not in known:
                known[value] = code(value)
            found.append(known[value])
        except TypeError:  # pd.NA and lists cannot be looked up
            if type(value).__name__ not in _MISSING_TYPES:
                raise TypeError(
                    f"{name} holds a {type(value).__name__} in column {column!r}, row {row}: give text or "
                    "numbers"
                ) from None
            found.append(np.nan)
    return np.asarray(found, np.float64)


def _text_code(value: Any) -> float:
    digest = hashlib.blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    bits = np.uint64(int.from_bytes(digest, "little") >> 12) | _TEXT_BITS
    return float(bits.view(np.float64))
