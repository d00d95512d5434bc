"""WorkFolder: arrays and records on disc that every worker of a run sees, each written whole or not at all.

The file of an array is that of NumPy with a checksum behind it. Arrays are read with plain reads: mapped
files would count as memory of the worker that reads them, and Dask ends workers that seem to use too much.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from actup._array_files import ARRAY_FILE_ERRORS, write_header, write_values
from actup._whole_file import whole_file

_ARRAY_SUFFIX = ".array"
_CHECKSUM_BYTES = 4  # CRC-32
_READ_BYTES = 2**22  # rows at scattered positions are read in pieces of this size
_MAX_SKIPPED_BYTES = 2**16  # bytes that are read and dropped rather than skipped by another read


class WorkFolder:
    """A folder of arrays and of records of finished tasks.

    Parameters
    ----------
    path : str or path-like
        It is created when something is first written.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    # --- arrays ---

    def write(self, name: str, array: np.ndarray) -> None:
        """Write an array."""
        self.write_parts(name, [array], len(array))

    def write_parts(self, name: str, parts: Iterable[np.ndarray], rows: int) -> None:
        """Write an array of ``rows`` rows that comes in parts, one after the other."""
        path = self._array_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as unfinished, open(unfinished, "wb") as file:
            summed = _SummedFile(file)
            written = 0
            for part in parts:
                if not written:
                    write_header(summed, (rows, *part.shape[1:]), part.dtype)
                write_values(summed, part)
                written += len(part)
            assert written == rows, f"{name} has {written} rows instead of {rows}"
            file.write(summed.checksum)

    def read(self, name: str, begin: int = 0, end: int | None = None) -> np.ndarray:
        """The rows of an array from ``begin`` to ``end``."""
        with self._open(name) as file:
            shape, dtype, start = self._read_header(file)
            last = shape[0] if end is None else end
            result = np.empty((last - begin, *shape[1:]), dtype)
            file.seek(start + begin * _row_bytes(shape, dtype))
            _read_into(file, result)
        return result

    def read_into(self, name: str, begin: int, out: np.ndarray) -> None:
        """Fill ``out``, C-contiguous and of the array's type, with the rows from ``begin`` on."""
        with self._open(name) as file:
            shape, dtype, start = self._read_header(file)
            assert out.dtype == dtype and out.flags.c_contiguous
            file.seek(start + begin * _row_bytes(shape, dtype))
            _read_into(file, out)

    def read_rows(self, name: str, positions: np.ndarray, out: np.ndarray) -> None:
        """Fill ``out`` with the rows at ascending positions."""
        with self._open(name) as file:
            shape, dtype, start = self._read_header(file)
            size = max(1, _row_bytes(shape, dtype))
            gap, longest = max(1, _MAX_SKIPPED_BYTES // size), max(1, _READ_BYTES // size)
            at = 0
            while at < len(positions):
                first = int(positions[at])
                end = int(np.searchsorted(positions, first + longest))
                jumps = np.flatnonzero(np.diff(positions[at:end]) > gap)
                end = at + int(jumps[0]) + 1 if len(jumps) else end
                piece = np.empty((int(positions[end - 1]) + 1 - first, *shape[1:]), dtype)
                file.seek(start + first * size)
                _read_into(file, piece)
                out[at:end] = piece[positions[at:end] - first]
                at = end

    def remove(self, *patterns: str) -> None:
        """Remove the arrays of these names, in which * stands for any part; those that are gone are none."""
        for pattern in patterns:
            for path in self.path.glob(f"{pattern}{_ARRAY_SUFFIX}"):
                path.unlink(missing_ok=True)

    def reject_damaged_arrays(self) -> None:
        """Reject arrays of an earlier call that are not as they were written, before anything reads them."""
        for path in sorted(self.path.rglob(f"[!.]*{_ARRAY_SUFFIX}")):  # not what killed processes left
            with open(path, "rb", buffering=0) as file:
                self._read_header(file)
                if not _has_right_checksum(file):
                    raise self._damaged(path, "its checksum differs")

    def _array_path(self, name: str) -> Path:
        return self.path / f"{name}{_ARRAY_SUFFIX}"

    def _open(self, name: str) -> Any:
        path = self._array_path(name)
        try:
            return open(path, "rb", buffering=0)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{path} is missing, although its task is done: remove the folder {self.path}, and call again"
            ) from None

    def _read_header(self, file: Any) -> tuple[tuple[int, ...], np.dtype[Any], int]:
        """Shape and type of an array, and where its values begin; a file of another size is rejected."""
        try:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            needed = math.prod(shape) * dtype.itemsize
        except ARRAY_FILE_ERRORS as error:
            raise self._damaged(file.name, str(error)) from None
        start, end = file.tell(), file.seek(0, os.SEEK_END) - _CHECKSUM_BYTES
        if end - start != needed or dtype.hasobject:
            reason = f"{end - start} bytes follow where {shape} numbers of {dtype} need {needed}"
            raise self._damaged(file.name, reason)
        file.seek(start)
        return shape, dtype, start

    def _damaged(self, path: str | Path, reason: str) -> ValueError:
        """What says that a file is damaged, and the remedy."""
        return ValueError(f"{path} is damaged ({reason}): remove the folder {self.path}, and call again")

    # --- states of a layout ---

    def write_state(self, name: str, state: dict[str, np.ndarray]) -> None:
        """Write several arrays by name into one file."""
        self.path.mkdir(parents=True, exist_ok=True)
        with whole_file(self.path / f"{name}.npz") as unfinished:
            np.savez(unfinished, **state)  # type: ignore[arg-type]

    def read_state(self, name: str) -> dict[str, np.ndarray] | None:
        """The arrays that ``write_state`` has written; None if it has not."""
        path = self.path / f"{name}.npz"
        try:
            with np.load(path, allow_pickle=False) as file:
                return dict(file)
        except FileNotFoundError:
            return None
        except ARRAY_FILE_ERRORS as error:
            raise self._damaged(path, str(error)) from error

    def remove_state(self, pattern: str) -> None:
        """Remove the states of these names, in which * stands for any part."""
        for path in self.path.glob(f"{pattern}.npz"):
            path.unlink(missing_ok=True)

    # --- records ---

    def write_record(self, name: str, record: dict[str, Any]) -> None:
        """Write a small record; it says that a task is done."""
        path = self.path / "done" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record)
        with whole_file(path) as unfinished:
            unfinished.write_text(f"{text}\n{_checksum(text)}\n")

    def record(self, name: str) -> dict[str, Any] | None:
        """The record of a task; None if it is not done."""
        path = self.path / "done" / f"{name}.json"
        try:
            text, _, checksum = path.read_bytes().decode("ascii", "replace").partition("\n")
        except FileNotFoundError:
            return None
        if checksum.strip() != _checksum(text):
            raise self._damaged(path, "its checksum differs")
        record: dict[str, Any] = json.loads(text)
        return record

    def require_record(self, name: str) -> dict[str, Any]:
        """The record of a task of an earlier stage, which must be done."""
        record = self.record(name)
        if record is None:
            raise FileNotFoundError(
                f"{self.path} has no record of {name!r}, whose results are needed: was it removed during the "
                "run? Call again"
            )
        return record

    def clear(self) -> None:
        """Remove everything but the lock: records last and at once, because a part of them would mislead."""
        for path in self.path.iterdir():
            if path.is_dir() and path.name != "done":
                shutil.rmtree(path)
            elif path.name not in ("done", "lock"):
                path.unlink()
        shutil.rmtree((self.path / "done").rename(self.path / "forgotten"))

    def forget(self, name: str) -> None:
        """Remove the record of a task, which will then be done again."""
        (self.path / "done" / f"{name}.json").unlink(missing_ok=True)


def digest(*arrays: np.ndarray) -> str:
    """A short name of the bytes of arrays, which are C-contiguous."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(array.data)
    return total.hexdigest()[:16]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _SummedFile:
    """Writes to a file and keeps a checksum of all bytes."""

    def __init__(self, file: BinaryIO):
        self._file, self._sum = file, 0

    def write(self, data: bytes | memoryview) -> int:
        self._sum = zlib.crc32(data, self._sum)
        return self._file.write(data)

    @property
    def checksum(self) -> bytes:
        return self._sum.to_bytes(_CHECKSUM_BYTES, "little")


def _has_right_checksum(file: Any) -> bool:
    """Whether the bytes of an array's file have the checksum at its end."""
    left, total, piece = file.seek(0, os.SEEK_END) - _CHECKSUM_BYTES, 0, np.empty(_READ_BYTES, np.uint8)
    file.seek(0)
    while left > 0:
        part = piece[: min(left, len(piece))]
        _read_into(file, part)
        total = zlib.crc32(part.data, total)
        left -= len(part)
    return bool(file.read(_CHECKSUM_BYTES) == total.to_bytes(_CHECKSUM_BYTES, "little"))


def _row_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize


def _read_into(file: Any, array: np.ndarray) -> None:
    """Fill an array with the bytes that follow; a read may return fewer bytes than were asked for."""
    view = memoryview(array.reshape(-1).view(np.uint8).data)
    while len(view):
        count = file.readinto(view)
        if not count:
            raise EOFError(f"{file.name} ends before its {array.nbytes} bytes")
        view = view[count:]
