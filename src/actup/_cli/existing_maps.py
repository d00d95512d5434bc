"""Maps that are there already: saved models, arrays of coordinates, tables with columns of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from actup._cli.chosen import Chosen, choose
from actup._cli.files import ReadingHints, Table, read_tables
from actup._cli.files.table import Matrix
from actup._cli.options import ReadingOptions
from actup._cli.reporting import InputError, complain

MODEL_SUFFIX = ".actup"
# The columns of coordinates, as actup embed and Embedding Atlas name them.
_COORDINATES = (("x", "y"), ("projection_x", "projection_y"))
_ROW = "row"  # the column of row numbers that actup embed writes, before all others
_SAME_ROWS = ": give the --sample, --seed and --missing of the map"
_ONLY_MAP = "map"  # what a single map is called
_MAX_SCORED_COLUMNS = 3  # of a map that is measured
_MAX_SHOWN_COLUMNS = 2  # of a map that a page shows: an array with more columns is data


def is_saved_model(files: Sequence[str]) -> bool:
    """Whether the files are one saved model."""
    return len(files) == 1 and files[0].lower().endswith(MODEL_SUFFIX)


def choose_of_model(model: Any, path: str, reading: ReadingOptions) -> Chosen:
    """The rows that a model was fitted to, with labels from files; their columns are not in the model."""
    training = getattr(model, "_training", None)
    rows = model.embedding_ if training is None or training.rows is None else training.rows
    names = getattr(model, "feature_names_in_", None) if rows is not model.embedding_ else None
    matrix = Matrix(rows, None if names is None else [str(name) for name in names])
    return choose(Table(path, matrices={"X": matrix}), replace(reading, array=None, columns=[]))


@dataclass(frozen=True)
class MapFile:
    """A map in a file.

    Attributes
    ----------
    path : pathlib.Path
    places : ndarray of shape (n, n_components)
    columns : dict of str to ndarray of shape (n,)
        What the file holds besides, and columns of coordinates.
    """

    path: Path
    places: np.ndarray
    columns: dict[str, np.ndarray]

    def places_of(self, chosen: Chosen) -> np.ndarray:
        """The coordinates in the order of the rows, which the file's row numbers or identifiers tell."""
        if len(self.places) != len(chosen):
            raise InputError(
                f"{self.path} has {len(self.places)} points, but {chosen.source} has {len(chosen)} rows"
                f"{_SAME_ROWS if _ROW in self.columns else ''}"
            )
        for name, wanted in ({_ROW: chosen.rows} | chosen.ids).items():
            if name in self.columns and (name != _ROW or next(iter(self.columns)) == _ROW):
                return np.asarray(self.places[self._order(name, wanted, chosen.source)])
        return self.places

    def _order(self, name: str, wanted: np.ndarray, source: str) -> np.ndarray:
        """Which point belongs to each row."""
        given, wanted = (np.array([str(value) for value in v.tolist()]) for v in (self.columns[name], wanted))
        if np.array_equal(given, wanted):
            return np.arange(len(given))
        order, ranks = np.argsort(given), np.argsort(np.argsort(wanted))
        if len(set(wanted.tolist())) < len(wanted) or not np.array_equal(given[order][ranks], wanted):
            where = int((given != wanted).argmax())
            raise InputError(
                f"{self.path} is no map of these rows: column {name!r} has {given[where]} where {source} has "
                f"{wanted[where]}{_SAME_ROWS if name == _ROW else ''}"
            )
        return np.asarray(order[ranks])


def read_map_file(path: Path) -> MapFile:
    """The map in a file: a saved model, an array of few columns, or columns named x and y."""
    if is_saved_model([str(path)]):
        import actup

        return MapFile(path, np.asarray(actup.load(path).embedding_), {})
    table = read_tables([str(path)], ReadingHints())
    found = _named_coordinates(table)
    if found is None and len(table.matrices) == 1:
        found = _array_maps(table, _MAX_SCORED_COLUMNS).get(_ONLY_MAP)
    if found is None:
        raise InputError(f"{path} is no map: give an array of 1 to 3 columns, or columns x and y")
    return MapFile(path, found, table.columns)


def maps_of(table: Table) -> dict[str, np.ndarray]:
    """The maps that a table holds, by name, as a page shows them; none if it holds data instead."""
    found = _named_coordinates(table)
    return _array_maps(table, _MAX_SHOWN_COLUMNS) if found is None else {_ONLY_MAP: found}


def _named_coordinates(table: Table) -> np.ndarray | None:
    """The columns x and y of a table; a warning if there is a column z as well."""
    for names in _COORDINATES:
        if not all(_is_numeric(table, name) for name in names):
            continue
        third = names[0][:-1] + "z"
        if _is_numeric(table, third):
            complain(
                f"warning: the map of {table.source} is that of columns {names[0]!r} and {names[1]!r}, "
                f"without {third!r}"
            )
        return np.column_stack([table.columns[name] for name in names]).astype(np.float64)
    return None


def _is_numeric(table: Table, name: str) -> bool:
    return name in table.columns and table.columns[name].dtype.kind in "iuf"


def _array_maps(table: Table, max_columns: int) -> dict[str, np.ndarray]:
    """The arrays of a table without other columns, if all of them have few columns; else none."""
    arrays = {name: matrix.rows for name, matrix in table.matrices.items()}
    if set(table.columns) - {table.added} or not all(_is_map(rows, max_columns) for rows in arrays.values()):
        return {}
    maps = {name: np.asarray(rows, np.float64) for name, rows in arrays.items()}
    return {_ONLY_MAP: next(iter(maps.values()))} if len(maps) == 1 else maps


def _is_map(rows: Any, max_columns: int) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf" and 1 <= rows.shape[1] <= max_columns


def columns_beside(table: Table) -> dict[str, np.ndarray]:
    """The columns of a table of coordinates that say something about the points."""
    coordinates = {name for names in _COORDINATES for name in names} | {_ROW}
    return {name: values for name, values in table.columns.items() if name not in coordinates}
