"""The file of a saved model: a zip archive of .npy arrays and header.json, which ``numpy.load`` opens too.

A reader trusts nothing: it takes sizes from the header only if the archive's own sizes agree, and these only
if the file is large enough for them. What Python needs for lists and records is counted against the same
limit before they are made. The bytes before an array's values must be the ones that ``_npy_header`` writes,
so that no expression of a file is ever parsed, let alone run.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from actup._whole_file import reject_special, whole_file

HEADER = "header.json"
_ARRAYS = "arrays"  # the key of the header that lists the members
_MEMBER = re.compile(r"[A-Za-z0-9_.\-]{1,200}")
_TYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
)  # fmt: skip
_MAX_DIMENSIONS = 8
_MAX_MEMBERS = 1000
_MAX_HEADER_BYTES = 2**26
_MAX_EXPANSION = 100  # bytes of memory per byte of the file
_FREE_BYTES = 2**24  # a file may always take this much memory
_HEADER_EXPANSION = 40  # bytes of Python's objects per byte of JSON, at most
_LIST_BYTES, _NUMBER_BYTES = 80, 40  # of Python's lists and tuples, and of a number and its place in one
_CHUNK_BYTES = 2**22
_NPY_ALIGNMENT = 64
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # equal models give equal files
_MAX_QUOTED = 200  # characters of another library's message
_MAX_MESSAGE = 1000  # characters; nested names of a hostile file can be long
_ZIP_MAGIC, _PICKLE_MAGIC = b"PK\x03\x04", b"\x80"

# What Python's and NumPy's readers raise for damaged input. Others would be mistakes of this package.
_DAMAGED_FILE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,  # an encrypted member, or JSON that is nested too deeply
    TypeError,
    ValueError,
)


class SavedModelError(ValueError):
    """A file that ``actup.load`` cannot make a model of: damaged, of another kind, or of a newer ActUp."""


@contextlib.contextmanager
def rejecting(path: str) -> Iterator[None]:
    """Turn every error of reading a file into a ``SavedModelError`` with its path."""
    try:
        yield
    except SavedModelError as error:
        raise SavedModelError(f"{path}: {_printable(error)[:_MAX_MESSAGE]}") from error.__cause__
    except _DAMAGED_FILE_ERRORS as error:
        reason = f"{type(error).__name__}: {_printable(error)}"[:_MAX_QUOTED]
        raise SavedModelError(
            f"{path}: the file is damaged or was changed ({reason}): copy it again, or save the model anew"
        ) from error


def _printable(error: Exception) -> str:
    """The message of an error, in which names of the file may stand, without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(error))


def type_name(dtype: np.dtype[Any]) -> str | None:
    """The name of a type in a file, always little-endian; None if a file cannot hold it."""
    name = dtype.newbyteorder("<").str
    return name if name in _TYPES else None


def nested_bytes(shape: tuple[int, ...]) -> int:
    """The memory that an array takes as lists of lists of Python's numbers, about."""
    lists = sum(math.prod(shape[:depth]) for depth in range(len(shape)))
    return _LIST_BYTES * lists + _NUMBER_BYTES * math.prod(shape)


# ---- writing ----


def write_file(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    compress: bool,
    nested: int = 0,
) -> None:
    """Write a file whole or not at all: a former file stays until the new one is complete and on the disk.

    Missing folders are created.

    Parameters
    ----------
    path : path-like
    header : mapping
        What JSON can hold; the list of arrays is added to it.
    arrays : mapping of str to ndarray
        Of types that ``type_name`` knows.
    compress : bool
        Whether to deflate the arrays.
    nested : int, default=0
        The ``nested_bytes`` of the arrays that are read as lists.
    """
    reject_special(path)
    listed = {name: [type_name(array.dtype), list(array.shape)] for name, array in arrays.items()}
    text = json.dumps({**header, _ARRAYS: listed}, allow_nan=False, indent=1).encode("ascii")
    if len(text) > _MAX_HEADER_BYTES or len(arrays) >= _MAX_MEMBERS:
        raise ValueError(
            f"{path}: the parameters take {len(text)} bytes and {len(arrays)} arrays, a file holds "
            f"{_MAX_HEADER_BYTES} bytes and {_MAX_MEMBERS - 1} arrays of them: give long lists as arrays"
        )
    Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        _write_archive(unfinished, text, arrays, compress)
        size, expanded = unfinished.stat().st_size, sum(array.nbytes for array in arrays.values())
        if expanded + nested > _expansion_limit(size) // 2:  # readers would take it for a zip bomb
            _write_archive(unfinished, text, arrays, compress=False)
    _sync_folder(Path(os.path.realpath(path)).parent)


def _write_archive(path: Path, header: bytes, arrays: Mapping[str, np.ndarray], compress: bool) -> None:
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with open(path, "wb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            with _new_member(archive, HEADER, len(header), zipfile.ZIP_STORED) as member:
                member.write(header)
            for name, array in arrays.items():
                start = _npy_header(array.dtype.newbyteorder("<").str, array.shape)
                size = len(start) + array.nbytes
                with _new_member(archive, f"{name}.npy", size, method) as member:
                    member.write(start)
                    for chunk in _byte_chunks(array):
                        member.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _new_member(archive: zipfile.ZipFile, name: str, size: int, method: int) -> IO[bytes]:
    member = zipfile.ZipInfo(name, _ZIP_DATE)
    member.compress_type, member.file_size = method, size
    return archive.open(member, "w")


def _byte_chunks(array: np.ndarray) -> Iterator[memoryview]:
    """The values of an array, little-endian, in chunks of bounded memory."""
    flat = np.ascontiguousarray(array).reshape(-1)
    step = _CHUNK_BYTES // array.dtype.itemsize
    for begin in range(0, flat.size, step):
        chunk = flat[begin : begin + step].astype(array.dtype.newbyteorder("<"), copy=False)
        yield chunk.view(np.uint8).data


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """The bytes before the values in format 1.0 of .npy; a reader compares them instead of parsing them."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {tuple(map(int, shape))!r}, }}"
    fixed = 10  # bytes of magic, version and length
    padding = -(fixed + len(text) + 1) % _NPY_ALIGNMENT
    body = text.encode("ascii") + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


def _sync_folder(folder: Path) -> None:
    """Have the new name survive a power cut, where a system can do so."""
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


# ---- reading ----


def _expansion_limit(file_bytes: int) -> int:
    return _FREE_BYTES + _MAX_EXPANSION * file_bytes


class ModelFile:
    """An open file of a saved model: its header, and each of its arrays once.

    Parameters
    ----------
    file : binary file
        Nothing is read of it but what its true size covers.

    Attributes
    ----------
    header : dict
        Without the list of arrays.
    """

    def __init__(self, file: IO[bytes]):
        mode, size = os.fstat(file.fileno()).st_mode, os.fstat(file.fileno()).st_size
        begin = file.read(len(_ZIP_MAGIC)) if stat.S_ISREG(mode) else b""
        if begin != _ZIP_MAGIC:
            kind = "empty" if not begin else f"no ActUp model (it begins with {begin!r})"
            if begin[:1] == _PICKLE_MAGIC:
                kind = "no ActUp model, but looks like a pickle, which can run code: read it with pickle or "
                kind += "joblib only if you trust its source, and save the model anew"
            raise SavedModelError(f"the file is {kind}: give a file that model.save has written")
        self._archive = zipfile.ZipFile(file)
        self._limit = self._bytes_left = _expansion_limit(size)
        self._members = self._checked_members(size)
        self.header = self._read_header()
        self._arrays = self._checked_arrays(self.header.pop(_ARRAYS, None))

    def _checked_members(self, file_bytes: int) -> dict[str, zipfile.ZipInfo]:
        """The members by name, if the file is large enough for their sizes."""
        members = self._archive.infolist()
        if len(members) > _MAX_MEMBERS:
            raise SavedModelError(f"the archive has {len(members)} members, a model at most {_MAX_MEMBERS}")
        for member in members:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SavedModelError(f"member {member.filename!r} is compressed in an unknown way")
            if member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size:
                raise SavedModelError(f"member {member.filename!r} has two sizes: the file is damaged")
        packed, expanded = (sum(getattr(m, f"{kind}_size") for m in members) for kind in ("compress", "file"))
        if packed > file_bytes or expanded > self._limit:
            raise SavedModelError(
                f"its members claim {packed} bytes, {expanded} uncompressed, but the file has {file_bytes}: "
                "it is truncated, or made to exhaust the memory"
            )
        self._bytes_left -= expanded
        by_name = {member.filename: member for member in members}
        if len(by_name) != len(members):
            raise SavedModelError("the archive has two members of one name: the file was changed")
        return by_name

    def _read_header(self) -> dict[str, Any]:
        member = self._members.pop(HEADER, None)
        if member is None:
            raise SavedModelError(
                f"the archive has no {HEADER}, so it is no ActUp model: give a file that model.save wrote"
            )
        if member.compress_type != zipfile.ZIP_STORED or member.file_size > _MAX_HEADER_BYTES:
            raise SavedModelError(f"{HEADER} is compressed or larger than {_MAX_HEADER_BYTES} bytes")
        self.claim(_HEADER_EXPANSION * member.file_size, HEADER)
        text = self._archive.read(member).decode("ascii")
        header = json.loads(text, object_pairs_hook=_distinct_keys, parse_constant=_reject_constant)
        if not isinstance(header, dict):
            raise SavedModelError(f"{HEADER} holds no object")
        return header

    def _checked_arrays(self, listed: Any) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The type and shape of each array, if its member has exactly the bytes that they need."""
        if not isinstance(listed, dict):
            raise SavedModelError(f"{HEADER} lists no arrays")
        if {f"{name}.npy" for name in listed} != set(self._members):
            raise SavedModelError(f"the arrays of the archive are not those that {HEADER} lists")
        arrays = {}
        for name, entry in listed.items():
            if not _MEMBER.fullmatch(name) or not isinstance(entry, list) or len(entry) != 2:
                raise SavedModelError(
                    f"{HEADER} lists an array {name[:_MAX_QUOTED]!r} without type and shape"
                )
            dtype, shape = entry
            if not isinstance(dtype, str) or dtype not in _TYPES:
                raise SavedModelError(f"array {name!r} has type {str(dtype)[:_MAX_QUOTED]!r}")
            if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS or not all(map(_is_length, shape)):
                raise SavedModelError(f"array {name!r} has no possible shape")
            needed = len(_npy_header(dtype, tuple(shape))) + math.prod(shape) * np.dtype(dtype).itemsize
            if needed != self._members[f"{name}.npy"].file_size:
                raise SavedModelError(
                    f"array {name!r} of type {dtype} and shape {tuple(shape)} needs {needed} bytes, but "
                    f"{self._members[f'{name}.npy'].file_size} are there"
                )
            if math.prod(length or 1 for length in shape) > self._limit:  # also if another length is 0
                raise SavedModelError(
                    f"array {name!r} has shape {tuple(shape)}, too large for a file of this size: it is "
                    "damaged, or made to exhaust the memory"
                )
            arrays[name] = np.dtype(dtype), tuple(shape)
        return arrays

    def claim(self, needed: int, where: str) -> None:
        """Count memory before it is taken; SavedModelError if the file is too small for it."""
        if needed > self._bytes_left:
            raise SavedModelError(
                f"{where} needs {needed} bytes of memory, and a file of this size may take {self._limit} in "
                "all: it is damaged, or made to exhaust the memory"
            )
        self._bytes_left -= needed

    def shape(self, name: Any) -> tuple[int, ...]:
        """The shape of an array that was not read yet."""
        self._check_name(name)
        return self._arrays[name][1]

    def array(self, name: Any) -> np.ndarray:
        """An array by name; a second use of it is rejected."""
        self._check_name(name)
        dtype, shape = self._arrays.pop(name)
        array = np.empty(shape, dtype)
        with self._archive.open(self._members[f"{name}.npy"]) as member:
            expected = _npy_header(dtype.newbyteorder("<").str, shape)
            if member.read(len(expected)) != expected:
                raise SavedModelError(f"array {name!r} has another type or shape than {HEADER} says")
            buffer = array.reshape(-1).view(np.uint8).data
            for begin in range(0, len(buffer), _CHUNK_BYTES):
                chunk = buffer[begin : begin + _CHUNK_BYTES]
                if member.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
                    raise SavedModelError(f"array {name!r} is truncated")
            if member.read(1):  # the last read compares the checksum
                raise SavedModelError(f"array {name!r} is longer than {HEADER} says")
        return array.astype(dtype.newbyteorder("="), copy=False)

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or name not in self._arrays:
            raise SavedModelError(
                f"{HEADER} uses an array {str(name)[:_MAX_QUOTED]!r} twice, or one it lacks"
            )

    def check_all_read(self) -> None:
        """Reject arrays that nothing refers to."""
        if self._arrays:
            raise SavedModelError(f"array {next(iter(self._arrays))!r} belongs to nothing in {HEADER}")


def _is_length(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise SavedModelError(f"{HEADER} has two entries of one name: the file was changed")
    return result


def _reject_constant(name: str) -> float:
    raise SavedModelError(f"{HEADER} holds {name}, which is no number of JSON")
