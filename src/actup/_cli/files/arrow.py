"""Read tables through pyarrow: csv, tsv, parquet, arrow, feather and lines of JSON."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from actup._cli.files.errors import reading_error
from actup._cli.files.formats import Source
from actup._cli.files.table import Matrix, Table
from actup._cli.reporting import InputError, complain

_LONGEST_START = 2**16  # bytes of white space before the first JSON object
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BATCH_ROWS = 2**16  # of parquet at a time; between batches, Ctrl-C is heard
_LARGEST_BLOCK = 2**30  # bytes that pyarrow infers types from at once
_INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls the index of a data frame
_DELIMITERS = (",", ";", "\t", "|")
_BLANK = " "  # the delimiter of fields between which there is any whitespace
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?")
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")
_FIRST_LINES_BYTES = 2**20
_MAX_NAMED = 3  # columns in a warning


def read_csv(source: Source) -> Table:
    """Read fields separated by the delimiter that the first line has most of."""
    return _read_delimited(source, source.hints.delimiter or _find_delimiter(source))


def read_tsv(source: Source) -> Table:
    """Read fields separated by tabs."""
    return _read_delimited(source, source.hints.delimiter or "\t")


def read_parquet(source: Source) -> Table:
    """Read a parquet file; columns of lists of numbers become matrices."""
    _require_pyarrow(source)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # In this thread, even where the address space is unlimited: if a thread cannot be started for want of
        # memory or by a limit of threads, iter_batches never returns, and Ctrl-C is not heard.
        with parquet.ParquetFile(source.file, pre_buffer=False) as file:
            _require_room(2 * _decoded_bytes(file))  # for pyarrow's table and NumPy's columns
            batches = file.iter_batches(_BATCH_ROWS, use_threads=False)
            table = pa.Table.from_batches(batches, file.schema_arrow)
        return _as_table(table, source)
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
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
        return _as_table(feather.read_table(source.file, use_threads=_has_unlimited_address_space()), source)
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise _damaged(source, error) from None


def read_jsonl(source: Source) -> Table:
    """Read lines of JSON objects; fields that hold lists of numbers become matrices."""
    pa = _require_pyarrow(source)
    from pyarrow import json

    start = source.file.read(_LONGEST_START).removeprefix(_BYTE_ORDER_MARK).lstrip()
    source.file.seek(0)
    if start[:1] != b"{":  # pyarrow 26 crashes if the first of all values is null
        shown = start[:20].decode("utf-8", "replace")
        raise InputError(
            f"{source.name} cannot be read: it begins with {shown!r}, not with a JSON object; give one per "
            "line"
        )
    # A block must hold whole lines, and types are inferred from the first one.
    options = json.ReadOptions(block_size=_LARGEST_BLOCK, use_threads=_has_unlimited_address_space())
    try:
        return _as_table(json.read_json(_bytes_of(source), read_options=options), source)
    except (pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        raise _damaged(source, error) from None


def _require_pyarrow(source: Source) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading {source.name} needs the package pyarrow: pip install 'actup[cli]'"
        ) from None
    return pyarrow


def _has_unlimited_address_space() -> bool:
    """Whether memory alone limits pyarrow, which ends the process where it cannot start a thread."""
    try:
        import resource
    except ImportError:  # Windows
        return True
    return resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def _require_room(count: int) -> None:
    """Raise a MemoryError if a limited address space has no room for so many bytes.

    pyarrow itself ends the process if it cannot have a few bytes in places.
    """
    if not _has_unlimited_address_space():
        np.empty(max(0, count), np.uint8)


def _decoded_bytes(file: Any) -> int:
    """About how many bytes the columns of a parquet file take in memory; text counts as in the file."""
    metadata = file.metadata
    bits = 0
    for field in file.schema_arrow:
        with suppress(ValueError):  # of any length
            bits += field.type.bit_width
    groups = range(metadata.num_row_groups)
    stored = sum(metadata.row_group(group).total_byte_size for group in groups)
    return int(max(stored, metadata.num_rows * bits // 8))


def _bytes_of(source: Source) -> Any:
    """What pyarrow reads and closes: the path of a file on disk, or a copy of the bytes of any other."""
    if source.path is not None:
        return str(source.path)
    source.file.seek(0)
    return io.BytesIO(source.file.read())


# ---- csv ----


def _read_delimited(source: Source, delimiter: str) -> Table:
    pa = _require_pyarrow(source)
    from pyarrow import csv as arrow_csv

    if len(delimiter) != 1:
        raise InputError(f"--delimiter {delimiter!r} must be one character")
    if delimiter == _BLANK:
        source = _with_single_blanks(source)
    header = source.hints.header
    if header is None:
        header = _begins_with_names(source, delimiter)
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(strings_can_be_null=True)

    def read(block_size: int | None) -> Any:
        options = arrow_csv.ReadOptions(
            block_size=block_size,
            autogenerate_column_names=not header,
            use_threads=_has_unlimited_address_space(),
        )
        return arrow_csv.read_csv(
            _bytes_of(source), read_options=options, parse_options=parse, convert_options=convert
        )

    try:
        _require_room(2 * source.file.seek(0, io.SEEK_END))
        try:
            table = read(None)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            table = read(_LARGEST_BLOCK)  # types are inferred from the first block: take the whole file
    except MemoryError as error:
        raise _damaged(source, error) from None
    except pa.ArrowException as error:
        raise _damaged(source, error, _find_ragged_line(source, delimiter)) from None
    _check_encoding(table, source)
    if delimiter != ",":
        table = _read_decimal_commas(table, source)
    if not header:
        table = table.rename_columns([str(number) for number in range(table.num_columns)])
    return _as_table(table, source)


def _find_ragged_line(source: Source, delimiter: str) -> int | None:
    """The number of the first line, from 1, with more or fewer fields than the first one; None: all agree."""
    source.file.seek(0)
    text = io.TextIOWrapper(source.file, "utf-8-sig", "replace", newline="")
    records = csv.reader(text, delimiter=delimiter)
    try:
        expected = 0
        for fields in filter(None, records):
            expected = expected or len(fields)
            if len(fields) != expected:
                return records.line_num
    except csv.Error:  # such as a field that is too long
        pass
    finally:
        text.detach()
    return None


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


def _first_records(source: Source, delimiter: str) -> list[list[str]]:
    """The fields of the first lines, which are whole; blank lines are left out."""
    head = source.file.read(_FIRST_LINES_BYTES)
    source.file.seek(0)
    text = head.decode("utf-8-sig", "replace")
    records = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True):
            if record:
                records.append([field.strip() for field in record])
    except csv.Error:  # such as a field that is too long
        pass
    return records[:-1] if len(head) == _FIRST_LINES_BYTES and len(records) > 1 else records


def _with_single_blanks(source: Source) -> Source:
    """The file with one blank between two fields, and none before the first and after the last one."""
    lines = source.file.read().decode("utf-8-sig", "surrogateescape").splitlines()
    quoted = any('"' in line for line in lines)
    written = io.StringIO()
    if quoted:
        stripped = (line.replace("\t", _BLANK).strip() for line in lines)
        records = csv.reader(stripped, delimiter=_BLANK, skipinitialspace=True)
        csv.writer(written, delimiter=_BLANK, lineterminator="\n").writerows(records)
    else:
        written.writelines(_BLANK.join(line.split()) + "\n" for line in lines)
    data = written.getvalue().encode("utf-8", "surrogateescape")
    return replace(source, file=io.BytesIO(data), path=None)


def _are_separated_by_blanks(source: Source) -> bool:
    """Whether whitespace splits all of the first lines into equally many fields, most of them numbers.

    A column of text such as "B cell" is not split: most columns are numbers from the second line on.
    """
    records = [[field for field in record if field] for record in _first_records(source, _BLANK)]
    widths = {len(record) for record in records}
    if len(records) < 2 or len(widths) > 1 or widths == {1}:
        return False
    numeric = [all(map(_is_number, fields)) for fields in zip(*records[1:], strict=True)]
    return 2 * sum(numeric) > len(numeric)


def _find_delimiter(source: Source) -> str:
    """The delimiter that the first line has most of, unless commas in it are decimal commas."""
    line = _first_line(source)
    for delimiter in _DELIMITERS[1:]:
        fields = _fields(line, delimiter)
        with_comma = [field for field in fields if "," in field]
        if len(fields) > 1 and with_comma and all(map(_DECIMAL_COMMA.fullmatch, with_comma)):
            return delimiter
    if not any(delimiter in line for delimiter in _DELIMITERS) and _are_separated_by_blanks(source):
        return _BLANK
    return max(_DELIMITERS, key=line.count)


def _fields(line: str, delimiter: str) -> list[str]:
    return [field.strip().strip('"') for field in line.split(delimiter)]


def _is_number(field: str) -> bool:
    """Whether a field is a number, with a decimal point or a decimal comma."""
    if _DECIMAL_COMMA.fullmatch(field):
        return True
    try:
        float(field)
    except ValueError:
        return False
    return True


def _read_decimal_commas(table: Any, source: Source) -> Any:
    """Turn columns of text into numbers if they hold nothing but numbers with decimal commas.

    Whole numbers may be among them, decimal points may not: a column with "1.234,5" or "1.5" stays text.
    """
    from pyarrow import compute, float64, types

    either = f"^({_DECIMAL_COMMA.pattern}|{_WHOLE_NUMBER.pattern})$"
    found = []
    for number, (name, values) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not types.is_string(values.type):
            continue
        fields = compute.utf8_trim_whitespace(values)
        with_comma = compute.any(compute.match_substring(fields, ",")).as_py()
        if with_comma and compute.all(compute.match_substring_regex(fields, either)).as_py():
            points = compute.replace_substring(fields, ",", ".")
            table = table.set_column(number, name, points.cast(float64()))
            found.append(str(name))
    if found:
        names = ", ".join(map(repr, found[:_MAX_NAMED])) + (", …" if len(found) > _MAX_NAMED else "")
        complain(f"warning: the commas of {source.name} in {names} are read as decimal commas")
    return table


def _begins_with_names(source: Source, delimiter: str) -> bool:
    """Whether the first line holds names: unless it holds values as the lines below it, or numbers only.

    Numbers that count the columns are names.
    """
    fields = _fields(_first_line(source), delimiter)
    if not all(map(_is_number, fields)):
        return _are_names(source, delimiter)
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


def _are_names(source: Source, delimiter: str) -> bool:
    """Whether a first line with text holds names, though it may have numbers where the next line has some."""
    first, *others = _first_records(source, delimiter) or [[]]
    others = [record for record in others if len(record) == len(first)]
    if not others:
        return True
    numeric = [
        number for number, field in enumerate(first) if _is_number(field) and _is_number(others[0][number])
    ]
    numbers = [first[number] for number in numeric]
    if not numbers or _have_equal_steps(numbers):
        return True
    comes_again = any(
        field and number not in numeric and any(record[number] == field for record in others)
        for number, field in enumerate(first)
    )
    if comes_again or len(set(numbers)) < len(numbers):
        complain(
            f"warning: the first line of {source.name} holds values and is read as data: give --header if it "
            "holds names"
        )
        return False
    names = ", ".join(map(repr, numbers[:_MAX_NAMED])) + (", …" if len(numbers) > _MAX_NAMED else "")
    complain(
        f"warning: {source.name}: columns of numbers are called {names} by the first line: give --no-header "
        "if it is data"
    )
    return True


def _have_equal_steps(fields: list[str]) -> bool:
    """Whether numbers count something, such as columns, years or wavelengths: they are names."""
    numbers = np.array([float(field.replace(",", ".")) for field in fields])
    steps = np.diff(numbers)
    if len(numbers) <= 2:
        return numbers.tolist() in ([0, 1], [1, 2])
    return bool(steps[0] != 0 and np.allclose(steps, steps[0]))


# ---- tables of pyarrow ----


def _as_table(table: Any, source: Source) -> Table:
    table.validate(full=True)  # pyarrow's own functions read wrong offsets and codes out of bounds
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
    return np.asarray(numbers).reshape(len(lengths), lengths[0] if len(lengths) else 0)


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


def _damaged(source: Source, error: Exception, line: int | None = None) -> Exception:
    where = "" if line is None else f" at line {line}"
    return reading_error(source.name, error, f"cannot be read{where}: {{}}")
