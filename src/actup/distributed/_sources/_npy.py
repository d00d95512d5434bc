"""NpySource: rows of .npy files and of raw binary files, read with seek and readinto.

Files are never mapped into memory: mapped pages count as memory of a Dask worker, which is killed for them.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from actup._array_files import ARRAY_FILE_ERRORS
from actup._threads import map_in_threads
from actup.distributed._sources._base import (
    Shard,
    ShardError,
    Source,
    range_name,
    reason,
    row_dtype,
    row_ranges,
)
from actup.distributed._sources._storage import file_name, open_file, version_of

_METADATA_THREADS = 16  # headers that are read at the same time: object stores take long to answer


@dataclass(frozen=True)
class RowFile:
    """A file that holds a matrix of numbers without gaps.

    Attributes
    ----------
    location : str
        Path or URL.
    rows, columns : int
    dtype : numpy.dtype
        As stored.
    offset : int
        Where the first number begins, in bytes.
    by_columns : bool
        Whether the numbers of a column, and not those of a row, are stored side by side (Fortran order).
    name : str
        What errors call it.
    has_header : bool
        Whether it is a .npy file, not a raw one.
    """

    location: str
    rows: int
    columns: int
    dtype: np.dtype
    offset: int
    by_columns: bool
    name: str
    has_header: bool = True

    @property
    def end(self) -> int:
        """Where the last number ends, in bytes."""
        return self.offset + self.rows * self.columns * self.dtype.itemsize


@dataclass(frozen=True)
class NpySource(Source):
    """Rows of one or several files of numbers.

    Attributes
    ----------
    row_files : tuple of RowFile
    ranges : tuple of (int, int, int)
        For every shard the number of its file, and its rows in it (begin, end).
    """

    row_files: tuple[RowFile, ...]
    shards: tuple[Shard, ...]
    columns: int
    dtype: np.dtype
    ranges: tuple[tuple[int, int, int], ...]

    @property
    def kind(self) -> str:
        """Always ``"npy"``."""
        return "npy"

    @property
    def files(self) -> tuple[str, ...]:
        """Paths and URLs of all files."""
        return tuple(file.location for file in self.row_files)

    def identity(self) -> str:
        """Locations, and for raw files where the numbers lie."""
        places = (
            file.location
            if file.has_header
            else f"{file.location}@{file.offset}:{file.rows}x{file.columns}:{file.dtype}:{file.by_columns}"
            for file in self.row_files
        )
        return f"{self.kind}:" + "|".join(places)

    def fingerprint(self, shard: int) -> str:
        """Size and modification time (or checksum) of the shard's file."""
        return version_of(self.row_files[self.ranges[shard][0]].location)

    def read(self, shard: int, rows_per_chunk: int) -> Iterator[np.ndarray]:
        """Iterate over the rows of a shard; see ``Source.read``."""
        number, begin, end = self.ranges[shard]
        expected = self.row_files[number]
        name = self.shards[shard].name
        try:
            with open_file(expected.location) as file:
                if expected.has_header and _read_header(file, expected.location, expected.name) != expected:
                    raise ShardError(name, "has changed since the source was opened: open it again")
                for first in range(begin, end, rows_per_chunk):
                    rows = _read_rows(file, expected, first, min(first + rows_per_chunk, end))
                    yield rows.astype(self.dtype, order="C", copy=False)
        except (OSError, EOFError) as error:
            raise ShardError(name, f"cannot be read ({reason(error)})") from error


def npy_source(locations: Sequence[str], shard_rows: int) -> NpySource:
    """The source of .npy files, one after the other; empty ones are skipped."""
    names = [file_name(location) for location in locations]
    if len(set(names)) < len(names):  # in different folders
        names = list(locations)
    return source_of_row_files(read_headers(locations, names), shard_rows)


def read_headers(locations: Sequence[str], names: Sequence[str]) -> list[RowFile]:
    """What the headers of .npy files say, after a check of the files' sizes.

    Parameters
    ----------
    locations : sequence of str
        Paths and URLs.
    names : sequence of str
        What errors call the files.
    """
    files = zip(locations, names, strict=True)
    return list(map_in_threads(lambda file: _describe(*file), files, _METADATA_THREADS))


def source_of_row_files(row_files: Sequence[RowFile], shard_rows: int) -> NpySource:
    """The source of files that have been described."""
    return NpySource(*arrange(row_files, shard_rows))


def arrange(
    row_files: Sequence[RowFile], shard_rows: int
) -> tuple[tuple[RowFile, ...], tuple[Shard, ...], int, np.dtype, tuple[tuple[int, int, int], ...]]:
    """Check that files fit together, and split them into shards: the fields of a ``NpySource``."""
    kept = tuple(file for file in row_files if file.rows)
    if not kept:
        names = ", ".join(file.name for file in row_files[:3])
        raise ValueError(f"source has no rows (in {names}): there is nothing to read")
    columns = kept[0].columns
    shards, ranges = [], []
    for number, file in enumerate(kept):
        if file.columns != columns:
            raise ShardError(
                file.name,
                f"has {file.columns} columns, but {kept[0].name} has {columns}: give files of one width",
            )
        for begin, end in row_ranges(file.rows, shard_rows):
            shards.append(Shard(range_name(begin, end, file.rows, file.name), end - begin))
            ranges.append((number, begin, end))
    dtype = row_dtype(np.result_type(*{file.dtype for file in kept}))
    assert dtype is not None  # every file holds real numbers
    return kept, tuple(shards), columns, dtype, tuple(ranges)


def file_of_memmap(array: np.memmap) -> RowFile | None:
    """The file that a mapped array shows; None if the array is no gapless part of a file."""
    if array.filename is None or array.ndim != 2 or array.mode == "c" or row_dtype(array.dtype) is None:
        return None
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        return None
    # A slice keeps the offset of the array it was cut from, so the place in the file follows from addresses.
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    if not isinstance(whole.base, mmap.mmap):
        return None
    offset = whole.offset + array.ctypes.data - whole.ctypes.data
    return RowFile(
        location=str(array.filename),
        rows=array.shape[0],
        columns=array.shape[1],
        dtype=array.dtype,
        offset=offset,
        by_columns=not array.flags.c_contiguous,
        name=file_name(str(array.filename)),
        has_header=False,
    )


def _describe(location: str, name: str) -> RowFile:
    """What the header of a .npy file says, after a check of the file's size."""
    try:
        with open_file(location) as file:
            described = _read_header(file, location, name)
            size = file.seek(0, 2)
    except OSError as error:
        raise ShardError(name, f"cannot be read ({reason(error)})") from error
    if size < described.end:
        raise ShardError(
            name,
            f"is truncated: it has {size:,} bytes, but {described.rows:,} x {described.columns:,} "
            f"{described.dtype} need {described.end:,}. Write it again",
        )
    return described


def _read_header(file: IO[bytes], location: str, name: str) -> RowFile:
    try:
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, by_columns, dtype = read(file)
    except ARRAY_FILE_ERRORS as error:
        raise ShardError(name, f"is no .npy file, or a damaged one ({reason(error)})") from error
    if len(shape) < 2 or (by_columns and len(shape) > 2):
        raise ShardError(name, f"has shape {shape}: save an array with rows and columns")
    if row_dtype(dtype) is None:
        raise ShardError(name, f"holds {dtype}: save an array of real numbers")
    columns = math.prod(shape[1:])  # those of images are joined
    if not columns:
        raise ShardError(name, f"has shape {shape}: there are no columns")
    return RowFile(location, shape[0], columns, dtype, file.tell(), by_columns, name)


def _read_rows(file: IO[bytes], described: RowFile, begin: int, end: int) -> np.ndarray:
    """Rows of a file, as stored."""
    itemsize = described.dtype.itemsize
    if not described.by_columns:
        rows = np.empty((end - begin, described.columns), described.dtype)
        file.seek(described.offset + begin * described.columns * itemsize)
        _fill(file, rows)
        return rows
    columns = np.empty((described.columns, end - begin), described.dtype)
    for column in range(described.columns):
        file.seek(described.offset + (column * described.rows + begin) * itemsize)
        _fill(file, columns[column])
    return columns.T


def _fill(file: IO[bytes], array: np.ndarray) -> None:
    """Read an array's bytes; EOFError if the file ends before."""
    remaining = array.view(np.uint8).reshape(-1).data
    while len(remaining):
        count = file.readinto(remaining)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the file is truncated")
        remaining = remaining[count:]
