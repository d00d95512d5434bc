"""RunShape: the numbers of a run that decide how much memory it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actup.neighbors._rows import ENGINE_TYPES
from actup.recipe._recipe import Recipe

# Of the symmetric graph, both directions counted; measured are 1.35 to 1.55. If all neighbours are mutual it
# is 1, if none is 2.
EDGES_PER_NEIGHBOR = 1.5
BASE_BYTES = 200 * 2**20  # Python, NumPy, SciPy, scikit-learn and the engine, before any data

GRAPH_FILE_PARTS = 16  # ranges of rows in which a graph on disc is made and read

Moment = dict[str, float]  # what is in memory at one time: bytes of named arrays


@dataclass(frozen=True)
class Lean:
    """Where a run takes less memory than usual, and more time.

    Attributes
    ----------
    search : bool
        Few points are compared in float32, not by integer codes of all columns, and the codes of an index
        are computed twice, so that there are never two copies of them. The bits differ only where codes would
        tell rows apart so badly that few points were searched approximately.
    graph_on_disc : bool
        The graph is made range by range of its rows, and lies in a temporary file.
    """

    search: bool = False
    graph_on_disc: bool = False


@dataclass(frozen=True)
class RunShape:
    """The numbers of a run that decide how much memory it takes.

    Attributes
    ----------
    rows, columns : int
    stored : int
        Values of X that are stored: all of them, or those of a sparse matrix.
    dtype : dtype
        Of the rows once they are read.
    sparse : bool
    given_bytes : int
        X as the caller gave it.
    read_bytes : int
        The rows as they are read, if they are a copy of X; else 0.
    recipe : Recipe
    threads : int
    searches : bool
        Whether neighbours are searched; otherwise they were given.
    keeps_neighbors : bool
        Whether the lists of neighbours stay in memory after the graph has been made.
    has_start : bool
        Whether the caller gave the places where points start.
    """

    rows: int
    columns: int
    stored: int
    dtype: np.dtype
    sparse: bool
    given_bytes: int
    read_bytes: int
    recipe: Recipe
    threads: int = 1
    searches: bool = True
    keeps_neighbors: bool = False
    has_start: bool = False

    @property
    def k(self) -> int:
        """Neighbours per row."""
        return self.recipe.neighbors_searched(self.rows)

    @property
    def edges(self) -> float:
        """Edges of the graph, both directions counted."""
        return float(min(self.rows * self.k * EDGES_PER_NEIGHBOR, self.rows * max(0.0, self.rows - 1.0)))

    @property
    def is_engine_type(self) -> bool:
        """Whether the engine reads the rows without a conversion."""
        return self.dtype == np.float32 if self.sparse else self.dtype.type in ENGINE_TYPES

    @property
    def engine_bytes(self) -> int:
        """The rows in a type that the engine reads."""
        itemsize = self.dtype.itemsize if self.is_engine_type else 4
        return self.stored * (itemsize + (4 if self.sparse else 0))

    def data(self) -> Moment:
        """X, and its copy if it was not read where it lay."""
        return {"X": float(self.given_bytes), "X as it is read": float(self.read_bytes)}

    def lists(self) -> Moment:
        """Ids and distances of the neighbours."""
        return {"lists of neighbours": 8.0 * self.rows * self.k}

    def graph(self) -> Moment:
        """The graph: offsets, ids and weights."""
        return {"graph": graph_bytes(self.rows, self.edges)}


def graph_bytes(rows: float, edges: float) -> float:
    """A graph in compressed rows: int64 offsets, int32 ids, float32 weights."""
    return 8.0 * rows + 8.0 * edges
