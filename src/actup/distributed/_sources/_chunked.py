"""ChunkedSource: rows of an array that is stored in chunks, in a zarr store or an HDF5 file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from actup.distributed._sources._base import (
    Shard,
    ShardError,
    Source,
    range_name,
    reason,
    row_dtype,
    row_ranges,
)
from actup.distributed._sources._groups import read_ids


@dataclass(frozen=True, eq=False)
class ChunkedSource(Source):
    """Rows of one array of a zarr store or an HDF5 file, which may be an AnnData.

    Attributes
    ----------
    shards, columns, dtype
        See ``Source``.
    begins : tuple of int
        First row of every shard.
    path : str
        Of the array, inside the store; ``""``: the store is the array.
    row_chunk : int
        Rows that are stored together, and cannot be read apart.
    id_column : str or None
        ``"obs_names"``, a column of ``obs``, or the path of an array.
    is_anndata : bool
        Whether the array belongs to an AnnData.
    """

    shards: tuple[Shard, ...]
    columns: int
    dtype: np.dtype
    begins: tuple[int, ...]
    path: str
    row_chunk: int
    id_column: str | None
    is_anndata: bool

    @property
    def has_ids(self) -> bool:
        """Whether an id column was asked for."""
        return self.id_column is not None

    @abstractmethod
    def opened(self) -> AbstractContextManager[Any]:
        """The root of the store: a group, or the array itself if ``path`` is empty."""

    def read(self, shard: int, rows_per_chunk: int) -> Iterator[np.ndarray]:
        """Iterate over the rows of a shard; see ``Source.read``. Stored chunks are held as a whole."""
        begin = self.begins[shard]
        end = begin + self.shards[shard].rows
        slab = max(rows_per_chunk // self.row_chunk, 1) * self.row_chunk
        name = self.shards[shard].name
        with self._guarded(name) as root:
            array = root[self.path] if self.path else root
            if array.shape[0] < end or array.shape[1] != self.columns:
                raise ShardError(name, "has changed since the source was opened: open it again")
            for first in range(begin, end, slab):
                try:
                    rows = np.asarray(array[first : min(first + slab, end)])
                except Exception as error:  # codecs raise errors of many kinds
                    raise _unreadable(name, error) from error
                for start in range(0, len(rows), rows_per_chunk):
                    yield rows[start : start + rows_per_chunk].astype(self.dtype, order="C", copy=False)

    def ids(self, shard: int) -> np.ndarray | None:
        """Values of the id column: numbers, or objects for text."""
        if self.id_column is None:
            return None
        begin = self.begins[shard]
        name = self.shards[shard].name
        with self._guarded(name) as root:
            try:
                return read_ids(root, self.id_column, begin, begin + self.shards[shard].rows, name)
            except ShardError:
                raise
            except Exception as error:
                raise _unreadable(name, error) from error

    @contextmanager
    def _guarded(self, name: str) -> Iterator[Any]:
        """The root of the store; a store that cannot be opened is a ShardError."""
        with ExitStack() as stack:
            try:
                root = stack.enter_context(self.opened())
            except Exception as error:  # zarr and h5py raise errors of many kinds
                raise _unreadable(name, error) from error
            yield root


def chunk_layout(
    array: Any, name: str, row_chunk: int, shard_rows: int
) -> tuple[tuple[Shard, ...], int, np.dtype, tuple[int, ...]]:
    """Check an array and split its rows at chunks: the first four fields of a ``ChunkedSource``."""
    if len(array.shape) != 2:
        raise ShardError(name, f"has shape {array.shape}: give an array with rows and columns")
    dtype = row_dtype(np.dtype(array.dtype)) if isinstance(array.dtype, np.dtype) else None
    if dtype is None:
        raise ShardError(name, f"holds {array.dtype}: give an array of real numbers")
    rows, columns = array.shape
    if not rows or not columns:
        raise ValueError(f"source has no rows ({name} has shape {array.shape}): there is nothing to read")
    ranges = row_ranges(rows, shard_rows, row_chunk)
    shards = tuple(Shard(range_name(*pair, rows, name), pair[1] - pair[0]) for pair in ranges)
    return shards, columns, dtype, tuple(begin for begin, _ in ranges)


def _unreadable(name: str, error: Exception) -> ShardError:
    return ShardError(name, f"cannot be read ({reason(error)})")
