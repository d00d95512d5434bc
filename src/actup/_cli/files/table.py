"""Table: what a file holds, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from actup._cli.reporting import InputError

# The matrix that is meant if a file holds several and the caller names none: the first of these.
_USUAL_MATRICES = ("X_pca", "X", "data", "embedding", "embeddings", "vector", "vectors")

_FILE_COLUMN = "file"  # says which of several files a row is from, unless they have such a column


@dataclass(frozen=True)
class Matrix:
    """Numbers that belong together: the rows of an array, or a column of vectors.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n, m)
    names : list of str or None
        What the m columns are called; None if they only have numbers.
    """

    rows: Any
    names: list[str] | None = None

    def column_names(self) -> list[str]:
        """The names of the columns, or their numbers."""
        return [str(number) for number in range(self.rows.shape[1])] if self.names is None else self.names


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes
    ----------
    source : str
        What messages call the file.
    columns : dict of str to ndarray of shape (n,)
        Columns by name: numbers (missing ones are NaN), Booleans, dates, or objects (text; missing ones are
        None).
    matrices : dict of str to Matrix
        Matrices of n rows by name.
    ids : str or None
        The column that identifies a row, such as the index of a data frame.
    added : str or None
        The column that the files do not have: which of several files a row is from.
    """

    source: str
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    matrices: dict[str, Matrix] = field(default_factory=dict)
    ids: str | None = None
    added: str | None = None

    def __len__(self) -> int:
        for values in self.columns.values():
            return len(values)
        for matrix in self.matrices.values():
            return int(matrix.rows.shape[0])
        return 0

    def matrix(self, name: str | None) -> Matrix | None:
        """The matrix of a name, or the one that is meant without a name; None if there is no matrix."""
        known = ", ".join(self.matrices) or "none"
        if name is not None:
            if name not in self.matrices:
                raise InputError(f"--array {name!r} is no matrix of {self.source}; it has: {known}")
            return self.matrices[name]
        if len(self.matrices) <= 1:
            return next(iter(self.matrices.values()), None)
        usual = next((usual for usual in _USUAL_MATRICES if usual in self.matrices), None)
        if usual is None:
            raise InputError(f"{self.source} holds several matrices: choose one with --array ({known})")
        return self.matrices[usual]


def joined(tables: Sequence[Table]) -> Table:
    """The rows of several tables one below the other; column "file" says which table a row is from."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for other in tables[1:]:
        for what, mine, others in (
            ("columns", first.columns, other.columns),
            ("matrices", first.matrices, other.matrices),
        ):
            if set(mine) != set(others):
                name = sorted(set(mine) ^ set(others))[0]
                raise InputError(f"{first.source} and {other.source} differ in their {what}: {name!r}")
    columns = {name: _stack_columns([table.columns[name] for table in tables]) for name in first.columns}
    matrices = {name: _stack_matrices(name, tables) for name in first.matrices}
    counts = [len(table) for table in tables]
    added = None if _FILE_COLUMN in columns else _FILE_COLUMN
    if added is not None:
        columns[added] = np.repeat(np.array([table.source for table in tables], object), counts)
    return Table(" + ".join(table.source for table in tables), columns, matrices, first.ids, added)


def _stack_columns(parts: list[np.ndarray]) -> np.ndarray:
    if len({part.dtype.kind in "biuf" for part in parts}) > 1:  # text in one file, numbers in another
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _stack_matrices(name: str, tables: Sequence[Table]) -> Matrix:
    sources = [table.source for table in tables]
    rows = [table.matrices[name].rows for table in tables]
    if len({part.shape[1] for part in rows}) > 1:
        widths = (f"{source} {part.shape[1]}" for source, part in zip(sources, rows, strict=True))
        raise InputError(f"the files have matrices of different widths: {', '.join(widths)}")
    names = tables[0].matrices[name].names
    if any(sparse.issparse(part) for part in rows):
        return Matrix(sparse.vstack(rows, format="csr"), names)
    return Matrix(np.concatenate(rows), names)
