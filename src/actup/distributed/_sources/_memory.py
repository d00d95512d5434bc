"""MemorySource: rows of an array in the memory of this process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from actup.distributed._sources._base import Shard, Source, range_name, row_dtype, row_ranges

_HASHED_ROWS = 65_536  # at a time


@dataclass(frozen=True, eq=False)
class MemorySource(Source):
    """Slices of an array. It holds its data, so it is for small data and one process only."""

    array: np.ndarray
    shards: tuple[Shard, ...]
    columns: int
    dtype: np.dtype
    begins: tuple[int, ...]
    digest: str  # of all values
    id_values: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """Always ``"memory"``."""
        return "memory"

    @property
    def in_process(self) -> bool:
        """True: other processes cannot read the array."""
        return True

    @property
    def has_ids(self) -> bool:
        """Whether rows have ids."""
        return self.id_values is not None

    def identity(self) -> str:
        """Shape, type and content: an array has no other name."""
        return f"memory:{self.array.shape}:{self.array.dtype}:{self.digest}"

    def fingerprint(self, shard: int) -> str:
        """Hash of the rows of a shard."""
        begin = self.begins[shard]
        return _digest(self.array[begin : begin + self.shards[shard].rows])

    def read(self, shard: int, rows_per_chunk: int) -> Iterator[np.ndarray]:
        """Iterate over the rows of a shard; chunks may be views of the array."""
        begin = self.begins[shard]
        end = begin + self.shards[shard].rows
        for first in range(begin, end, rows_per_chunk):
            yield np.ascontiguousarray(self.array[first : min(first + rows_per_chunk, end)], self.dtype)

    def ids(self, shard: int) -> np.ndarray | None:
        """Ids of the rows of a shard."""
        if self.id_values is None:
            return None
        return self.id_values[self.begins[shard] :][: self.shards[shard].rows]


def memory_source(array: np.ndarray, shard_rows: int, id_values: np.ndarray | None = None) -> MemorySource:
    """The source of a two-dimensional array of numbers."""
    if array.ndim != 2:
        raise ValueError(f"source has shape {array.shape}: give an array with rows and columns")
    dtype = row_dtype(array.dtype)
    if dtype is None:
        raise TypeError(f"source is an array of {array.dtype}: give an array of real numbers")
    if 0 in array.shape:
        raise ValueError(f"source has shape {array.shape}: give at least one row and one column")
    ranges = row_ranges(len(array), shard_rows)
    shards = tuple(Shard(range_name(*pair, len(array), "the array"), pair[1] - pair[0]) for pair in ranges)
    begins = tuple(begin for begin, _ in ranges)
    return MemorySource(array, shards, array.shape[1], dtype, begins, _digest(array), id_values)


def _digest(rows: np.ndarray) -> str:
    """A hash of the values of rows, some of them at a time."""
    digest = hashlib.blake2b(digest_size=16)
    for begin in range(0, len(rows), _HASHED_ROWS):
        digest.update(np.ascontiguousarray(rows[begin : begin + _HASHED_ROWS]).data)
    return digest.hexdigest()
