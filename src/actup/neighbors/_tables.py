"""Kinds of X that are neither a NumPy array nor a sparse matrix: data frames, tensors, lazy arrays.

``as_table`` rejects containers that hold more than one matrix and turns what other libraries keep in their
own memory into NumPy arrays. No library is imported unless X is one of its objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_MAX_MEMORY_SHARE = 0.8  # of the available memory, for an array that is computed only now


def as_table(X: Any, name: str) -> Any:
    """X in a form that NumPy or ``frame_columns`` can read; most X are returned as they are.

    Tensors, xarray's and dask's arrays become NumPy arrays. A frame of narwhals becomes the frame inside it,
    and one of a library other than pandas, polars and pyarrow becomes a table of pyarrow.

    Parameters
    ----------
    X : object
    name : str
        What errors call it.

    Raises
    ------
    TypeError
        If X holds several matrices (AnnData, xarray's Dataset) or has not been computed (LazyFrame).
    MemoryError
        If X is an array of dask that does not fit into the available memory.
    """
    if isinstance(X, np.ndarray | list | tuple):
        return X
    _reject_containers(X, name)
    library = type(X).__module__.partition(".")[0]
    if library == "narwhals" and hasattr(X, "to_native"):
        return as_table(X.to_native(), name)
    if library == "xarray":
        return as_table(X.data, name)
    if hasattr(X, "__dask_graph__"):
        return _computed(X, name)
    if library == "torch":
        return _of_tensor(X, name)
    if _is_foreign_frame(X) or (library == "pyarrow" and type(X).__name__ == "RecordBatch"):
        return _as_arrow_table(X, name)
    return X


def _reject_containers(X: Any, name: str) -> None:
    if hasattr(X, "obsm") and hasattr(X, "obs"):
        keys = [repr(key) for key in X.obsm]
        others = f" (here: {', '.join(keys)})" if keys else ""
        raise TypeError(
            f"{name} is an {type(X).__name__}, which holds several matrices: give one of them, "
            f"{name}.obsm['X_pca']{others} or {name}.X, or use actup.sc, which reads and writes its keys"
        )
    if hasattr(X, "data_vars"):
        raise TypeError(
            f"{name} is an xarray Dataset, which holds several arrays: give one of them, or {name}.to_array()"
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError(
            f"{name} is a LazyFrame, which has not been computed: use {name}.collect(), which reads it into "
            "memory"
        )


def _computed(X: Any, name: str) -> Any:
    """An array of dask as a NumPy array, computed once, if it fits into memory."""
    has_size = not hasattr(X, "columns") and hasattr(X, "nbytes")  # a data frame's must be computed
    size, available = X.nbytes if has_size else np.nan, available_memory()
    if np.isnan(size):
        raise TypeError(
            f"{name} is a dask {type(X).__name__} of unknown size: use {name}.compute(), which reads it into "
            "memory"
        )
    if available is not None and size > _MAX_MEMORY_SHARE * available:
        raise MemoryError(
            f"{name} is a dask array of {size / 2**30:,.1f} GiB, but {available / 2**30:,.1f} GiB of memory "
            f"are available: use a part of its rows, or {name}.astype('float32')"
        )
    return X.compute()


def available_memory() -> int | None:
    """Bytes of memory that this process may still take; None if the system does not say."""
    amounts = []
    try:
        amounts.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        with open("/proc/meminfo") as file:  # counts caches that can be freed
            lines = dict(line.split(":", 1) for line in file)
        amounts = [int(lines["MemAvailable"].split()[0]) * 1024]
        limit, used = (Path(f"/sys/fs/cgroup/memory.{what}").read_text() for what in ("max", "current"))
        amounts.append(int(limit) - int(used))
    except (AttributeError, OSError, KeyError, ValueError):
        pass
    return min(amounts, default=None)


def _of_tensor(X: Any, name: str) -> Any:
    """A tensor of torch on the host as a NumPy array, without a copy if its type allows it."""
    if X.is_cuda:
        return X
    if X.layout.__repr__() != "torch.strided":
        raise TypeError(f"{name} is a tensor of layout {X.layout}: give {name}.to_dense(), or a SciPy matrix")
    X = X.detach().cpu()
    if str(X.dtype) == "torch.bfloat16":  # NumPy has no such type, and float32 holds all its values
        X = X.float()
    return X.resolve_conj().resolve_neg().numpy()


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, or a table of pyarrow."""
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or is_arrow_table(X))


def is_arrow_table(X: Any) -> bool:
    """Whether X is a table of pyarrow."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "schema")


def _is_foreign_frame(X: Any) -> bool:
    known = type(X).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") or hasattr(X, "iloc")
    return not known and (hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__"))


def _as_arrow_table(X: Any, name: str) -> Any:
    try:
        import pyarrow
        from pyarrow import interchange
    except ImportError:
        raise TypeError(
            f"{name} is a {type(X).__name__}, which is read through pyarrow: install pyarrow, or convert "
            f"{name} to a data frame of pandas or polars, or to a NumPy array"
        ) from None
    if isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    return pyarrow.table(X) if hasattr(X, "__arrow_c_stream__") else interchange.from_dataframe(X)


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a data frame; None for anything else."""
    if not is_frame(X):
        return None
    return list(X.schema.names if is_arrow_table(X) else X.columns)


def frame_columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """The columns of a data frame with their names: series of pandas or polars, NumPy arrays of pyarrow's."""
    if is_arrow_table(X):
        for name, values in zip(X.schema.names, X.columns, strict=True):
            yield name, _arrow_values(values)
    elif hasattr(X, "items"):
        yield from X.items()
    else:
        yield from zip(X.columns, X, strict=True)


def _arrow_values(values: Any) -> np.ndarray:
    """A column of pyarrow as a NumPy array: nulls of numbers become NaN, text becomes objects."""
    import pyarrow

    if pyarrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pyarrow.types.is_decimal(values.type):
        values = values.cast(pyarrow.float64())
    if pyarrow.types.is_boolean(values.type):
        values = values.cast(pyarrow.uint8())
    return np.asarray(values)


def arrow_matrix(X: Any) -> np.ndarray:
    """A table of pyarrow as a matrix of its columns' common type; objects if there is text among them."""
    columns = [values for _, values in frame_columns(X)]
    numeric = all(values.dtype.kind in "biuf" for values in columns)
    dtype = np.result_type(*columns) if numeric and columns else np.dtype(object)
    matrix = np.empty((X.num_rows, len(columns)), dtype)
    for column, values in enumerate(columns):
        matrix[:, column] = values
    return matrix


def temporal_columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """The columns of dates or durations with their types; the name is None if X is no data frame."""
    names, types = column_names(X) or [], [] if not is_frame(X) else list(_column_types(X))
    for name, kind in [(None, getattr(X, "dtype", None)), *zip(names, types, strict=True)]:
        if getattr(kind, "kind", None) in ("m", "M") or _is_temporal(kind):
            yield name, kind


def _column_types(X: Any) -> Iterator[Any]:
    return (field.type for field in X.schema) if is_arrow_table(X) else iter(X.dtypes)


def _is_temporal(kind: Any) -> bool:
    """Whether a type of polars or pyarrow holds dates or durations."""
    if type(kind).__module__.partition(".")[0] == "pyarrow":
        import pyarrow

        return bool(pyarrow.types.is_temporal(kind))
    return bool(hasattr(kind, "is_temporal") and kind.is_temporal())
