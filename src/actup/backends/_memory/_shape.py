"""RunShape: the numbers of a run that decide how much memory it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from actup.neighbors._rows import ENGINE_TYPES
from actup.recipe._recipe import Recipe

# Of the symmetric graph of many points, both directions counted; measured are 1.35 to 1.55. If all neighbours
# are mutual it is 1, if none is 2.
EDGES_PER_NEIGHBOR = 1.5
# What neighbours of target values add to it: measured with one column of targets, whose neighbours are mostly
# mutual.
TARGET_EDGES_PER_NEIGHBOR = 1.15
BASE_BYTES = 200 * 2**20  # Python, NumPy, SciPy, scikit-learn and the engine, before any data

_KEPT_BYTES = 2.4e6  # of the buffers in which values are checked, and which the heap keeps

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
    gives_back : bool
        Freed memory goes back to the system after every stage: the heap would keep some of it.
    """

    search: bool = False
    graph_on_disc: bool = False
    gives_back: bool = False


@dataclass(frozen=True)
class GraphChanges:
    """What changes a graph after it has been made of the neighbours.

    Attributes
    ----------
    weighted : bool
        Whether samples have weights.
    labeled : bool
        Whether labels of samples weaken edges.
    target_neighbors : int
        How many neighbours of every sample are searched among target values; 0: there are none.
    """

    weighted: bool = False
    labeled: bool = False
    target_neighbors: int = 0


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
    reading_bytes : int
        What is in memory besides both only while X is read.
    threads : int
    searches : bool
        Whether neighbours are searched; otherwise they, or the graph, were given.
    has_graph : bool
        Whether the graph was given.
    keeps_neighbors : bool
        Whether the lists of neighbours stay in memory after the graph has been made.
    has_start : bool
        Whether the caller gave the places where points start.
    has_fixed : bool
        Whether some of the points stay at these places.
    extents : tuple of float
        How wide these places are at least, in every dimension; empty: as wide as maps of so many points
        usually are.
    left_out : int
        How many rows of X take no part in the run, such as duplicates; they are not among ``rows``.
    copies_rows : bool
        Whether the run is made of a copy of the rows that take part.
    has_byte_codes : bool
        Whether integer codes of 8 bits hold the rows exactly.
    keeps_radii : bool
        Whether local radii of the data are computed.
    changes : GraphChanges
    """

    rows: int
    columns: int
    stored: int
    dtype: np.dtype
    sparse: bool
    given_bytes: int
    read_bytes: int
    recipe: Recipe
    reading_bytes: int = 0
    threads: int = 1
    searches: bool = True
    has_graph: bool = False
    keeps_neighbors: bool = False
    has_start: bool = False
    has_fixed: bool = False
    extents: tuple[float, ...] = ()
    left_out: int = 0
    copies_rows: bool = False
    has_byte_codes: bool = False
    keeps_radii: bool = False
    changes: GraphChanges = GraphChanges()

    @property
    def k(self) -> int:
        """Neighbours per row."""
        return self.recipe.neighbors_searched(self.rows)

    @property
    def edges(self) -> float:
        """Edges of the graph that is laid out, both directions counted."""
        return self._edges(self.changes.target_neighbors)

    @property
    def made_edges(self) -> float:
        """Edges of the graph before target values change it."""
        return self._edges(0)

    def _edges(self, target_neighbors: int) -> float:
        per_row = self.k * edges_per_neighbor(self.rows, self.k)
        per_row += min(target_neighbors, self.rows) * TARGET_EDGES_PER_NEIGHBOR
        return float(min(self.rows * per_row, self.rows * max(0.0, self.rows - 1.0)))

    @property
    def is_engine_type(self) -> bool:
        """Whether the engine reads the rows without a conversion."""
        return self.dtype == np.float32 if self.sparse else self.dtype.type in ENGINE_TYPES

    @property
    def engine_bytes(self) -> int:
        """The rows in a type that the engine reads."""
        itemsize = self.dtype.itemsize if self.is_engine_type else 4
        return self.stored * (itemsize + (4 if self.sparse else 0))

    @property
    def copied_bytes(self) -> int:
        """A copy of the rows that take part."""
        return self.stored * (self.dtype.itemsize + (4 if self.sparse else 0))

    def read_data(self) -> Moment:
        """X, and its copy if it was not read where it lay."""
        return {"X": float(self.given_bytes), "X as it is read": float(self.read_bytes)}

    def rows_data(self) -> Moment:
        """X as it is read, and the rows of it that take part in the run."""
        copied = self.copied_bytes if self.copies_rows else 0
        return self.read_data() | {"rows that take part": float(copied)}

    def data(self) -> Moment:
        """What of X is in memory while a map is made."""
        checked = self.stored if self.dtype.kind == "f" else 0  # whether values are finite
        return self.rows_data() | {"buffers of checks": min(_KEPT_BYTES, 0.8 * checked)}

    def lists(self) -> Moment:
        """Ids and distances of the neighbours."""
        return {} if self.has_graph else {"lists of neighbours": 8.0 * self.rows * self.k}

    def graph(self) -> Moment:
        """The graph that is laid out: offsets, ids and weights."""
        return {"graph": graph_bytes(self.rows, self.edges)}

    def made_graph(self) -> Moment:
        """The graph before anything changes it."""
        return {"graph": graph_bytes(self.rows, self.made_edges)}


def edges_per_neighbor(rows: int, k: int) -> float:
    """Edges of the symmetric graph per neighbour: the more of all points are neighbours, the more are mutual.

    Lists that reach the size of a group of points are much the same for all points of the group.
    """
    return EDGES_PER_NEIGHBOR - (EDGES_PER_NEIGHBOR - 1) * math.sqrt(min(1.0, k / max(1, rows - 1)))


def graph_bytes(rows: float, edges: float) -> float:
    """A graph in compressed rows: int64 offsets, int32 ids, float32 weights."""
    return 8.0 * rows + 8.0 * edges
