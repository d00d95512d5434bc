"""Chosen: which numbers of a table the map is made of, and what is shown of every row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from actup._array_files import ARRAY_FILE_ERRORS
from actup._cli.column_names import find_columns
from actup._cli.files import ReadingHints, Table, read_tables
from actup._cli.options import ReadingOptions
from actup._cli.reporting import InputError
from actup._cli.unusable_columns import reject_unusable

_MAX_COLUMNS = 10_000_000  # whose names fit into memory


@dataclass(frozen=True)
class Chosen:
    """The rows that a map is made of, and what else is known about them.

    Attributes
    ----------
    source : str
        What messages call the data.
    X : ndarray or sparse matrix of shape (n, m)
        Numbers; objects if there is text among them, for metric "gower".
    names : list of str
        What the columns of X are called.
    rows : ndarray of shape (n,), int
        Which rows of the file these are.
    labels, values, hover : dict of str to ndarray of shape (n,)
        Columns of classes, of numbers, and to show at the pointer.
    texts : ndarray of shape (n,) or None
        Text of every row, for the names of clusters.
    ids : dict of str to ndarray of shape (n,)
        The column that identifies a row, by its name; empty if there is none.
    images : ndarray of shape (n, height, width) or (n, height, width, channels), or None
        The rows as pictures.
    changes : tuple of str
        The options that have changed the numbers of the rows, as the caller wrote them, in their order.
    """

    source: str
    X: Any
    names: list[str]
    rows: np.ndarray
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    hover: dict[str, np.ndarray] = field(default_factory=dict)
    texts: np.ndarray | None = None
    ids: dict[str, np.ndarray] = field(default_factory=dict)
    images: np.ndarray | None = None
    changes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def selected(self, kept: np.ndarray) -> Chosen:
        """Some of the rows.

        Parameters
        ----------
        kept : ndarray of int
            Their numbers, ascending.
        """

        def part(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: values[kept] for name, values in columns.items()}

        return replace(
            self,
            X=self.X[kept],
            rows=self.rows[kept],
            labels=part(self.labels),
            values=part(self.values),
            hover=part(self.hover),
            texts=None if self.texts is None else self.texts[kept],
            ids=part(self.ids),
            images=None if self.images is None else self.images[kept],
        )

    def changed(self, X: Any, option: str, names: list[str] | None = None) -> Chosen:
        """The rows with other numbers, which an option has made of them, and with new names of columns."""
        names = self.names if names is None else names
        return replace(self, X=X, names=names, changes=(*self.changes, option))

    def feature_names(self) -> list[str] | None:
        """The names of the columns of X, as estimators keep them; None if there are only numbers."""
        return None if all(name.isdecimal() for name in self.names) else self.names

    def first_label(self) -> tuple[str, np.ndarray, str] | None:
        """What points are coloured by at first: its name, its values and "auto" or "values"."""
        for columns, kind in ((self.labels, "auto"), (self.values, "values")):
            for name, values in columns.items():
                return name, values, kind
        return None

    def shown_columns(self) -> dict[str, np.ndarray]:
        """All columns that are shown or written: identifiers, labels, values, hover."""
        return {**self.ids, **self.labels, **self.values, **self.hover}


def read_files(paths: list[str], options: ReadingOptions) -> Table:
    """Read files as the options say."""
    hints = ReadingHints(options.format, options.array, options.delimiter, options.header)
    return read_tables(paths, hints)


def choose(
    table: Table, options: ReadingOptions, mixed: bool = False, one_hot: list[str] | None = None
) -> Chosen:
    """Choose columns of a table as the options say.

    Parameters
    ----------
    table : Table
    options : ReadingOptions
    mixed : bool, default=False
        Whether the metric compares text and missing values ("gower").
    one_hot : list of str, default=None
        Columns of categories that become numbers; they are chosen, though they may hold text.
    """
    names = list(table.columns)

    def columns(written: list[str], option: str) -> dict[str, np.ndarray]:
        found = find_columns(written, names, option, table.source)
        return {name: table.columns[name] for name in found}

    labels: dict[str, np.ndarray] = {}
    for written in options.label:
        labels.update(_labels_of_file(written, table) or columns([written], "--label"))
    values = columns(options.values, "--values")
    for name, numbers in values.items():
        if numbers.dtype.kind not in "biufmM":
            raise InputError(f"--values {name!r} of {table.source} holds text: use --label {name}")
    hover = columns(options.hover, "--hover")
    texts = None
    if options.text is not None:
        texts = next(iter(columns([options.text], "--text").values()))
        hover.setdefault(options.text, texts)
    identifier = options.id or table.ids
    ids = {} if identifier is None else columns([identifier], "--id")
    used = {*labels, *values, *hover, *ids} - _named(table, one_hot or [], "--one-hot")
    if table.added is not None and table.added not in used | _named(table, options.exclude, "--exclude"):
        hover[table.added] = table.columns[table.added]
        used |= {table.added} - _named(table, one_hot or [], "--one-hot")
    X, feature_names = _features(table, options, used, mixed, one_hot or [])
    images = None if options.images is None else _as_images(X, options.images)
    rows = np.arange(len(table))
    return Chosen(table.source, X, feature_names, rows, labels, values, hover, texts, ids, images)


def _named(table: Table, written: list[str], option: str) -> set[str]:
    """The columns besides matrices that an option names."""
    if not table.columns or table.matrices:
        return set()
    return set(find_columns(written, list(table.columns), option, table.source))


def _as_images(X: Any, size: str) -> np.ndarray:
    """The rows as pictures of ``HEIGHTxWIDTH`` or ``HEIGHTxWIDTHxCHANNELS``."""
    sides = size.lower().split("x")
    if len(sides) not in (2, 3) or not all(side.isdecimal() for side in sides):
        raise InputError(f"--images {size!r} must be HEIGHTxWIDTH, such as 28x28, or 32x32x3")
    shape = tuple(map(int, sides))
    if not isinstance(X, np.ndarray) or X.dtype == object or math.prod(shape) != X.shape[1]:
        raise InputError(f"--images {size} needs rows of {math.prod(shape)} numbers, these have {X.shape[1]}")
    return X.reshape(len(X), *shape)


def _labels_of_file(written: str, table: Table) -> dict[str, np.ndarray] | None:
    """Labels from a file of their own, if the text is no column but the path of a file."""
    path = Path(written)
    if written in table.columns or not path.is_file():
        return None
    if path.suffix == ".npy":
        try:
            values = np.load(path, allow_pickle=False)
        except (*ARRAY_FILE_ERRORS, OSError) as error:
            raise InputError(f"--label {written}: cannot be read ({error})") from None
    else:
        other = read_tables([written], ReadingHints(header=False))
        if len(other) != len(table):
            other = read_tables([written], ReadingHints(header=True))
        if len(other.columns) != 1:
            raise InputError(f"--label {written} has {len(other.columns)} columns: give a file of one column")
        values = next(iter(other.columns.values()))
    if values.shape != (len(table),):
        raise InputError(
            f"--label {written} has shape {values.shape}, but {table.source} has {len(table)} rows"
        )
    return {path.stem: values}


def _features(
    table: Table, options: ReadingOptions, used: set[str], mixed: bool, one_hot: list[str]
) -> tuple[Any, list[str]]:
    """The columns that the map is made of, as one matrix, and their names."""
    matrix = table.matrix(options.array)
    if matrix is not None:
        _check_numbers(matrix.rows, table.source, mixed)
        names = matrix.column_names()
        if not options.columns or options.array is not None or not _are_all_in(options.columns, table):
            kept = _without(names, options, table.source, default=names)
            if kept == names:
                return matrix.rows, names
            return matrix.rows[:, [names.index(name) for name in kept]], kept
    names = list(table.columns)
    wanted = _without(names, options, table.source, default=[name for name in names if name not in used])
    if not wanted:
        raise InputError(f"{table.source} has no columns left to make a map of: see --columns and --exclude")
    categories = set(find_columns(one_hot, names, "--one-hot", table.source))
    reject_unusable(table, wanted, categories, mixed)
    arrays = [table.columns[name] for name in wanted]
    if all(array.dtype.kind in "biuf" for array in arrays):
        return np.column_stack(arrays), wanted
    X = np.empty((len(table), len(wanted)), object)
    for number, array in enumerate(arrays):
        X[:, number] = array
    return X, wanted


def _check_numbers(rows: Any, source: str, mixed: bool) -> None:
    """Reject a matrix without columns or with too many, and one of text unless the metric compares text."""
    if not rows.shape[1]:
        raise InputError(f"{source} has shape {rows.shape}: a map needs rows of at least one column")
    if rows.shape[1] > _MAX_COLUMNS:
        raise InputError(
            f"{source} has {rows.shape[1]:,} columns, but commands name each of up to {_MAX_COLUMNS:,}: save "
            "fewer, or use Python"
        )
    if rows.dtype.kind in "US" and not mixed:
        raise InputError(
            f"{source} holds text, {str(rows[0, 0])!r} in row 0, column 0: save an array of numbers, or "
            "compare text with --metric gower"
        )


def _are_all_in(written: list[str], table: Table) -> bool:
    """Whether everything that the caller wrote names columns besides the matrix."""
    try:
        find_columns(written, list(table.columns), "--columns", table.source)
    except InputError:
        return False
    return not all(part.isdecimal() for text in written for part in text.replace(":", ",").split(","))


def _without(names: list[str], options: ReadingOptions, source: str, default: list[str]) -> list[str]:
    chosen = find_columns(options.columns, names, "--columns", source) if options.columns else default
    excluded = set(find_columns(options.exclude, names, "--exclude", source))
    return [name for name in chosen if name not in excluded]
