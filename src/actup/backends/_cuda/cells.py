"""Neighbours among many points: each row is compared with the rows of nearby cells.

Cells are the clusters of k-means on a sample. The rows of a cell fill whole tiles, so that candidates.cu
searches lists of tiles instead of all of them. Rows are rounded to 16 bits relative to the centres of cells,
so that rows which lie close together, far from all others, are told apart.
"""

from __future__ import annotations

import math

import numpy as np

from actup._typing import Array
from actup.backends._cuda.arrays import is_host_memory, offsets_of, require_bytes
from actup.backends._cuda.blocks import Select, count_blocks, search_in_blocks
from actup.backends._cuda.candidates import CandidateSearch, CellTiles, Plan, make_plan
from actup.backends._cuda.compile import cupy, load_kernels, value_macros
from actup.backends._cuda.constants import GROUP_COLUMNS, GROUP_RUNS, TILE
from actup.backends._cuda.launch import WARP, launch
from actup.backends._cuda.refine import round_products
from actup.backends._cuda.sample import TruthSample
from actup.backends._cuda.scan import scan

_ROWS_PER_CELL = 2048  # on average
_ROWS_PER_SMALL_CELL = 64  # for rows that 16 bits do not tell apart in larger cells
_MAX_CELLS, _MIN_CELLS = 16384, 16
_SAMPLE_PER_CELL = 64  # rows that k-means reads per cell
_KMEANS_ROUNDS = 5
CHUNK_SCORES = 1 << 29  # rows times cells that are compared at a time
_MAX_PROBED_ROWS = 1 << 19  # rows of all cells that a row is compared with
# By how much the share of neighbours in the probed cells exceeds the wanted recall. Rows on the host are not
# refined afterwards, which would read them over the bus many times. Of other rows, fewer cells are probed if
# that saves the time of this many refinement rounds, which find the rest.
_COVERAGE_MARGIN, _HOST_COVERAGE_MARGIN, _REFINED_COVERAGE_MARGIN = 0.0, 0.015, -0.03
_MIN_SAVED_ROUNDS = 2.5
_MAX_COVERAGE = 0.999
_TWO_LEVEL_PAIRS = 1 << 32  # of rows and centres: more of them are compared in two levels
_GROUPS_SEARCHED = 8  # groups of centres that a row is compared with


def count_cells(n: int, *, small: bool = False) -> int:
    """How many cells n rows are divided into; many small ones for rows that larger ones do not tell apart."""
    rows = _ROWS_PER_SMALL_CELL if small else _ROWS_PER_CELL
    return max(_MIN_CELLS, min(n // rows, _MAX_CELLS))


class CellIndex:
    """Rows in cells, and with how many cells around its own a row has to be compared.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
    cells : int
    sample : TruthSample
        Decides how many cells are probed, and measures the recall.
    recall : float
        The wanted share of true neighbours.
    """

    def __init__(self, X: Array, cells: int, sample: TruthSample, recall: float):
        n = len(X)
        kept = 12 * n + 16 * cells**2  # labels and order; which cells are around which
        require_bytes(kept + 4 * min(CHUNK_SCORES, n * cells), f"the cells of {n} points")
        self._X, self._sample = X, sample
        self._centers = find_centers(X, cells)
        self._labels = nearest_center(X, self._centers)
        self._all_around = _cells_around(self._centers)
        self._max_probes = min(cells, max(1, _MAX_PROBED_ROWS * cells // n))
        self._probe(self._probes_needed(recall))

    def _probes_needed(self, recall: float) -> int:
        """How many cells to probe, so that the search and refinement rounds after it take the least time."""

        def probes(margin: float) -> int:
            share = min(_MAX_COVERAGE, recall + margin)
            return self._sample.cells_needed(self._labels, self._all_around, share)

        if is_host_memory(self._X):
            return probes(_HOST_COVERAGE_MARGIN)
        n, columns = self._X.shape
        k = self._sample.k
        most, fewest = probes(_COVERAGE_MARGIN), probes(_REFINED_COVERAGE_MARGIN)
        rows_per_cell = n / len(self._centers)
        saved = (most - fewest) * rows_per_cell * make_plan(columns, k, in_cells=True).slabs
        return fewest if saved > _MIN_SAVED_ROUNDS * round_products(columns, k) else most

    def _probe(self, probes: int) -> None:
        probes = min(probes, self._max_probes)
        self._around = cupy().ascontiguousarray(self._all_around[:, :probes])

    def widen(self) -> bool:
        """Probe twice as many cells from now on; returns False if no more are allowed."""
        before = self._around.shape[1]
        self._probe(2 * before)
        return bool(self._around.shape[1] > before)

    @property
    def probed_share(self) -> float:
        """The share of the cells that a row is compared with."""
        cells, probes = self._around.shape
        return float(probes / cells)

    def order(self) -> Array:
        """The rows cell by cell; -1 for positions without a row."""
        return _tiled_order(self._labels, len(self._centers))[0]

    def search(self, plan: Plan, ids: Array, sums: Array) -> float:
        """Compare each row with those of the cells around its own; returns the measured recall.

        Parameters
        ----------
        plan : Plan
        ids, sums : cupy.ndarray of shape (n, k)
            Written; ``sums`` are squared distances.
        """
        columns, (n, k) = self._X.shape[1], ids.shape
        blocks = count_blocks(n, columns, k, plan)
        if blocks == 1:
            needed = plan.needed_bytes_in_cells(n, self._around.shape[1]) + 8 * n * k
            require_bytes(needed, f"the search for the neighbours of {n} points")

        def search(rows: Array, select: Select, ids: Array, sums: Array) -> None:
            _search_cells(rows, plan, self._centers, select(self._labels), self._around, ids, sums)

        search_in_blocks(self._X, blocks, ids, sums, search)
        return self._sample.recall(sums)


def _search_cells(
    X: Array, plan: Plan, centers: Array, labels: Array, around: Array, ids: Array, sums: Array
) -> None:
    """Compare each row with those of the cells around its own."""
    order, first_tiles = _tiled_order(labels, len(around))
    lists, ends = _tile_lists(around, first_tiles)
    counts = cupy().asnumpy(cupy().diff(first_tiles))
    tile_cells = cupy().asarray(np.repeat(np.arange(len(around), dtype=np.int32), counts))
    cells = CellTiles(centers, labels, tile_cells, around, lists, ends)
    search = CandidateSearch(X, order, plan, cells=cells)
    chunks = plan.chunks(lists.shape[1])
    for first, last in search.row_ranges():
        search.find(first, last, chunks)
        search.rank(first, last, ids.shape[1], ids, sums, exact=False)
    scan(X, search.unproven(), "euclidean", ids, sums, bounded=False)


def find_centers(X: Array, cells: int, sample_per_cell: int = _SAMPLE_PER_CELL) -> Array:
    """The centres of k-means on evenly spaced rows, ``sample_per_cell`` per cell: (cells, columns)."""
    cp = cupy()
    n = len(X)
    sample = cp.ascontiguousarray(X[:: max(1, n // (sample_per_cell * cells))], cp.float32)
    centers = cp.ascontiguousarray(sample[:: max(1, len(sample) // cells)][:cells])
    for _ in range(_KMEANS_ROUNDS):
        group_means(sample, _nearest_of_all(sample, centers), centers)
    return centers


def group_means(X: Array, labels: Array, means: Array) -> None:
    """Write the mean row of each group to ``means``; that of an empty group is left as it is.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), C-contiguous
    labels : cupy.ndarray of shape (n,)
        The group of every row.
    means : cupy.ndarray of shape (groups, columns), C-contiguous float32
    """
    cp = cupy()
    groups, columns = means.shape
    members = cp.argsort(labels, kind="stable").astype(cp.int32)
    offsets = offsets_of(cp.bincount(labels, minlength=groups)).astype(cp.int32)
    kernel = load_kernels("cells", **value_macros(X)).get_function("group_means")
    kernel((groups,), (GROUP_COLUMNS, GROUP_RUNS), (X, np.int32(columns), members, offsets, means))


def nearest_center(X: Array, centers: Array) -> Array:
    """The nearest centre of every row: (n,) int32.

    Of very many rows and centres, a row is compared with the centres of some groups only.
    """
    if len(X) * len(centers) <= _TWO_LEVEL_PAIRS:
        return _nearest_of_all(X, centers)
    cp = cupy()
    count = math.isqrt(len(centers))
    groups = find_centers(centers, count)
    group_of_center = cp.asnumpy(_nearest_of_all(centers, groups))
    group_of_row = _nearest_of_all(X, groups)
    members = cp.argsort(group_of_row, kind="stable").astype(cp.int32)
    offsets = cp.asnumpy(offsets_of(cp.bincount(group_of_row, minlength=count)))
    labels = cp.empty(len(X), cp.int32)
    for group, near in enumerate(cp.asnumpy(_cells_around(groups)[:, :_GROUPS_SEARCHED])):
        compared = np.flatnonzero(np.isin(group_of_center, near)).astype(np.int32)
        if not len(compared):  # all centres of an empty neighbourhood lie elsewhere
            compared = np.arange(len(centers), dtype=np.int32)
        numbers = cp.asarray(compared)
        some = cp.ascontiguousarray(centers[numbers])
        chunk = max(1, CHUNK_SCORES // len(compared))
        for begin in range(offsets[group], offsets[group + 1], chunk):
            rows = members[begin : min(begin + chunk, offsets[group + 1])]
            labels[rows] = numbers[_nearest_of_all(X[rows], some)]
    return labels


def _nearest_of_all(X: Array, centers: Array) -> Array:
    """The nearest centre of every row, by comparing it with all of them."""
    cp = cupy()
    origin = centers.mean(axis=0)
    transposed = cp.ascontiguousarray((centers - origin).T)
    half_squares = cp.square(centers - origin).sum(axis=1) / 2
    labels = cp.empty(len(X), cp.int32)
    kernel = load_kernels("cells").get_function("best_columns")
    chunk = max(1, CHUNK_SCORES // len(centers))
    for begin in range(0, len(X), chunk):
        scores = (X[begin : begin + chunk] - origin) @ transposed
        size = (np.int32(len(scores)), np.int32(len(centers)))
        launch(kernel, WARP * len(scores), scores, half_squares, *size, labels[begin:])
        del scores  # before those of the next chunk are made
    return labels


def _tiled_order(labels: Array, cells: int) -> tuple[Array, Array]:
    """The row at every position, cell by cell in whole tiles, and the first tile of each cell (cells + 1)."""
    cp = cupy()
    sizes = cp.bincount(labels, minlength=cells)
    first_tiles = offsets_of((sizes + TILE - 1) // TILE)
    members = cp.argsort(labels, kind="stable").astype(cp.int32)
    cell = labels[members]
    shift = first_tiles[:-1] * TILE - offsets_of(sizes)[:-1]
    order = cp.full(int(first_tiles[-1]) * TILE, -1, cp.int32)
    order[cp.arange(len(members)) + shift[cell]] = members
    return order, first_tiles


def _cells_around(centers: Array) -> Array:
    """All cells by ascending distance from each cell: (cells, cells) int32, the cell itself first."""
    cp = cupy()
    squares = cp.square(centers).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (centers @ centers.T)
    cp.fill_diagonal(distances, -cp.inf)
    return cp.argsort(distances, axis=1).astype(cp.int32)


def _tile_lists(around: Array, first_tiles: Array) -> tuple[Array, Array]:
    """For each cell the tiles of the cells around it, nearest first, and where those of each cell end."""
    cp = cupy()
    cells, probes = around.shape
    counts = cp.diff(first_tiles)
    ends = cp.cumsum(counts[around], axis=1).astype(cp.int32)
    stride = int(ends[:, -1].max())
    lists = cp.zeros((cells, stride), cp.int32)
    kernel = load_kernels("cells").get_function("list_tiles")
    size = (np.int32(cells), np.int32(probes), np.int32(stride))
    launch(kernel, cells * probes, around, first_tiles.astype(cp.int32), ends, *size, lists)
    return lists, ends
