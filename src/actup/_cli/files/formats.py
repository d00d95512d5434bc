"""The table of file kinds: by which suffix and which first bytes each is known, and what reads it."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO

from actup._array_files import ARRAY_FILE_ERRORS
from actup._cli.files.table import Table, joined
from actup._cli.reporting import InputError

STANDARD_INPUT = "-"
_GZIP_SUFFIX = ".gz"
_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
_FORMER_EXCEL_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEAD_BYTES = 64  # as many as the magic numbers need
_SHOWN_BYTES = 12  # of a file that is not what its name says


@dataclass(frozen=True)
class ReadingHints:
    """What the caller says about files besides their names.

    Attributes
    ----------
    format : str or None
        A name of ``FORMATS``; None: by suffix, for standard input by the first bytes.
    array : str or None
        The matrix that is wanted of files that hold several.
    delimiter : str or None
        What separates the fields of csv; None: a tab for tsv, else the most frequent of the usual ones.
    header : bool or None
        Whether csv begins with names; None: unless its first line holds values,
        other than 0, 1, 2, ...
    """

    format: str | None = None
    array: str | None = None
    delimiter: str | None = None
    header: bool | None = None


@dataclass(frozen=True)
class Source:
    """An opened file.

    Attributes
    ----------
    name : str
        What messages call it.
    file : binary file
        At its beginning, seekable.
    path : pathlib.Path or None
        Where it lies, if its bytes can be read or mapped from there.
    hints : ReadingHints
    """

    name: str
    file: IO[bytes]
    path: Path | None
    hints: ReadingHints


@dataclass(frozen=True)
class Format:
    """A row of the table.

    Attributes
    ----------
    suffixes : tuple of str
    magic : tuple of bytes
        One of these is how such a file begins; empty for text, which begins with anything.
    reader : str
        ``module:function`` below this package; takes a Source and returns a Table.
    """

    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    reader: str

    def read(self, source: Source) -> Table:
        """Read an opened file."""
        module, _, function = self.reader.partition(":")
        read: Callable[[Source], Table] = getattr(import_module(f"actup._cli.files.{module}"), function)
        return read(source)


# To add a kind of file: a function that reads it, and its row here.
FORMATS = {
    "npy": Format((".npy",), (b"\x93NUMPY",), "arrays:read_npy"),
    "npz": Format((".npz",), (b"PK\x03\x04", b"PK\x05\x06"), "arrays:read_npz"),
    "mtx": Format((".mtx",), (b"%%MatrixMarket",), "market:read_mtx"),
    "parquet": Format((".parquet", ".pq"), (b"PAR1",), "arrow:read_parquet"),
    "arrow": Format(
        (".arrow", ".feather", ".ipc"), (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"), "arrow:read_arrow"
    ),
    "h5ad": Format((".h5ad",), (b"\x89HDF\r\n\x1a\n",), "cells:read_h5ad"),
    "csv": Format((".csv", ".txt"), (), "arrow:read_csv"),
    "tsv": Format((".tsv", ".tab"), (), "arrow:read_tsv"),
    "jsonl": Format((".jsonl", ".ndjson"), (), "arrow:read_jsonl"),
}


# Files that are often tried and not read: the suffixes, and what to do instead.
_EXCEL = "Excel files are not read: save the sheet as csv"
_SAVED_MODEL = "this is a saved model: see actup view and actup score; maps are made of data"
_JSON = (
    "JSON is read as lines of objects: write one object per line to a .jsonl file, such as with jq -c '.[]'"
)
_OTHER_SUFFIXES = {
    (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"): f"{_EXCEL}; if it is text, give --format csv",
    (".json",): f"{_JSON}; if it has such lines, give --format jsonl",
    (".actup",): _SAVED_MODEL,
    (".html", ".htm"): "this is a page, not data: open it in a browser",
}


def read_tables(paths: Sequence[str], hints: ReadingHints) -> Table:
    """Read files and join their rows.

    Parameters
    ----------
    paths : sequence of str
        Files; "-" is standard input.
    hints : ReadingHints

    Raises
    ------
    InputError
        If a file is damaged, of another kind than it says, or empty.
    OSError
        If a file cannot be opened.
    """
    if list(paths).count(STANDARD_INPUT) > 1:
        raise InputError("standard input (-) can be read only once")
    tables = [_read(path, hints) for path in paths]
    for table in tables:
        if not len(table):
            raise InputError(f"{table.source} has no rows")
    return joined(tables)


def _read(path: str, hints: ReadingHints) -> Table:
    if not path:
        raise InputError('"" is no file: give the name of a file, or - for standard input')
    if path == STANDARD_INPUT:
        if getattr(sys.stdin, "name", "") == os.devnull:  # what stands for a closed one
            raise InputError("standard input (-) is closed: give the name of a file")
        data = _decompressed(io.BytesIO(sys.stdin.buffer.read()), "standard input")
        _reject_other_kinds(data, "standard input")
        if not _head(data):
            raise InputError("standard input is empty")
        source = Source("standard input", data, None, hints)
        return FORMATS[_format_of_bytes(data, hints)].read(source)
    where = Path(path)
    if "://" in path and not where.exists():
        raise InputError(f"{path}: addresses are not read: download the file, and give its name")
    if where.is_dir():
        raise InputError(f"{path} is a folder: give a file")
    with open(where, "rb") as file:
        data = _decompressed(file, path)
        plain = where if data is file else None
        _reject_other_kinds(data, path)
        name = _format_of_name(where, hints)
        _check_magic(data, name, path)
        return FORMATS[name].read(Source(path, data, plain, hints))


def _decompressed(file: IO[bytes], name: str) -> IO[bytes]:
    """The file, or what is inside it if it is compressed by gzip."""
    head = _head(file)
    if head[:2] != _GZIP_MAGIC:
        if head and name.lower().endswith(_GZIP_SUFFIX):
            raise InputError(f"{name} is no gzip file, it begins with {head[:_SHOWN_BYTES]!r}: rename it")
        return file
    try:
        return io.BytesIO(gzip.decompress(file.read()))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: the gzip file is damaged or cut off ({error})") from None


def _head(file: IO[bytes]) -> bytes:
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    return head


def _format_of_name(path: Path, hints: ReadingHints) -> str:
    if hints.format is not None:
        return _known_format(hints.format)
    name = path.name.lower().removesuffix(_GZIP_SUFFIX)
    for kind, row in FORMATS.items():
        if name.endswith(row.suffixes):
            return kind
    for suffixes, remedy in _OTHER_SUFFIXES.items():
        if name.endswith(suffixes):
            raise InputError(f"{path}: {remedy}")
    raise InputError(f"{path}: the name does not say what it holds: give --format ({', '.join(FORMATS)})")


def _format_of_bytes(file: IO[bytes], hints: ReadingHints) -> str:
    if hints.format is not None:
        return _known_format(hints.format)
    head = _head(file)
    found = _magic_format(head)
    if found is not None:
        return found
    if b"\x00" in head:
        raise InputError("standard input is of no kind that ActUp knows: give --format")
    return "jsonl" if head.lstrip().startswith(b"{") else "csv"


def _reject_other_kinds(file: IO[bytes], name: str) -> None:
    """Reject Excel files and saved models, whatever their names, and JSON that is one list."""
    head = _head(file)
    members: list[str] = []
    if head.startswith(FORMATS["npz"].magic):
        with suppress(*ARRAY_FILE_ERRORS, OSError, MemoryError):  # the reader says what is wrong
            members = zipfile.ZipFile(file).namelist()
        file.seek(0)
    if head.startswith(_FORMER_EXCEL_MAGIC) or any(member.startswith("xl/") for member in members):
        raise InputError(f"{name}: {_EXCEL}")
    if "header.json" in members:
        raise InputError(f"{name}: {_SAVED_MODEL}")
    if re.match(rb"\s*\[\s*[{\[]", head):
        raise InputError(f"{name}: {_JSON}")


def _known_format(name: str) -> str:
    if name not in FORMATS:
        raise InputError(f"--format {name!r} is not one of {', '.join(FORMATS)}")
    return name


def _magic_format(head: bytes) -> str | None:
    return next((kind for kind, row in FORMATS.items() if row.magic and head.startswith(row.magic)), None)


def _check_magic(file: IO[bytes], kind: str, name: str) -> None:
    """Reject a file whose first bytes are those of another kind, or not those of its own."""
    head = _head(file)
    if not head:
        raise InputError(f"{name} is empty")
    magic = FORMATS[kind].magic
    if head.startswith(magic) if magic else _magic_format(head) is None and b"\x00" not in head:
        return
    if not magic and head.startswith(_UTF16_MARKS):
        raise InputError(
            f"{name} is encoded as UTF-16, not UTF-8: save it as UTF-8, such as with "
            f"iconv -f UTF-16 -t UTF-8 {name} > NEW_FILE"
        )
    other = _magic_format(head)
    remedy = f"it is {other}: give --format {other}" if other else f"it begins with {head[:_SHOWN_BYTES]!r}"
    raise InputError(f"{name} is no {kind} file; {remedy}")
