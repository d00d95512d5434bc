"""Neighbours among very many points: each row is compared with the rows of nearby cells.

Cells are the clusters of k-means on a sample. The rows of a cell fill whole tiles, so that candidates.cu
searches lists of tiles instead of all of them. A sample of rows, whose true neighbours are known, decides how
many cells are searched; refinement rounds find neighbours that lie outside of these cells.
"""

from __future__ import annotations

import math

import numpy as np

from actup._typing import Array
from actup._warnings import warn_user
from actup.backends._cuda.arrays import is_host_memory, offsets_of, require_bytes
from actup.backends._cuda.blocks import Select, count_blocks, search_in_blocks
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.constants import GROUP_COLUMNS, GROUP_RUNS, TILE
from actup.backends._cuda.launch import WARP, launch
from actup.backends._cuda.neighbors import CandidateSearch, Plan, make_plan, scan
from actup.backends._cuda.refine import refine
from actup.neighbors._calibration import LOW_RECALL, refine_until

_ROWS_PER_CELL = 2048  # on average
_MAX_CELLS = 8192
_SAMPLE_PER_CELL = 128  # rows that k-means reads per cell
_KMEANS_ROUNDS = 5
_CHUNK_SCORES = 1 << 29  # rows times cells that are compared at a time
_RECALL_SAMPLE = 256  # rows whose true neighbours set the number of probes and measure the recall
_RECALL_IN_CELLS = 0.97  # of the sample's neighbours in the probed cells; refinement finds the others
_MAX_PROBED_ROWS = 1 << 19  # rows of all cells that a row is compared with
_WANTED_RECALL = 0.99  # at which refinement ends
_MAX_REFINEMENT_ROUNDS = 3


def neighbors_in_cells(X: Array, k: int, ids: Array, sums: Array) -> float:
    """Write the neighbours of all rows; returns the recall, measured on a sample.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    k : int
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are squared distances.
    """
    n, columns = X.shape
    plan = make_plan(columns, k)
    cells = min(n // _ROWS_PER_CELL, _MAX_CELLS)
    blocks = count_blocks(n, columns, k, plan)
    needed = _needed_bytes(n, k, cells) + (plan.needed_bytes(n) if blocks == 1 else 0)
    require_bytes(needed, f"the search for the neighbours of {n} points")
    sample = _Sample(X, ids, sums)
    centers = find_centers(X, cells)
    labels = nearest_center(X, centers)
    around = _cells_around(centers)
    on_host = is_host_memory(X)  # refinement would read its rows over the bus many times
    probes = sample.probes(labels, around, _WANTED_RECALL if on_host else _RECALL_IN_CELLS)
    probes = min(probes, max(1, _MAX_PROBED_ROWS * cells // n))
    around = around[:, :probes]

    def search(rows: Array, select: Select, ids: Array, sums: Array) -> None:
        _search_cells(rows, plan, select(labels), around, ids, sums)

    search_in_blocks(X, blocks, ids, sums, search)
    recall = sample.recall(sums)

    def refinement_round() -> float:
        refine(X, _tiled_order(labels, cells)[0], ids, sums)
        return sample.recall(sums)

    rounds = 0 if on_host else _MAX_REFINEMENT_ROUNDS
    recall = refine_until(_WANTED_RECALL, refinement_round, recall, max_rounds=rounds)
    if recall < LOW_RECALL:
        warn_user(
            f"about {recall:.0%} of the nearest neighbours were found: X has hardly any structure to search "
            "by; fewer columns, e.g. the leading principal components, may have more"
        )
    return recall


def _needed_bytes(n: int, k: int, cells: int) -> int:
    """The least memory that k-means or refinement need, without X, the result and the search."""
    kept = 12 * n + 16 * cells**2  # labels and order; which cells are around which
    return kept + max(4 * min(_CHUNK_SCORES, n * cells), 8 * n * k)


def _search_cells(X: Array, plan: Plan, labels: Array, around: Array, ids: Array, sums: Array) -> None:
    """Compare each row with those of the cells around its own."""
    order, first_tiles = _tiled_order(labels, len(around))
    lists = _tile_lists(around, first_tiles)
    search = CandidateSearch(X, order, plan)
    chunks = plan.chunks(lists[0].shape[1])
    for first, last in search.row_ranges():
        search.find(first, last, chunks, lists)
        search.rank(first, last, ids.shape[1], ids, sums, exact=False)
    scan(X, search.unproven(), "euclidean", ids, sums, bounded=False)


class _Sample:
    """Some rows and their true neighbours, which set the number of probes and measure the recall.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    ids, sums : cupy.ndarray of shape (n, k)
        Buffers; the rows of the sample are overwritten.
    """

    def __init__(self, X: Array, ids: Array, sums: Array):
        self._rows = cupy().asarray(np.linspace(0, len(X) - 1, _RECALL_SAMPLE).astype(np.int32))
        scan(X, self._rows, "euclidean", ids, sums, bounded=False)
        self._ids = ids[self._rows]
        # Distances of the search are summed in another order, so their last bits may differ.
        self._kth_sums = sums[self._rows][:, -1:] * np.float32(1 + 1e-5)

    def probes(self, labels: Array, around: Array, share: float) -> int:
        """How many of the cells around a row contain this share of its neighbours; around: (cells, cells)."""
        cp = cupy()
        rank_of_cell = np.argsort(cp.asnumpy(around[labels[self._rows]]), axis=1)
        ranks = np.take_along_axis(rank_of_cell, cp.asnumpy(labels[self._ids]), axis=1)
        return 1 + int(np.sort(ranks, axis=None)[math.ceil(share * ranks.size) - 1])

    def recall(self, sums: Array) -> float:
        """The share of found neighbours that are as near as the true ones."""
        return float((sums[self._rows] <= self._kth_sums).mean())


def find_centers(X: Array, cells: int, sample_per_cell: int = _SAMPLE_PER_CELL) -> Array:
    """The centres of k-means on evenly spaced rows, ``sample_per_cell`` per cell: (cells, columns)."""
    cp = cupy()
    n = len(X)
    sample = cp.ascontiguousarray(X[:: max(1, n // (sample_per_cell * cells))])
    centers = cp.ascontiguousarray(sample[:: max(1, len(sample) // cells)][:cells])
    for _ in range(_KMEANS_ROUNDS):
        group_means(sample, nearest_center(sample, centers), centers)
    return centers


def group_means(X: Array, labels: Array, means: Array) -> None:
    """Write the mean row of each group to ``means``; that of an empty group is left as it is.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), C-contiguous float32
    labels : cupy.ndarray of shape (n,)
        The group of every row.
    means : cupy.ndarray of shape (groups, columns), C-contiguous float32
    """
    cp = cupy()
    groups, columns = means.shape
    members = cp.argsort(labels, kind="stable").astype(cp.int32)
    offsets = offsets_of(cp.bincount(labels, minlength=groups)).astype(cp.int32)
    kernel = load_kernels("cells").get_function("group_means")
    kernel((groups,), (GROUP_COLUMNS, GROUP_RUNS), (X, np.int32(columns), members, offsets, means))


def nearest_center(X: Array, centers: Array) -> Array:
    """The nearest centre of every row: (n,) int32."""
    cp = cupy()
    origin = centers.mean(axis=0)
    transposed = cp.ascontiguousarray((centers - origin).T)
    half_squares = cp.square(centers - origin).sum(axis=1) / 2
    labels = cp.empty(len(X), cp.int32)
    kernel = load_kernels("cells").get_function("best_columns")
    chunk = max(1, _CHUNK_SCORES // len(centers))
    for begin in range(0, len(X), chunk):
        scores = (X[begin : begin + chunk] - origin) @ transposed
        size = (np.int32(len(scores)), np.int32(len(centers)))
        launch(kernel, WARP * len(scores), scores, half_squares, *size, labels[begin:])
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


def _tile_lists(around: Array, first_tiles: Array) -> tuple[Array, Array, Array]:
    """For each cell the tiles of the cells around it, nearest first: lists, lengths, and each tile's cell."""
    cp = cupy()
    cells, probes = around.shape
    counts = cp.diff(first_tiles)
    ends = cp.cumsum(counts[around], axis=1).astype(cp.int32)
    stride = int(ends[:, -1].max())
    lists = cp.zeros((cells, stride), cp.int32)
    kernel = load_kernels("cells").get_function("list_tiles")
    size = (np.int32(cells), np.int32(probes), np.int32(stride))
    around = cp.ascontiguousarray(around)
    launch(kernel, cells * probes, around, first_tiles.astype(cp.int32), ends, *size, lists)
    list_of = np.repeat(np.arange(cells, dtype=np.int32), cp.asnumpy(counts))
    return lists, cp.ascontiguousarray(ends[:, -1]), cp.asarray(list_of)
