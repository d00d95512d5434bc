"""Read Matrix Market files. SciPy's reader ends the process where such a file is cut off or damaged."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from actup._cli.files.formats import Source
from actup._cli.files.table import Matrix, Table
from actup._cli.reporting import InputError

_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_MIRRORED = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}
_FREE_ROWS, _MAX_ROWS_PER_BYTE = 2**20, 100  # empty rows of a sparse matrix take no bytes of its file
_MAX_LINE = 10_000  # bytes of the header's lines
_MAX_REASON = 160  # characters of another library's message


def read_mtx(source: Source) -> Table:
    """Read a matrix of the Matrix Market, usually sparse."""
    try:
        return Table(source.name, matrices={"X": Matrix(_read_matrix(source))})
    except InputError:
        raise
    except (ValueError, OverflowError, OSError) as error:
        reason = " ".join(str(error).split())[:_MAX_REASON]
        raise InputError(f"{source.name} is damaged or cut off ({reason})") from None


def _read_matrix(source: Source) -> Any:
    file_bytes = source.file.seek(0, io.SEEK_END)
    source.file.seek(0)
    words = source.file.readline(_MAX_LINE).decode("ascii", "replace").lower().split()
    if (
        len(words) != 5
        or words[:2] != ["%%matrixmarket", "matrix"]
        or words[2] not in ("coordinate", "array")
    ):
        raise ValueError(f"it begins with {' '.join(words)!r}")
    layout, field, symmetry = words[2:]
    if field not in _FIELDS or symmetry not in _MIRRORED:
        raise InputError(f"{source.name} holds {field} {symmetry} numbers, but a map needs real ones")
    shape = _read_shape(source)
    is_sparse = layout == "coordinate"
    if len(shape) != (3 if is_sparse else 2) or min(shape) < 0:
        raise ValueError(f"its line of sizes holds {shape}")
    rows, columns = shape[:2]
    numbers = shape[2] if is_sparse else rows * columns
    if numbers > file_bytes or max(rows, columns) > _FREE_ROWS + _MAX_ROWS_PER_BYTE * file_bytes:
        raise ValueError(
            f"it claims {rows} rows, {columns} columns and {numbers} numbers in {file_bytes} bytes"
        )
    kind = np.int64 if "integer" in field else np.float64
    if is_sparse:
        return _read_entries(source, (rows, columns), numbers, kind, field == "pattern", _MIRRORED[symmetry])
    if symmetry != "general":
        raise InputError(f"{source.name} is dense and {symmetry}: save all of its numbers")
    values = _read_numbers(source).reshape(-1)
    if len(values) != numbers:
        raise ValueError(f"it holds {len(values)} numbers, not {numbers}")
    return np.ascontiguousarray(values.reshape(columns, rows).T).astype(kind)


def _read_shape(source: Source) -> list[int]:
    """The numbers of the first line that is no comment."""
    line = b"%"
    while line.strip()[:1] in (b"%", b"") and line:
        line = source.file.readline(_MAX_LINE)
    return [int(word) for word in line.split()]


def _read_numbers(source: Source) -> np.ndarray:
    """The numbers of the other lines, (lines, numbers per line)."""
    text = io.TextIOWrapper(source.file, "ascii", "replace")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        numbers = np.loadtxt(text, comments="%", ndmin=2)
    text.detach()
    return numbers


def _read_entries(
    source: Source, shape: tuple[int, int], count: int, kind: type, is_pattern: bool, mirrored: int
) -> Any:
    """The entries of a sparse matrix: row and column from 1, and a value unless all are 1."""
    table = _read_numbers(source) if count else np.zeros((0, 2 if is_pattern else 3))
    if table.shape != (count, 2 if is_pattern else 3):
        raise ValueError(f"it holds {table.shape[0]} lines of {table.shape[1]} numbers, not {count} entries")
    places = table[:, :2]
    if not ((places >= 1) & (places <= shape) & (places == np.rint(places))).all():
        raise ValueError(f"an entry lies outside its {shape[0]} rows and {shape[1]} columns")
    row, column = (places.T - 1).astype(np.int64)
    values = np.ones(count) if is_pattern else table[:, 2].astype(kind)
    if mirrored:
        off = row != column
        row, column = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
        values = np.concatenate([values, mirrored * values[off]])
    return sparse.coo_matrix((values, (row, column)), shape=shape).tocsr()
