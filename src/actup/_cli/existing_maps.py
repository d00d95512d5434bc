"""Maps that are there already: saved models, arrays of coordinates, tables with columns of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from actup._cli.chosen import Chosen, choose
from actup._cli.files import ReadingHints, Table, read_tables
from actup._cli.files.table import Matrix
from actup._cli.options import ReadingOptions
from actup._cli.reporting import InputError

_MODEL_SUFFIX = ".actup"
# The columns of coordinates, as actup embed and Embedding Atlas name them.
_COORDINATES = (("x", "y"), ("projection_x", "projection_y"))
_MAX_MAP_COLUMNS = 3  # an array with more columns is data, not a map


def is_saved_model(files: Sequence[str]) -> bool:
    """Whether the files are one saved model."""
    return len(files) == 1 and files[0].lower().endswith(_MODEL_SUFFIX)


def choose_of_model(model: Any, path: str, reading: ReadingOptions) -> Chosen:
    """The rows that a model was fitted to, with labels from files; their columns are not in the model."""
    training = getattr(model, "_training", None)
    rows = model.embedding_ if training is None or training.rows is None else training.rows
    return choose(Table(path, matrices={"X": Matrix(rows)}), replace(reading, array=None, columns=[]))


def read_map_file(path: Path) -> np.ndarray:
    """The coordinates in a file: a saved model, an array of few columns, or columns named x and y."""
    if is_saved_model([str(path)]):
        import actup

        return np.asarray(actup.load(path).embedding_)
    found = coordinates_of(read_tables([str(path)], ReadingHints()))
    if found is None:
        raise InputError(f"{path} is no map: give an array of 1 to 3 columns, or columns x and y")
    return found


def coordinates_of(table: Table) -> np.ndarray | None:
    """The map that a table holds; None if it holds data instead."""
    for names in _COORDINATES:
        if all(name in table.columns and table.columns[name].dtype.kind in "iuf" for name in names):
            return np.column_stack([table.columns[name] for name in names]).astype(np.float64)
    matrix = None if table.columns else table.matrix(None)
    if (
        matrix is not None
        and matrix.rows.shape[1] <= _MAX_MAP_COLUMNS
        and isinstance(matrix.rows, np.ndarray)
    ):
        return np.asarray(matrix.rows, np.float64)
    return None


def columns_beside(table: Table) -> dict[str, np.ndarray]:
    """The columns of a table of coordinates that say something about the points."""
    coordinates = {name for names in _COORDINATES for name in names} | {"z", "row"}
    return {name: values for name, values in table.columns.items() if name not in coordinates}
