"""Memory of X: as the caller gives it, while it is read, and as the rows that are read of it."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from numbers import Integral, Number
from typing import Any

import numpy as np
from scipy import sparse

from actup._csr import ids_ascend
from actup._errors import WrongType
from actup.neighbors._tables import is_arrow_table, is_frame

_SAMPLE_ROWS = 256  # of lists and objects, whose sizes are measured
_SAMPLE_ITEMS = 4096
_ALLOCATION_BYTES = 16  # Python's objects take multiples of it
_DOK_READING_BYTES = 56  # per value, while a dictionary of keys becomes CSR: measured
# Polars makes a matrix in Fortran's order, and keeps some of its memory: from none to all, as measured.
_POLARS_KEPT_SHARE = 0.7
_SPARSE_PARTS = ("data", "indices", "indptr", "row", "col", "offsets")


@dataclass(frozen=True)
class Values:
    """The values of X: what of ``RunShape`` does not depend on the recipe.

    Attributes
    ----------
    stored : int
        How many values are stored.
    dtype : dtype
        Of the rows once they are read.
    sparse : bool
    given_bytes : int
        X as the caller gave it, unless it lies in a file.
    read_bytes : int
        What reading leaves in memory besides X: the rows, if they are a copy of X.
    reading_bytes : int
        What is in memory besides both only while X is read.
    """

    stored: int
    dtype: np.dtype
    sparse: bool
    given_bytes: int
    read_bytes: int
    reading_bytes: int = 0

    @classmethod
    def of_shape(cls, stored: int, dtype: Any = None, stored_values: int | None = None) -> Values:
        """As many values as a shape has, of which a sparse matrix stores some."""
        kind = _read_dtype(np.float32 if dtype is None else dtype)
        if stored_values is None:
            return cls(stored, kind, False, stored * kind.itemsize, 0)
        if not is_whole(stored_values):
            raise WrongType(f"stored_values={stored_values!r} must be a whole number")
        if not 0 <= stored_values <= stored:
            raise ValueError(
                f"stored_values={stored_values} must be 0 to {stored}, which is rows times columns of X"
            )
        return cls(stored_values, kind, True, stored_values * (kind.itemsize + 4), 0)

    @classmethod
    def of_data(cls, X: Any) -> tuple[int, int, Values]:
        """Rows, columns and values of what a caller gives as X."""
        X = _unwrapped(X)
        if sparse.issparse(X):
            return *X.shape, _of_sparse(X)
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
            return *X.shape, _of_array(X)
        rows, columns = _shape_of_other(X)
        if isinstance(X, np.ndarray) and X.dtype.kind == "O":
            return rows, columns, _of_objects(X)
        if isinstance(X, list | tuple):
            return rows, columns, _of_lists(X, rows, columns)
        if is_arrow_table(X):
            return rows, columns, _of_arrow(X, rows * columns)
        if is_frame(X) and hasattr(X, "memory_usage"):
            return rows, columns, _of_pandas(X, rows, columns)
        if is_frame(X) and hasattr(X, "estimated_size"):
            return rows, columns, _of_polars(X, rows, columns)
        kind = _type_of_other(X)
        # An array of dask has a size, but takes memory only once it is computed.
        given = 0 if hasattr(X, "__dask_graph__") else int(getattr(X, "nbytes", 0))
        return rows, columns, cls(rows * columns, kind, False, given, rows * columns * kind.itemsize)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and no Boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _unwrapped(X: Any) -> Any:
    """What a frame of narwhals or an array of xarray holds."""
    library = type(X).__module__.partition(".")[0]
    if library == "narwhals" and hasattr(X, "to_native"):
        return X.to_native()
    return X.data if library == "xarray" and hasattr(X, "data") else X


# --- types ---


def _read_dtype(dtype: Any) -> np.dtype:
    """The type that values of a type have once they are read."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # all of them are raised, for some descriptions of types
        kind = np.dtype(object)
    if kind.kind not in "biuf":
        raise WrongType(f"dtype={dtype!r} must be a type of numbers, such as 'float32' or 'uint8'")
    return _as_read(kind)


def _as_read(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype == np.uint64:
        return np.dtype(np.int64)
    return np.dtype(np.float64) if dtype.itemsize > 8 else dtype


def _type_of_other(X: Any) -> np.dtype:
    """The type that rows of other kinds have once they are read, such as tensors."""
    if hasattr(X, "dtype"):
        try:
            return _as_read(np.dtype(str(X.dtype).rpartition(".")[2]))
        except TypeError:
            pass
    return np.dtype(np.float64)


def _common_type(types: Iterable[np.dtype | None]) -> np.dtype:
    """The type of a matrix of columns of several types; None: no type of NumPy's numbers."""
    all_types = list(types)
    known = [dtype for dtype in all_types if dtype is not None and dtype.kind in "biuf"]
    if not known or len(known) < len(all_types):
        return np.dtype(np.float64)
    common = np.result_type(*known)
    if common.kind == "f" and all(dtype.kind in "iu" for dtype in known):
        return np.dtype(np.int64)  # of int64 and uint64
    return _as_read(common)


# --- arrays and sparse matrices ---


def _of_array(X: np.ndarray) -> Values:
    kind = _as_read(X.dtype)
    in_place = X.flags.c_contiguous and X.dtype.isnative and X.dtype.itemsize <= 8
    ordered = X.flags.c_contiguous or X.dtype.isnative  # else it is first ordered, then its bytes swapped
    read = 0 if in_place else X.size * kind.itemsize
    return Values(
        X.size, kind, False, 0 if _is_mapped(X) else X.nbytes, read, 0 if ordered or in_place else X.nbytes
    )


def _is_mapped(X: Any) -> bool:
    """Whether the values lie in a file."""
    while X is not None:
        if isinstance(X, np.memmap):
            return True
        X = getattr(X, "base", None)
    return False


def _of_sparse(X: Any) -> Values:
    stored, csr_bytes = int(X.nnz), int(X.nnz) * (X.dtype.itemsize + 4) + 4 * X.shape[0]
    if X.format == "lil":
        given = sum(part.nbytes + _bytes_of_rows(part, X.shape[0]) for part in (X.rows, X.data))
        return Values(stored, X.dtype, True, given, csr_bytes)
    if X.format == "dok":
        return Values(
            stored, X.dtype, True, _bytes_of_keys(X, stored), csr_bytes, _DOK_READING_BYTES * stored
        )
    parts = [getattr(X, name, None) for name in _SPARSE_PARTS]
    given = sum(part.nbytes for part in parts if isinstance(part, np.ndarray) and not _is_mapped(part))
    in_place = X.format == "csr" and _first_ids_ascend(X.indptr, X.indices)
    through_triplets = csr_bytes + 4 * stored if X.format == "dia" else 0
    return Values(stored, X.dtype, True, given, 0 if in_place else csr_bytes, through_triplets)


def _first_ids_ascend(offsets: Any, ids: Any) -> bool:
    """Whether the ids of the first rows ascend: reading copies a matrix whose ids do not.

    The matrix has not been checked, and memory may have run out: little is read.
    """
    for part in (offsets, ids):
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
            return True  # reading rejects it
    return not len(offsets) or ids_ascend(offsets[:_SAMPLE_ITEMS], ids[: _end_of_rows(offsets)])


def _end_of_rows(offsets: np.ndarray) -> int:
    """Where the last of the first rows ends, within the first ids."""
    return max(0, min(int(offsets[:_SAMPLE_ITEMS][-1]), _SAMPLE_ITEMS))


def _bytes_of_keys(X: Any, stored: int) -> int:
    """A dictionary from keys to values."""
    table = getattr(X, "_dict", X)
    items = list(islice(table.items(), _SAMPLE_ITEMS))
    sampled = sum(_allocated(key) for key, _ in items)
    sampled += _bytes_of_objects(list(chain.from_iterable((*key, value) for key, value in items)))
    return sys.getsizeof(table) + int(sampled * stored / max(1, len(items)))


# --- Python's objects ---


def _allocated(thing: Any) -> int:
    return -(-sys.getsizeof(thing) // _ALLOCATION_BYTES) * _ALLOCATION_BYTES


def _bytes_of_objects(values: Iterable[Any]) -> int:
    """What distinct objects take: small integers, for example, are the same objects everywhere."""
    return sum(_allocated(value) for value in {id(value): value for value in values}.values())


def _sample(rows: Sequence[Any] | np.ndarray, count: int) -> list[Any]:
    """Evenly spaced rows."""
    return [rows[i] for i in np.unique(np.linspace(0, count - 1, min(count, _SAMPLE_ROWS)).astype(int))]


def _bytes_of_rows(rows: Sequence[Any] | np.ndarray, count: int) -> int:
    """What rows of values take that are objects of their own, judged by some of them."""
    if not count:
        return 0
    sample = _sample(rows, count)
    size = sum(map(_allocated, sample))
    arrays = [row for row in sample if isinstance(row, np.ndarray)]
    size += sum(row.nbytes for row in arrays if row.base is not None)  # which Python does not count
    size += _bytes_of_objects(chain.from_iterable(row for row in sample if not isinstance(row, np.ndarray)))
    return int(size * count / len(sample))


def _of_lists(X: Sequence[Any], rows: int, columns: int) -> Values:
    kind = _common_type(map(_type_of_row, _sample(X, rows)))
    given = sys.getsizeof(X) + _bytes_of_rows(X, rows)
    return Values(rows * columns, kind, False, given, rows * columns * kind.itemsize)


def _type_of_row(row: Any) -> np.dtype | None:
    try:
        return np.asarray(row).dtype
    except (TypeError, ValueError):
        return None  # reading rejects it


def _of_objects(X: np.ndarray) -> Values:
    sample = _sample(X, len(X)) if X.size else []
    share = len(X) / max(1, len(sample))
    objects = int(share * _bytes_of_objects(chain.from_iterable(sample)))
    whole = all(is_whole(value) for value in chain.from_iterable(sample))
    # They pass through a list and an array of their numbers.
    return Values(
        X.size, np.dtype(np.int64 if whole else np.float64), False, X.nbytes + objects, 8 * X.size, 8 * X.size
    )


# --- data frames ---


def _of_pandas(X: Any, rows: int, columns: int) -> Values:
    types = [dtype if isinstance(dtype, np.dtype) else None for dtype in X.dtypes]
    kind, stored = _common_type(types), rows * columns
    texts = X.iloc[:: max(1, -(-rows // _SAMPLE_ROWS))]  # pandas takes no single rows of other byte orders
    objects = texts.memory_usage(index=False, deep=True).sum() - texts.memory_usage(index=False).sum()
    given = int(X.memory_usage(index=False).sum() + objects * rows / max(1, len(texts)))
    size = stored * kind.itemsize
    matrix = X.iloc[:2].to_numpy() if len(set(types)) == 1 and types[0] is not None else None
    if matrix is not None and np.may_share_memory(matrix, X.iloc[:2, 0].to_numpy()):  # one matrix inside
        in_order = columns == 1 or matrix.strides[1] == matrix.itemsize
        mapped = 0 if _is_mapped(matrix) else given
        return Values(stored, kind, False, mapped, 0 if in_order else size)
    # Columns become a matrix in Fortran's order, then one in C's; integers are first brought to one type.
    whole = all(dtype is not None and dtype.kind in "iu" for dtype in types)
    converted = any(dtype is None for dtype in types) or (whole and len(set(types)) > 1)
    return Values(stored, kind, False, given, size, (2 if converted else 1) * size)


def _of_polars(X: Any, rows: int, columns: int) -> Values:
    kind = _common_type(_polars_type(dtype) for dtype in X.dtypes)
    size = rows * columns * kind.itemsize
    in_order = 0 if columns > 1 else size
    kept = int(_POLARS_KEPT_SHARE * (size - in_order))
    given = int(X.estimated_size())
    return Values(rows * columns, kind, False, given, size + kept, size - in_order - kept)


def _polars_type(dtype: Any) -> np.dtype | None:
    try:
        return np.dtype(str(dtype).lower().replace("boolean", "bool"))
    except TypeError:
        return None


def _of_arrow(X: Any, stored: int) -> Values:
    types, copied = [], 0
    for column in X.columns:
        kind = _arrow_type(column)
        types.append(kind)
        in_place = column.num_chunks == 1 and not column.null_count and kind is not None and kind.kind != "b"
        copied += 0 if in_place else len(column) * (8 if kind is None else kind.itemsize)
    kind = _common_type(types)
    # Columns that are copied are freed in small pieces, which the process keeps.
    return Values(stored, kind, False, int(X.nbytes), stored * kind.itemsize + copied)


def _arrow_type(column: Any) -> np.dtype | None:
    try:
        kind = np.dtype(column.type.to_pandas_dtype())
    except (TypeError, NotImplementedError):
        return None
    if kind.kind not in "biuf":
        return None
    return np.dtype(np.float64) if column.null_count and kind.kind in "iu" else kind


# --- shapes ---


def _shape_of_other(X: Any) -> tuple[int, int]:
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, list | tuple) and len(X) and all(_is_row(row) for row in X):
        shape = len(X), len(X[0])
        different = next((i for i, row in enumerate(X) if len(row) != shape[1]), None)
        if different is not None:
            raise ValueError(
                f"X has {shape[1]} values in row 0, but {len(X[different])} in row {different}: give as many "
                "in every row"
            )
    if isinstance(X, Number) or (isinstance(X, tuple) and X and all(isinstance(x, Number) for x in X)):
        raise ValueError(
            f"X={reprlib.repr(X)} is no shape of two whole numbers: give rows and columns, e.g. (70_000, 784)"
        )
    if shape is None or len(shape) != 2:
        raise ValueError(
            f"X is a {type(X).__name__}, which has no rows and columns: give an array, a sparse matrix, a "
            "data frame, or a shape such as (70_000, 784)"
        )
    return int(shape[0]), int(shape[1])


def _is_row(row: Any) -> bool:
    """Whether an item of a list is a row of values."""
    return isinstance(row, Sequence | np.ndarray) and not isinstance(row, str | bytes)
