"""Candidates for nearest neighbours: 16-bit products on tensor cores propose them, float32 distances decide.

The distance matrix is never stored. ``kernels/candidates.cu``, or on Hopper GPUs
``kernels/candidates_hopper.cu``, compares rows with a growing range of points; ``kernels/ranking.cu`` keeps
the best of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from actup._threads import BackgroundCall
from actup._typing import Array
from actup.backends._cuda.arrays import free_bytes, synchronize
from actup.backends._cuda.compile import (
    cupy,
    hopper_is_usable,
    load_kernels,
    request_kernels,
    value_macros,
)
from actup.backends._cuda.constants import (
    CANDIDATE_THREADS,
    HOPPER_PARTS,
    HOPPER_STAGES,
    HOPPER_THREADS,
    MEAN_COLUMNS,
    MEAN_RUNS,
    NARROW_BLOCKS,
    NARROW_STAGES,
    SLAB,
    TILE,
    WIDE_BLOCKS,
    WIDE_STAGES,
)
from actup.backends._cuda.launch import WARP, blocks_for, launch, multiprocessors
from actup.backends._cuda.refine import lanes_per_distance

_USE_HOPPER = True  # False: candidates.cu on every GPU, to compare both
_EXTRA_CANDIDATES = 9  # kept beyond k, the row itself included: rounding to 16 bits changes the order
_GROWTH = 3  # a launch looks at this multiple of the points already seen
_LOWEST_THRESHOLD = -25000.0  # below every score, above kPaddingScore of candidate.h
# For the rows that are searched at a time: the share of the free memory, and bytes beyond which more rows do
# not make a search faster.
_MAX_SEARCH_SHARE, _MAX_SEARCH_BYTES = 0.6, 8 << 30
_MEAN_SAMPLE = 1000  # rows from which the mean is estimated
_ENCODING_THREADS = 8  # of encode_queries, per row and cell
_GOLDEN_RATIO = 0.6180339887498949
_MAX_LONGEST_ROW_WARPS = 1 << 15  # warps that look for the longest row


@dataclass(frozen=True)
class Plan:
    """The sizes that candidates.cu or candidates_hopper.cu (``hopper``) and ranking.cu are compiled for.

    The names are those of their macros.
    """

    keep: int
    lists: int
    length: int
    slabs: int
    steps: int
    narrow: bool
    in_cells: bool
    hopper: bool

    @property
    def first_tiles(self) -> int:
        """Tiles whose points cannot overflow the lists even if every pair is a candidate."""
        parts = HOPPER_PARTS if self.hopper else 1
        return self.lists // parts * self.length // TILE * parts

    def chunks(self, tiles: int) -> list[int]:
        """Where the launches that together look at ``tiles`` tiles begin and end."""
        chunks = [0, min(self.first_tiles, tiles)]
        while chunks[-1] < tiles:
            chunks.append(min(chunks[-1] * (1 + _GROWTH), tiles))
        return chunks

    @property
    def row_bytes(self) -> int:
        """Bytes that a row needs while its candidates are collected."""
        return 8 * (self.keep + self.lists * self.length) + 4 * self.lists + 1

    def needed_bytes(self, n: int) -> int:
        """The least memory that a search among n points needs, without X and the result."""
        return n * (2 * self.slab_bytes * self.slabs + 24) + TILE * self.row_bytes

    def needed_bytes_in_cells(self, n: int, probes: int) -> int:
        """The same for a search in cells, in which every row has a query for each of some cells."""
        return n * (self.slab_bytes * self.slabs + 24) + TILE * (self.row_bytes + probes * self.query_bytes)

    @property
    def query_bytes(self) -> int:
        """Bytes of a row's query for one cell, and of what its sums start with."""
        return self.slab_bytes * self.slabs + 4

    @property
    def slab_bytes(self) -> int:
        """Bytes of a row in a slab: 16-bit numbers."""
        return 2 * SLAB

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a thread block: tiles of keys, of queries unless narrow; barriers on Hopper."""
        tile_bytes = self.slab_bytes * TILE
        if self.hopper:
            return HOPPER_STAGES * (3 * tile_bytes + 2 * 8)
        return tile_bytes * (NARROW_STAGES if self.narrow else 2 * WIDE_STAGES)

    @property
    def threads(self) -> int:
        """Threads of a thread block."""
        return HOPPER_THREADS if self.hopper else CANDIDATE_THREADS

    def thread_blocks(self, row_tiles: int) -> int:
        """Thread blocks that share the work: as many as the device runs at a time, or as have work."""
        if self.hopper:  # in clusters of two
            return 2 * min(math.ceil(row_tiles / 2) * HOPPER_PARTS, multiprocessors() // 2)
        return min(row_tiles, (NARROW_BLOCKS if self.narrow else WIDE_BLOCKS) * multiprocessors())

    def request(self, columns: int, **values: Any) -> tuple[BackgroundCall[Any], BackgroundCall[Any]]:
        """Start to compile the kernels that find candidates, and those that choose among them.

        ``values`` are the ``value_macros`` of the rows.
        """
        macros: dict[str, Any] = {"KEEP": self.keep, "LISTS": self.lists, "LENGTH": self.length}
        variant: dict[str, Any] = {"NARROW": 1} if self.narrow else {}
        variant |= {"CELLS": 1} if self.in_cells else {}
        name = "candidates_hopper" if self.hopper else "candidates"
        return (
            request_kernels(name, hopper=self.hopper, **macros, **variant, STEPS=self.steps),
            request_kernels("ranking", **macros, **values, LANES=lanes_per_distance(columns)),
        )


def make_plan(columns: int, k: int, *, in_cells: bool = False) -> Plan:
    """The sizes for k neighbours of rows with ``columns`` columns, among all rows or in cells."""
    extra = _EXTRA_CANDIDATES + max(0, k - 15) // 6  # distances lie closer together farther out
    keep = 8 * math.ceil((k + extra) / 8)
    slabs = math.ceil((columns + 2) / SLAB)
    steps = math.ceil((columns + 2 - SLAB * (slabs - 1)) / 16)
    narrow, hopper = slabs == 1, uses_hopper(slabs, in_cells=in_cells)
    lists = 4 if narrow else 4 * HOPPER_PARTS if hopper else 8
    expected = _GROWTH * keep / lists
    length = 16 * max(4 if narrow else 2, math.ceil((expected + 6 * math.sqrt(expected) + 2) / 16))
    return Plan(keep, lists, length, slabs, steps, narrow, in_cells, hopper)


def _rows_at_a_time(positions: int, row_bytes: int, free: float) -> int:
    """How many rows are searched at a time, within a share of the free memory."""
    fitting = int(search_room(free)) // row_bytes
    return max(TILE, min(positions, fitting // TILE * TILE))


def search_room(free: float) -> float:
    """Bytes of the free memory that the rows that are searched at a time may take."""
    return min(_MAX_SEARCH_SHARE * free, _MAX_SEARCH_BYTES)


def search_bytes(n: int, columns: int, k: int, free: float) -> float:
    """Bytes that comparing all pairs of n rows takes: their keys, and the candidates of some at a time."""
    plan = make_plan(columns, k)
    kept = plan.needed_bytes(n) - plan.needed_bytes(0)
    positions = TILE * math.ceil(n / TILE)
    return float(kept + plan.row_bytes * _rows_at_a_time(positions, plan.row_bytes, free - kept))


def uses_hopper(slabs: int, *, in_cells: bool) -> bool:
    """Whether candidates_hopper.cu searches: it compares all rows, and needs several slabs."""
    return _USE_HOPPER and slabs > 1 and not in_cells and hopper_is_usable()


def sampled_mean(X: Array) -> Array:
    """The mean of about a thousand rows: (columns,) float32."""
    n, columns = X.shape
    out = cupy().empty(columns, np.float32)
    kernel = load_kernels("rows", **value_macros(X)).get_function("sampled_mean")
    step = np.int32(max(1, n // _MEAN_SAMPLE))
    grid, threads = (blocks_for(columns, MEAN_COLUMNS),), (MEAN_COLUMNS, MEAN_RUNS)
    kernel(grid, threads, (X, np.int32(n), np.int32(columns), step, out))
    return out


def spread_order(n: int) -> Array:
    """A fixed order in which every run of rows is spread over all of them; -1 fills up the last tile."""
    cp = cupy()
    stride = max(1, int(n * _GOLDEN_RATIO))
    while math.gcd(stride, n) != 1:
        stride += 1
    order = cp.empty(TILE * math.ceil(n / TILE), cp.int32)
    kernel = load_kernels("rows").get_function("spread_order")
    launch(kernel, len(order), np.int32(n), np.int32(len(order)), np.int64(stride), order)
    return order


@dataclass(frozen=True)
class CellTiles:
    """Rows in cells: where each cell's tiles are, and with which tiles those of every cell are compared.

    Attributes
    ----------
    centers : cupy.ndarray of shape (cells, columns), float32
    labels : cupy.ndarray of shape (n,), int32
        The cell of every row.
    tile_cells : cupy.ndarray of shape (tiles,), int32
        The cell of every tile.
    around : cupy.ndarray of shape (cells, probes), int32
        The cells around each cell, nearest first.
    lists : cupy.ndarray of shape (cells, stride), int32
        The tiles of the cells around each cell.
    ends : cupy.ndarray of shape (cells, probes), int32
        Where the tiles of each of these cells end in the list.
    """

    centers: Array
    labels: Array
    tile_cells: Array
    around: Array
    lists: Array
    ends: Array

    @property
    def probes(self) -> int:
        """Cells that each row is compared with."""
        return int(self.around.shape[1])


class CandidateSearch:
    """The rows of X as 16-bit numbers in tiles, and the candidates of a range of rows at a time.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
    order : cupy.ndarray of shape (positions,), int32
        The row of X at every position, -1 for padding; ``positions`` is a multiple of ``TILE``.
    plan : Plan
        Made for cells if there are cells.
    deficits : cupy.ndarray of shape (n,), float32, optional
        The largest squared length minus that of each row, for inner products; None: distances.
    cells : CellTiles, optional
        Rows are rounded relative to the centres of cells, and compared with the tiles of cells around their
        own. None: all rows are compared with all.
    """

    def __init__(
        self,
        X: Array,
        order: Array,
        plan: Plan,
        deficits: Array | None = None,
        cells: CellTiles | None = None,
    ):
        cp = cupy()
        self._X, self._order, self._plan, self._cells = X, order, plan, cells
        self._deficits = np.uintp(0) if deficits is None else deficits
        self._columns = np.int32(X.shape[1])
        self._finding, self._ranking = (part.result() for part in plan.request(X.shape[1], **value_macros(X)))
        self._positions = len(order)
        self._unproven = cp.empty(len(X), cp.int32)
        self._unproven_count = cp.zeros(1, cp.int32)
        self._prepare()
        probes = 0 if cells is None else cells.probes
        rows = _rows_at_a_time(self._positions, plan.row_bytes + probes * plan.query_bytes, free_bytes())
        ranges = math.ceil(self._positions / rows)
        self._rows = TILE * math.ceil(math.ceil(self._positions / ranges) / TILE)
        self._candidates = cp.empty((self._rows, plan.keep + plan.lists * plan.length), cp.uint64)
        self._counts = cp.empty((self._rows, plan.lists), cp.int32)
        self._overflowed = cp.empty(self._rows, cp.uint8)
        self._thresholds = cp.empty(self._rows, cp.float32)
        if cells is not None:
            self._queries = cp.empty(self._rows * probes * plan.slabs * SLAB, cp.uint16)
            self._starts = cp.empty(self._rows * probes, cp.float32)
            self._reaches = self._first_reaches(cells)

    def _prepare(self) -> None:
        """Round the rows to 16 bits."""
        cp = cupy()
        X, plan, cells, positions = self._X, self._plan, self._cells, self._positions
        self._keys = cp.empty(positions * plan.slabs * SLAB, cp.uint16)
        # In cells, the queries of a range of rows are made when it is searched.
        self._queries = cp.empty_like(self._keys) if cells is None else np.uintp(0)
        self._squares = cp.empty(positions, cp.float32)
        self._rounding = cp.empty(positions, cp.float32)
        # As the bits of a float: the squared length of the longest row, the largest rounding error of a row.
        self._extremes = cp.zeros(2, cp.uint32)
        longest, worst = self._extremes[:1], self._extremes[1:]
        nothing = np.uintp(0)
        centers, labels, tile_cells = (
            (sampled_mean(X), nothing, nothing)
            if cells is None
            else (cells.centers, cells.labels, cells.tile_cells)
        )
        self._launch(
            "longest_row", min(len(X), _MAX_LONGEST_ROW_WARPS), X, centers, labels, self._deficits,
            np.int32(len(X)), self._columns, longest,
        )  # fmt: skip
        self._launch(
            "prepare_rows", positions, X, centers, tile_cells, self._deficits, self._order, longest,
            np.int32(positions), self._columns, np.int32(plan.slabs), self._queries, self._keys,
            self._squares, self._rounding, worst,
        )  # fmt: skip

    def _first_reaches(self, cells: CellTiles) -> Array:
        """How far the points of the first launch are at most from the centre of each cell, scaled."""
        count, probes = cells.around.shape
        reaches = cupy().empty(count, np.float32)
        self._launch(
            "first_reaches", count, cells.centers, cells.around, cells.lists, cells.ends, self._squares,
            self._extremes[:1], np.int32(count), np.int32(probes), np.int32(cells.lists.shape[1]),
            np.int32(self._plan.first_tiles), self._columns, reaches,
        )  # fmt: skip
        return reaches

    def row_ranges(self) -> list[tuple[int, int]]:
        """Ranges of positions that are searched at once, as large as memory allows."""
        return [(at, min(at + self._rows, self._positions)) for at in range(0, self._positions, self._rows)]

    def find(self, first: int, last: int, chunks: list[int]) -> None:
        """Collect the candidates of a range of positions.

        Parameters
        ----------
        first, last : int
            The range, whole tiles.
        chunks : list of int
            Positions in the list of tiles where the launches begin and end; the first is 0.
        """
        plan, cells = self._plan, self._cells
        order, rows = self._order[first:last], np.int32(last - first)
        squares = self._squares[first:last]
        nothing = np.uintp(0)
        lists: tuple[Any, ...] = (nothing, nothing, nothing, np.int32(0), np.int32(0), nothing)
        if plan.hopper:
            lists = ()
        if cells is None:
            queries = self._queries[first * SLAB :]
            kernel = load_kernels("rows").get_function("first_thresholds")
            start = np.float32(_LOWEST_THRESHOLD)
            launch(kernel, last - first, order, rows, start, self._thresholds, self._overflowed)
        else:
            queries, tile_cells = self._queries, cells.tile_cells[first // TILE :]
            lists = (
                cells.lists, cells.ends, tile_cells, np.int32(cells.lists.shape[1]), np.int32(cells.probes),
                self._starts,
            )  # fmt: skip
            self._encode(order, squares, tile_cells, cells)
            kernel = load_kernels("rows").get_function("first_cell_thresholds")
            launch(
                kernel, last - first, order, rows, squares, self._reaches, tile_cells, self._thresholds,
                self._overflowed,
            )  # fmt: skip
        row_tiles = (last - first) // TILE
        kernel = self._finding.get_function("find_candidates")
        kernel.max_dynamic_shared_size_bytes = plan.shared_bytes
        grid = plan.thread_blocks(row_tiles)
        for at, (begin, end) in enumerate(pairwise(chunks)):
            arguments = (
                queries, self._keys, self._thresholds, self._counts, self._candidates, np.int32(row_tiles),
                np.int64(self._positions), np.int32(plan.slabs), *lists, np.int32(begin), np.int32(end),
            )  # fmt: skip
            kernel((grid,), (plan.threads,), arguments, shared_mem=plan.shared_bytes)
            self._launch(
                "select_candidates", last - first, self._candidates, self._counts, order, squares,
                self._thresholds, self._overflowed, rows, np.int32(at == 0),
            )  # fmt: skip

    def _encode(self, order: Array, squares: Array, tile_cells: Array, cells: CellTiles) -> None:
        """Round the rows of a range relative to the centres of all cells that they are compared with."""
        pairs = len(order) * cells.probes
        launch(
            self._ranking.get_function("encode_queries"), _ENCODING_THREADS * pairs, self._X, cells.centers,
            cells.around, tile_cells, order, squares, self._extremes[:1], np.int64(pairs),
            np.int32(cells.probes), self._columns, np.int32(self._plan.slabs), self._queries, self._starts,
        )  # fmt: skip

    def rank(self, first: int, last: int, k: int, ids: Array, sums: Array, *, exact: bool) -> None:
        """Write the neighbours of a range of positions: the candidates that are nearest in float32.

        Unless ``exact``, a row counts as proven as soon as it has k candidates.
        """
        self._launch(
            "rank_candidates", last - first, self._X, self._deficits, self._columns,
            self._order[first:last], self._candidates, self._thresholds, self._squares[first:last],
            self._rounding[first:last], self._overflowed, self._extremes[:1], self._extremes[1:], self._order,
            np.int32(first), np.int32(last - first), np.int32(k), np.int32(exact), ids, sums, self._unproven,
            self._unproven_count,
        )  # fmt: skip

    def unproven(self) -> Array:
        """The rows whose neighbours are not proven to be exact, in any order."""
        synchronize()  # unlike get(), it can be interrupted
        return self._unproven[: int(self._unproven_count.get()[0])]

    def _launch(self, name: str, rows: int, *arguments: Any) -> None:
        """Launch a kernel of ranking.cu with a warp for every row."""
        launch(self._ranking.get_function(name), WARP * rows, *arguments)
