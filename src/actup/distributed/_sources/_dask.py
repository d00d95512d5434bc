"""DaskSource: arrays and data frames of dask, whose blocks are written once by the workers that have them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from actup._array_files import save_array
from actup._suggestions import closest_name
from actup._whole_file import whole_file
from actup.distributed._sources._base import ShardError, reason, row_dtype
from actup.distributed._sources._groups import SPARSE_REMEDY
from actup.distributed._sources._npy import NpySource, RowFile, arrange, read_headers
from actup.distributed._sources._parquet import require_pyarrow

_INDEX_SUFFIX = ".index.parquet"  # beside the rows of a partition: its index, and its ids
_LISTS_AS_TEXT = "dask turns lists into text unless dask.config.set({'dataframe.convert-string': False})"


@dataclass(frozen=True, eq=False)
class DaskSource:
    """An array or a data frame of dask, before its blocks are written as files.

    The caller has every block written, such as with ``client.compute``, then continues with ``stored``::

        for number, block in enumerate(source.blocks()):
            dask.delayed(source.store_block)(block, source.block_path(folder, number))

    Nothing is computed in the client, and blocks that were written already need not be written again.

    Attributes
    ----------
    collection : dask.array.Array or dask.dataframe.DataFrame
        With the selected columns only; those of an array in one chunk.
    kind : str
        ``"dask.array"`` or ``"dask.dataframe"``.
    store_block : callable
        ``store_block(block, path)`` writes a computed block as a .npy file of rows, whole or not at all, and
        returns how many bytes they have. It can be pickled.
    rows, columns : int or None
        None if they are known only when the blocks are stored.
    dtype : numpy.dtype or None
        Of the rows as they are stored; None if it is known only then.
    has_ids : bool
        Whether an id column was asked for.
    """

    collection: Any
    kind: str
    store_block: Callable[[Any, str], int]
    rows: int | None
    columns: int | None
    dtype: np.dtype | None
    has_ids: bool

    @property
    def n_blocks(self) -> int:
        """Number of blocks, empty ones included."""
        return int(self.collection.npartitions)

    def identity(self) -> str:
        """The name that dask gives to the collection, which depends on how it is computed."""
        name = self.collection.name if self.kind == "dask.array" else self.collection._name
        return f"{self.kind}:{name}:{self.has_ids}"

    def blocks(self) -> list[Any]:
        """One ``dask.delayed.Delayed`` per block, in row order."""
        delayed = self.collection.to_delayed()
        return list(np.ravel(delayed)) if self.kind == "dask.array" else list(delayed)

    def bytes_of_blocks(self, numbers: Iterable[int]) -> int:
        """Bytes of blocks of an array when they are stored."""
        assert self.columns is not None and self.dtype is not None
        sizes = self.collection.chunks[0]
        return int(sum(sizes[number] for number in numbers)) * self.columns * self.dtype.itemsize

    @staticmethod
    def block_path(folder: str, number: int) -> str:
        """Where the rows of a block belong."""
        return os.path.join(folder, f"block-{number:05d}.npy")

    def stored(self, folder: str) -> StoredBlocks:
        """The source of the written files; RuntimeError if one is missing."""
        paths = [self.block_path(folder, number) for number in range(self.n_blocks)]
        missing = [number for number, path in enumerate(paths) if not os.path.exists(path)]
        if missing:
            raise RuntimeError(f"block {missing[0]} of {self.n_blocks} was not stored in {folder}")
        blocks = read_headers(paths, [_block_name(path, self.kind) for path in paths])
        is_frame = self.kind == "dask.dataframe"
        return StoredBlocks(
            *arrange(blocks, shard_rows=sys.maxsize),
            self.kind,
            self.identity(),
            tuple(blocks),
            self.has_ids,
            self.collection._meta.index[:0] if is_frame else None,
            tuple(self.collection.divisions) if is_frame and self.collection.known_divisions else None,
        )


@dataclass(frozen=True, eq=False)
class StoredBlocks(NpySource):
    """Blocks of a collection of dask, written as .npy files; every block that has rows is a shard.

    Attributes
    ----------
    collection_kind : str
        ``"dask.array"`` or ``"dask.dataframe"``.
    collection_identity : str
        Of the collection.
    blocks : tuple of RowFile
        All blocks, empty ones included.
    with_ids : bool
        Whether an id column was asked for.
    meta_index : pandas.Index or None
        The empty index of a data frame.
    divisions : tuple or None
        Of a data frame, if they are known.
    """

    collection_kind: str
    collection_identity: str
    blocks: tuple[RowFile, ...]
    with_ids: bool
    meta_index: Any
    divisions: tuple[Any, ...] | None

    @property
    def kind(self) -> str:
        """Of the collection."""
        return self.collection_kind

    @property
    def has_ids(self) -> bool:
        """Whether an id column was asked for."""
        return self.with_ids

    def identity(self) -> str:
        """Of the collection."""
        return self.collection_identity

    @property
    def copy_bytes(self) -> int:
        """Bytes of all stored blocks."""
        return sum(file.end for file in self.blocks)

    def discard_copy(self, shard: int) -> None:
        """Remove the stored block of a shard: the next call computes it again."""
        Path(self.row_files[shard].location).unlink(missing_ok=True)

    def ids(self, shard: int) -> np.ndarray | None:
        """Values of the id column: numbers, or objects for text."""
        if not self.with_ids:
            return None
        frame = read_index(self.row_files[shard].location)
        return np.asarray(frame["id"])


def read_index(path: str) -> Any:
    """The index of a stored partition, as a data frame that has its ids as column ``id`` if there are any."""
    parquet = require_pyarrow("reading stored partitions").parquet
    return parquet.read_table(path.removesuffix(".npy") + _INDEX_SUFFIX, memory_map=False).to_pandas()


def is_dask_array(source: Any) -> bool:
    """Whether an object is an array of dask."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "chunks")


def is_dask_frame(source: Any) -> bool:
    """Whether an object is a data frame of dask."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "columns") and hasattr(source, "npartitions")


# ---- arrays ----


def dask_array_source(array: Any) -> DaskSource:
    """The source of an array of dask; its columns are put into one chunk when it is computed."""
    if array.ndim != 2:
        raise ValueError(f"source has shape {array.shape}: give an array with rows and columns")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError(
            "source is a dask array with unknown chunk sizes: call source.compute_chunk_sizes() first, which "
            "computes them"
        )
    if type(array._meta).__module__.partition(".")[0] in ("scipy", "sparse"):
        raise TypeError(f"source is a dask array of sparse blocks: {SPARSE_REMEDY}")
    dtype = row_dtype(array.dtype)
    if dtype is None:
        raise TypeError(f"source is a dask array of {array.dtype}: give an array of real numbers")
    if 0 in array.shape:
        raise ValueError(f"source has shape {array.shape}: give at least one row and one column")
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    store = partial(_store_array, dtype=dtype, columns=array.shape[1])
    return DaskSource(array, "dask.array", store, array.shape[0], array.shape[1], dtype, False)


def _store_array(block: Any, path: str, *, dtype: np.dtype, columns: int) -> int:
    rows = np.asarray(block)
    if rows.ndim != 2 or rows.shape[1] != columns or rows.dtype.kind not in "biuf":
        raise ShardError(
            _block_name(path, "dask.array"),
            f"is an array of shape {rows.shape} and {rows.dtype}, not of {columns} columns of numbers as the "
            "collection says",
        )
    return _save(rows.astype(dtype, copy=False), path)


# ---- data frames ----


def dask_frame_source(frame: Any, columns: str | Sequence[str] | None, id_column: str | None) -> DaskSource:
    """The source of a data frame of dask."""
    require_pyarrow("reading a data frame of dask")
    known = [str(name) for name in frame.columns]
    wanted = _chosen_columns(frame, known, columns, id_column)
    for parameter, names in (("columns", wanted), ("id_column", [id_column] if id_column else [])):
        for name in names:
            if name not in known:
                close = closest_name(name, known)
                hint = f"did you mean {close!r}?" if close else f"it has {', '.join(map(repr, known))}"
                raise ValueError(f"{parameter}: source has no column {name!r}: {hint}")
    dtypes = [_number_dtype(frame.dtypes[name]) for name in wanted]
    is_list = len(wanted) == 1 and dtypes[0] is None and _may_hold_lists(frame.dtypes[wanted[0]])
    dtype = None
    if not is_list:
        for name, kind in zip(wanted, dtypes, strict=True):
            if kind is None:
                raise ValueError(
                    f"columns: column {name!r} of source holds {frame.dtypes[name]}, not numbers: convert "
                    f"it, or choose other columns ({_LISTS_AS_TEXT})"
                )
        dtype = row_dtype(np.result_type(*(kind for kind in dtypes if kind is not None)))
    selected = list(dict.fromkeys([*wanted, *([id_column] if id_column else [])]))
    store = partial(_store_frame, names=tuple(wanted), id_column=id_column, dtype=dtype)
    width = None if is_list else len(wanted)
    return DaskSource(frame[selected], "dask.dataframe", store, None, width, dtype, id_column is not None)


def _chosen_columns(
    frame: Any, known: list[str], columns: str | Sequence[str] | None, id_column: str | None
) -> list[str]:
    if columns is not None:
        wanted = [columns] if isinstance(columns, str) else list(columns)
    else:
        wanted = [
            name for name in known if name != id_column and _number_dtype(frame.dtypes[name]) is not None
        ]
    if not wanted:
        raise ValueError(
            f"source has no columns of numbers (it has {', '.join(map(repr, known))}): give columns"
        )
    return wanted


def _number_dtype(dtype: Any) -> np.dtype | None:
    """The type of NumPy that holds the numbers of a column; None for text, dates and anything else."""
    plain = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    return plain if isinstance(plain, np.dtype) and plain.kind in "biuf" else None


def _may_hold_lists(dtype: Any) -> bool:
    return dtype == np.dtype(object) or "list" in str(dtype)


def _store_frame(
    block: Any, path: str, *, names: Sequence[str], id_column: str | None, dtype: np.dtype | None
) -> int:
    """Write the rows of a partition and, before them, its index and ids."""
    shard = _block_name(path, "dask.dataframe")
    for name in [*names, *([id_column] if id_column else [])]:
        extension = not isinstance(block[name].dtype, np.dtype)
        if (extension or block[name].dtype.kind == "O") and block[name].isna().any():
            raise ShardError(
                shard, f"column {name!r} has nulls (missing values): fill them or leave them out"
            )
    if dtype is None:
        rows = _stacked(block[names[0]], names[0], shard)
    else:
        rows = np.empty((len(block), len(names)), dtype)
        for number, name in enumerate(names):
            try:
                rows[:, number] = block[name].to_numpy(dtype=dtype)
            except (TypeError, ValueError) as error:
                raise ShardError(shard, f"column {name!r} does not hold numbers ({reason(error)})") from error
    pa = require_pyarrow("storing a data frame of dask")
    side = block[[]].assign(id=block[id_column]) if id_column else block[[]]
    with whole_file(path.removesuffix(".npy") + _INDEX_SUFFIX) as unfinished:
        pa.parquet.write_table(pa.Table.from_pandas(side, preserve_index=True), unfinished)
    return _save(rows, path)


def _stacked(column: Any, name: str, shard: str) -> np.ndarray:
    """A column of lists as rows."""
    vectors = [np.asarray(values) for values in column]
    if not vectors:
        return np.empty((0, 1), np.float32)  # of no width that counts: blocks without rows are skipped
    lengths = {values.shape for values in vectors}
    if any(len(shape) != 1 for shape in lengths):
        raise ShardError(shard, f"column {name!r} does not hold lists of numbers ({_LISTS_AS_TEXT})")
    if len(lengths) > 1:
        found = ", ".join(str(shape[0]) for shape in sorted(lengths)[:3])
        raise ShardError(shard, f"column {name!r} has lists of different lengths ({found}): give one length")
    rows = np.stack(vectors)
    dtype = row_dtype(rows.dtype)
    if dtype is None or not rows.shape[1]:
        raise ShardError(shard, f"column {name!r} does not hold lists of numbers, but {rows.dtype}")
    return rows.astype(dtype, copy=False)


# ---- both ----


def _save(rows: np.ndarray, path: str) -> int:
    save_array(path, rows)
    return rows.nbytes


def _block_name(path: str, kind: str) -> str:
    """What errors call a block that is stored at a path of ``DaskSource.block_path``."""
    number = int(os.path.basename(path).removesuffix(".npy").rpartition("-")[2])
    if kind == "dask.array":
        return f"block {number} of the dask array"
    return f"partition {number} of the dask data frame"
