"""Read tables through pyarrow: csv, tsv, parquet, arrow, feather and lines of JSON."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from actup._cli.files.formats import Source
from actup._cli.files.table import Matrix, Table
from actup._cli.reporting import InputError, complain

_LARGEST_BLOCK = 2**30  # bytes that pyarrow infers types from at once
_INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls the index of a data frame
_DELIMITERS = (",", ";", "\t")
_FIRST_LINES_BYTES = 2**16
_MAX_REASON = 160  # characters of pyarrow's message, which may quote a whole row


def read_csv(source: Source) -> Table:
    """Read fields separated by the delimiter that the first line has most of."""
    return _read_delimited(source, source.hints.delimiter or _most_frequent_delimiter(source))


def read_tsv(source: Source) -> Table:
    """Read fields separated by tabs."""
    return _read_delimited(source, source.hints.delimiter or "\t")


def read_parquet(source: Source) -> Table:
    """Read a parquet file; columns of lists of numbers become matrices."""
    _require_pyarrow(source)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return _as_table(parquet.read_table(source.file), source)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, error) from None


def read_arrow(source: Source) -> Table:
    """Read an Arrow file, an Arrow stream or a feather file."""
    pa = _require_pyarrow(source)
    from pyarrow import feather, ipc

    try:
        if source.file.read(4) == b"\xff\xff\xff\xff":
            source.file.seek(0)
            return _as_table(ipc.open_stream(source.file).read_all(), source)
        source.file.seek(0)
        return _as_table(feather.read_table(source.file), source)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, error) from None


def read_jsonl(source: Source) -> Table:
    """Read lines of JSON objects; fields that hold lists of numbers become matrices."""
    pa = _require_pyarrow(source)
    from pyarrow import json

    # A block must hold whole lines, and types are inferred from the first one.
    options = json.ReadOptions(block_size=_LARGEST_BLOCK)
    try:
        return _as_table(json.read_json(_bytes_of(source), read_options=options), source)
    except pa.ArrowException as error:
        raise _damaged(source, error) from None


def _require_pyarrow(source: Source) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading {source.name} needs the package pyarrow: pip install 'actup[cli]'"
        ) from None
    return pyarrow


def _bytes_of(source: Source) -> Any:
    """What pyarrow reads and closes: the path of a file on disk, or a copy of the bytes of any other."""
    if source.path is not None:
        return str(source.path)
    source.file.seek(0)
    return io.BytesIO(source.file.read())


# ---- csv ----


def _read_delimited(source: Source, delimiter: str) -> Table:
    pa = _require_pyarrow(source)
    from pyarrow import csv

    if len(delimiter) != 1:
        raise InputError(f"--delimiter {delimiter!r} must be one character")
    header = source.hints.header
    if header is None:
        header = _begins_with_names(source, delimiter)
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = csv.ConvertOptions(strings_can_be_null=True)

    def read(block_size: int | None) -> Any:
        options = csv.ReadOptions(block_size=block_size, autogenerate_column_names=not header)
        return csv.read_csv(
            _bytes_of(source), read_options=options, parse_options=parse, convert_options=convert
        )

    try:
        try:
            table = read(None)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            table = read(_LARGEST_BLOCK)  # types are inferred from the first block: take the whole file
    except pa.ArrowException as error:
        raise _damaged(source, error) from None
    _check_encoding(table, source)
    if not header:
        table = table.rename_columns([str(number) for number in range(table.num_columns)])
    return _as_table(table, source)


def _check_encoding(table: Any, source: Source) -> None:
    """Reject text that is not UTF-8, which pyarrow leaves as bytes."""
    from pyarrow import types

    try:
        names = [str(name) for name in table.column_names]
    except UnicodeDecodeError:
        where = "the names of its columns"
    else:
        columns = zip(names, table.columns, strict=True)
        raw = next((name for name, values in columns if types.is_binary(values.type)), None)
        if raw is None:
            return
        where = f"column {raw!r}"
    raise InputError(
        f"{source.name} is not encoded as UTF-8 ({where}): save it as UTF-8, such as with "
        f"iconv -f WINDOWS-1252 -t UTF-8 {source.path or 'FILE'} > NEW_FILE"
    )


def _first_line(source: Source) -> str:
    head = source.file.read(_FIRST_LINES_BYTES)
    source.file.seek(0)
    lines = head.decode("utf-8-sig", "replace").splitlines()
    return next((line for line in lines if line.strip()), "")


def _most_frequent_delimiter(source: Source) -> str:
    line = _first_line(source)
    return max(_DELIMITERS, key=line.count)


def _begins_with_names(source: Source, delimiter: str) -> bool:
    """Whether the first line holds names: unless it holds numbers only and does not count the columns."""
    fields = [field.strip().strip('"') for field in _first_line(source).split(delimiter)]
    try:
        for field in fields:
            float(field)
    except ValueError:
        return True
    # What pandas writes for columns without names.
    counts = len(fields) > 1 and any(
        fields == [str(first + number) for number in range(len(fields))] for first in (0, 1)
    )
    if counts:
        complain(
            f"warning: the first line of {source.name} counts the columns and is read as their names: give "
            "--no-header if it is data"
        )
    else:
        complain(
            f"warning: the first line of {source.name} holds numbers only and is read as data: give --header "
            "if it holds names"
        )
    return counts


# ---- tables of pyarrow ----


def _as_table(table: Any, source: Source) -> Table:
    names = [str(name) for name in table.column_names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{source.name} has two columns {twice!r}: rename one")
    columns: dict[str, np.ndarray] = {}
    matrices: dict[str, Matrix] = {}
    for name, values in zip(names, table.columns, strict=True):
        if _is_vector(values.type):
            matrices[name] = Matrix(_vectors(name, values, source))
        else:
            columns[name] = _values(values)
    index = next((name for name in names if name in _INDEX_NAMES and name in columns), None)
    if index is not None:
        columns = {("id" if name == index else name): values for name, values in columns.items()}
    return Table(source.name, columns, matrices, ids=None if index is None else "id")


def _is_vector(kind: Any) -> bool:
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def _vectors(name: str, values: Any, source: Source) -> np.ndarray:
    """A column of lists as a matrix, if all of them are of the same length."""
    import pyarrow.compute as compute

    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise InputError(f"{source.name}: column {name!r} has no vector in row {row}")
    lengths = compute.list_value_length(values).to_numpy()
    if len(set(lengths.tolist())) > 1:
        row = int((lengths != lengths[0]).argmax())
        raise InputError(
            f"{source.name}: column {name!r} has vectors of different lengths: {lengths[0]} in row 0, "
            f"{lengths[row]} in row {row}"
        )
    numbers = compute.list_flatten(values).to_numpy()
    return np.asarray(numbers).reshape(len(lengths), -1)


def _values(values: Any) -> np.ndarray:
    """A column as an array: nulls of numbers become NaN, of dates NaT, of anything else None."""
    from pyarrow import float64, types

    kind = values.type
    if types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if types.is_decimal(kind):
        values = values.cast(float64())
    if types.is_nested(kind) or types.is_binary(kind):
        return np.array([None if value is None else str(value) for value in values.to_pylist()], object)
    if types.is_null(kind):
        return np.full(len(values), np.nan)
    return np.asarray(values.to_numpy())


def _damaged(source: Source, error: Exception) -> InputError:
    reason = " ".join(str(error).split())
    if len(reason) > _MAX_REASON:
        reason = reason[:_MAX_REASON] + " …"
    return InputError(f"{source.name} cannot be read: {reason}")
