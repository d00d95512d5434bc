"""ParquetSource: rows of parquet files, read in record batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._suggestions import closest_name
from actup._threads import map_in_threads
from actup._warnings import warn_user
from actup.distributed._sources._base import Shard, ShardError, Source, range_name, reason, row_dtype
from actup.distributed._sources._storage import file_name, is_remote, open_file, version_of

_METADATA_THREADS = 16  # footers that are read at the same time: object stores take long to answer
_READ_BUFFER_BYTES = 1 << 18  # per column: pyarrow would otherwise hold whole column chunks
_IDENTIFIER = re.compile(r"(.*[_ -])?(id|ids|index|idx|row|rows)", re.IGNORECASE)


@dataclass(frozen=True)
class _File:
    """What the footer of a parquet file says about the selected columns."""

    location: str
    name: str  # what errors call it
    group_rows: tuple[int, ...]  # rows of each row group
    columns: int
    dtype: np.dtype
    id_type: str | None  # of the id column, if there is one

    @property
    def rows(self) -> int:
        return sum(self.group_rows)


@dataclass(frozen=True)
class _Selection:
    """The columns that make a row: one column of lists, or several of numbers."""

    names: tuple[str, ...]
    is_list: bool
    id_column: str | None


@dataclass(frozen=True)
class ParquetSource(Source):
    """Rows of parquet files: a column of lists of equal lengths, or named columns of numbers.

    A shard is a file, or a run of row groups of a larger file.

    Attributes
    ----------
    parquet_files : tuple of _File
    selection : _Selection
    groups : tuple of (int, int, int)
        For every shard the number of its file, and its row groups in it (begin, end).
    part_names : tuple of str
        For every shard; see ``part_name``.
    """

    parquet_files: tuple[_File, ...]
    selection: _Selection
    shards: tuple[Shard, ...]
    columns: int
    dtype: np.dtype
    groups: tuple[tuple[int, int, int], ...]
    part_names: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """The names of columns of numbers; None for a column of lists."""
        return None if self.selection.is_list else self.selection.names

    @property
    def kind(self) -> str:
        """Always ``"parquet"``."""
        return "parquet"

    @property
    def has_ids(self) -> bool:
        """Whether an id column was asked for."""
        return self.selection.id_column is not None

    @property
    def files(self) -> tuple[str, ...]:
        """Paths and URLs of all files."""
        return tuple(file.location for file in self.parquet_files)

    def part_name(self, shard: int) -> str:
        """The file's own name; runs of row groups of one file are numbered."""
        return self.part_names[shard]

    def identity(self) -> str:
        """Locations and selected columns."""
        return f"parquet:{self.selection.names}:{self.selection.id_column}:" + "|".join(self.files)

    def fingerprint(self, shard: int) -> str:
        """Size and modification time (or checksum) of the shard's file."""
        return version_of(self.parquet_files[self.groups[shard][0]].location)

    def read(self, shard: int, rows_per_chunk: int) -> Iterator[np.ndarray]:
        """Iterate over the rows of a shard; see ``Source.read``."""
        name = self.shards[shard].name
        count = 0
        for batch in self._batches(shard, list(self.selection.names), rows_per_chunk):
            if self.selection.is_list:
                rows = _rows_of_lists(batch.column(0), self.selection.names[0], self.columns, name)
            else:
                rows = _rows_of_columns(batch, self.selection.names, self.dtype, name)
            count += len(rows)
            for first in range(0, len(rows), rows_per_chunk):
                yield rows[first : first + rows_per_chunk].astype(self.dtype, order="C", copy=False)
        self._check_count(shard, count)

    def ids(self, shard: int) -> np.ndarray | None:
        """Values of the id column: numbers, or objects for text."""
        column = self.selection.id_column
        if column is None:
            return None
        name = self.shards[shard].name
        parts = []
        for batch in self._batches(shard, [column], 65_536):
            values = batch.column(0)
            if values.null_count:
                raise ShardError(name, f"id_column={column!r} has {values.null_count} nulls: fill them")
            if hasattr(values, "dictionary_decode"):
                values = values.dictionary_decode()
            parts.append(values.to_numpy(zero_copy_only=False))
        ids = np.concatenate(parts) if parts else np.empty(0, object)
        self._check_count(shard, len(ids))
        return ids

    def _batches(self, shard: int, names: list[str], batch_rows: int) -> Iterator[Any]:
        """The record batches of a shard with the columns ``names``, in this order."""
        number, begin, end = self.groups[shard]
        described = self.parquet_files[number]
        name = self.shards[shard].name
        with _reading(name), _opened(described.location) as file:
            groups = tuple(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
            if groups != described.group_rows:
                raise ShardError(name, "has changed since the source was opened: open it again")
            for batch in file.iter_batches(
                batch_rows, row_groups=list(range(begin, end)), columns=names, use_threads=False
            ):
                yield batch.select(names)

    def _check_count(self, shard: int, count: int) -> None:
        expected = self.shards[shard]
        if count != expected.rows:
            raise ShardError(
                expected.name, f"gave {count:,} rows, but its metadata says {expected.rows:,}: write it again"
            )


def parquet_source(
    locations: Sequence[str],
    part_names: Sequence[str],
    columns: str | Sequence[str] | None,
    id_column: str | None,
    shard_rows: int,
) -> ParquetSource:
    """The source of parquet files, one after the other; empty ones are skipped.

    Parameters
    ----------
    locations : sequence of str
        Paths and URLs.
    part_names : sequence of str
        Relative paths, without suffix, of the results of these files.
    columns : str, sequence of str or None
        One column of lists, or columns of numbers; None: the only column of lists, or all columns of numbers.
    id_column : str or None
    shard_rows : int
        Larger files are split at row groups.
    """
    names = _names_for_errors(locations)
    files_read = zip(locations, names, strict=True)
    footers = list(map_in_threads(lambda file: _read_footer(*file), files_read, _METADATA_THREADS))
    if not any(metadata.num_rows for metadata, _ in footers):
        raise ValueError(f"source has no rows (in {', '.join(names[:3])}): there is nothing to read")
    first = next(number for number, (metadata, _) in enumerate(footers) if metadata.num_rows)
    selection = _select(footers[first][1], names[first], columns, id_column)
    files, stems = [], []
    for location, name, stem, (metadata, schema) in zip(locations, names, part_names, footers, strict=True):
        if metadata.num_rows:
            files.append(_describe(location, name, metadata, schema, selection))
            stems.append(stem)
    for file in files:
        if file.columns != files[0].columns:
            raise ShardError(
                file.name,
                f"has lists of {file.columns} numbers in column {selection.names[0]!r}, but {files[0].name} "
                f"has {files[0].columns}: give files of one width",
            )
        if file.id_type != files[0].id_type:
            raise ShardError(
                file.name,
                f"id_column={id_column!r} holds {file.id_type}, but that of {files[0].name} holds "
                f"{files[0].id_type}: convert it, so that the map can have one column of ids",
            )
    dtype = row_dtype(np.result_type(*{file.dtype for file in files}))
    assert dtype is not None  # every file holds real numbers
    shards, groups, names_of_parts = [], [], []
    for number, file in enumerate(files):
        runs = list(_runs_of_groups(file.group_rows, shard_rows))
        for part, (begin, end) in enumerate(runs):
            before, within = sum(file.group_rows[:begin]), sum(file.group_rows[begin:end])
            shards.append(Shard(range_name(before, before + within, file.rows, file.name), within))
            groups.append((number, begin, end))
            names_of_parts.append(stems[number] if len(runs) == 1 else f"{stems[number]}-{part:05d}")
    return ParquetSource(
        tuple(files),
        selection,
        tuple(shards),
        files[0].columns,
        dtype,
        tuple(groups),
        tuple(names_of_parts),
    )


def is_number(kind: Any) -> bool:
    """Whether a type of pyarrow holds real numbers or booleans."""
    from pyarrow import types

    return any(
        test(kind) for test in (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal)
    )


def is_vector(kind: Any) -> bool:
    """Whether a type of pyarrow holds lists of numbers."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and is_number(kind.value_type))


def index_columns(schema: Any) -> set[str]:
    """The columns that hold the index of a data frame of pandas; a RangeIndex has none."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    return {name for name in noted if isinstance(name, str)}


def require_pyarrow(purpose: str) -> Any:
    """The package pyarrow; an error that says how to install it if there is none."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{purpose} needs the package pyarrow: pip install 'actup[parquet]'") from error
    return pyarrow


# ---- footers ----


@contextmanager
def _opened(location: str) -> Iterator[Any]:
    """A parquet file to read from, neither mapped nor read ahead."""
    parquet = require_pyarrow(f"reading {file_name(location)}").parquet
    options = {"memory_map": False, "pre_buffer": False, "buffer_size": _READ_BUFFER_BYTES}
    options["page_checksum_verification"] = True  # of files that have checksums
    if is_remote(location):
        with open_file(location) as raw, parquet.ParquetFile(raw, **options) as file:
            yield file
    else:
        with parquet.ParquetFile(location, **options) as file:
            yield file


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn what pyarrow and file systems raise into a ShardError."""
    pa = require_pyarrow(f"reading {name}")
    try:
        yield
    except MemoryError as error:  # Arrow's is an ArrowException too
        raise MemoryError(f"{name}: not enough memory to read it ({reason(error)})") from error
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ShardError(name, f"cannot be read ({reason(error)})") from error


def _read_footer(location: str, name: str) -> tuple[Any, Any]:
    with _reading(name), _opened(location) as file:
        return file.metadata, file.schema_arrow


def _names_for_errors(locations: Sequence[str]) -> list[str]:
    """File names, or whole locations if files in different folders have one name."""
    names = [file_name(location) for location in locations]
    return names if len(set(names)) == len(names) else list(locations)


def _select(schema: Any, name: str, columns: str | Sequence[str] | None, id_column: str | None) -> _Selection:
    """Choose the columns by the schema of the first file."""
    if id_column is not None:
        _require_column(schema, id_column, name, "id_column")
    if columns is None:
        return _select_all(schema, name, id_column)
    wanted = (columns,) if isinstance(columns, str) else tuple(columns)
    if not wanted:
        raise ValueError("columns=[] is empty: give the names of columns, or None for all columns of numbers")
    for column in wanted:
        _require_column(schema, column, name, "columns")
    vectors = [column for column in wanted if is_vector(schema.field(column).type)]
    if vectors and len(wanted) > 1:
        raise ValueError(
            f"columns={list(wanted)!r}: {vectors[0]!r} is a column of lists: give it alone, or columns of "
            "numbers"
        )
    return _Selection(wanted, bool(vectors), id_column)


def _select_all(schema: Any, name: str, id_column: str | None) -> _Selection:
    index = index_columns(schema)
    fields = [field for field in schema if field.name != id_column and field.name not in index]
    vectors = [field.name for field in fields if is_vector(field.type)]
    if len(vectors) > 1:
        raise ValueError(
            f"{name} has several columns of lists: choose one, columns={vectors[0]!r} or another "
            f"of {', '.join(map(repr, vectors))}"
        )
    numbers = tuple(field.name for field in fields if is_number(field.type))
    if not vectors:
        _warn_of_identifiers(fields)
    if not vectors and not numbers:
        kinds = ", ".join(f"{field.name!r} of {field.type}" for field in schema)
        raise ShardError(name, f"has no column of numbers or of lists of numbers (it has {kinds})")
    return _Selection(tuple(vectors) or numbers, bool(vectors), id_column)


def _warn_of_identifiers(fields: list[Any]) -> None:
    """Warn of columns of integers that by their names only identify rows."""
    import pyarrow.types as types

    for field in fields:
        if types.is_integer(field.type) and _IDENTIFIER.fullmatch(field.name):
            warn_user(
                f"column {field.name!r} seems to identify rows, and the map shows it like any other number: "
                f"give id_column={field.name!r}, or the columns to use as columns=[...]"
            )


def _require_column(schema: Any, column: str, name: str, parameter: str) -> None:
    count = schema.names.count(column)
    if count == 1:
        return
    if count:
        raise ShardError(name, f"has {count} columns {column!r}: rename them")
    close = closest_name(column, schema.names)
    known = f"did you mean {close!r}?" if close else f"it has {', '.join(map(repr, schema.names))}"
    raise ShardError(name, f"has no column {column!r} ({parameter}): {known}")


def _describe(location: str, name: str, metadata: Any, schema: Any, selection: _Selection) -> _File:
    """Check that a file has the selected columns; their width and type, from its footer."""
    id_type = None
    if selection.id_column is not None:
        _require_column(schema, selection.id_column, name, "id_column")
        id_type = _id_type(schema.field(selection.id_column).type, name, selection.id_column)
    dtypes = set()
    for column in selection.names:
        _require_column(schema, column, name, "columns")
        kind = schema.field(column).type
        fits = is_vector(kind) if selection.is_list else is_number(kind)
        if not fits:
            wanted = "lists of numbers" if selection.is_list else "numbers"
            raise ShardError(
                name, f"column {column!r} holds {kind}, not {wanted}: convert it, or choose other columns"
            )
        dtypes.add(_numpy_dtype(kind.value_type if selection.is_list else kind))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    width = len(selection.names)
    if selection.is_list:
        width = _list_width(groups, schema.field(selection.names[0]).type, selection.names[0], name)
    return _File(
        location,
        name,
        tuple(group.num_rows for group in groups),
        width,
        np.result_type(*dtypes),
        id_type,
    )


def _id_type(kind: Any, name: str, column: str) -> str:
    """The type of ids in words; text is text, however it is stored."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_nested(kind) or types.is_null(kind):
        raise ShardError(name, f"id_column={column!r} holds {kind}: choose a column of text or numbers")
    is_text = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    return "text" if is_text else str(kind)


def _numpy_dtype(kind: Any) -> np.dtype:
    from pyarrow import types

    return np.dtype(np.float64 if types.is_decimal(kind) else kind.to_pandas_dtype())


def _list_width(groups: Sequence[Any], kind: Any, column: str, name: str) -> int:
    """The length of the lists of a column, from the numbers of values that the footer gives."""
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        width = int(kind.list_size)
    else:
        counts = [(group.num_rows, _values_of(group, column)) for group in groups if group.num_rows]
        width = counts[0][1] // counts[0][0]
        if any(values != rows * width for rows, values in counts):
            raise ShardError(name, f"column {column!r} has lists of different lengths: give one length")
    if not width:
        raise ShardError(name, f"column {column!r} has lists of length 0: there are no columns")
    return width


def _values_of(group: Any, column: str) -> int:
    chunks = (group.column(number) for number in range(group.num_columns))
    prefix = column + "."
    return next(int(chunk.num_values) for chunk in chunks if chunk.path_in_schema.startswith(prefix))


def _runs_of_groups(group_rows: Sequence[int], shard_rows: int) -> Iterator[tuple[int, int]]:
    """Runs of row groups, none empty: of at most ``shard_rows`` rows together, or one larger group."""
    begin, rows = 0, 0
    for number, more in enumerate(group_rows):
        if rows and rows + more > shard_rows and more:
            yield begin, number
            begin, rows = number, 0
        rows += more
    yield begin, len(group_rows)


# ---- rows ----


def _rows_of_columns(batch: Any, names: Sequence[str], dtype: np.dtype, shard: str) -> np.ndarray:
    rows = np.empty((batch.num_rows, len(names)), dtype)
    for number, name in enumerate(names):
        values = batch.column(number)
        _reject_nulls(values, name, shard)
        rows[:, number] = _numbers(values)
    return rows


def _rows_of_lists(lists: Any, name: str, width: int, shard: str) -> np.ndarray:
    import pyarrow.compute as compute
    from pyarrow import types

    _reject_nulls(lists, name, shard)
    if not types.is_fixed_size_list(lists.type):
        lengths = compute.list_value_length(lists)
        shortest_longest = compute.min_max(lengths)
        low, high = shortest_longest["min"].as_py(), shortest_longest["max"].as_py()
        if len(lists) and (low != width or high != width):
            other = low if low != width else high
            raise ShardError(
                shard,
                f"column {name!r} has lists of different lengths ({other} and {width}): give one length",
            )
    values = lists.flatten()
    _reject_nulls(values, name, shard)
    return _numbers(values).reshape(len(lists), width)


def _numbers(values: Any) -> np.ndarray:
    from pyarrow import float64, types

    if types.is_decimal(values.type):
        values = values.cast(float64())
    numbers: np.ndarray = values.to_numpy(zero_copy_only=False)
    return numbers


def _reject_nulls(values: Any, name: str, shard: str) -> None:
    if values.null_count:
        raise ShardError(
            shard,
            f"column {name!r} has nulls (missing values, which pandas writes for NaN): fill them, or leave "
            "out these rows or the column",
        )
