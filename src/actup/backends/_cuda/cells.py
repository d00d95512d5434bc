"""Neighbours among very many points: each is compared with those in the cells around its own.

Cells are those of k-means on a sample. The rows of a cell fill whole tiles, so that the search of
candidates.cu runs over lists of tiles instead of all of them. How many cells are looked at follows from where
the true neighbours of some rows are; what they miss is found among the neighbours of neighbours.
"""

from __future__ import annotations

import math

import numpy as np

from actup._warnings import warn_user
from actup.backends._cuda.arrays import is_mapped, require_bytes
from actup.backends._cuda.blocks import count_blocks, search_in_blocks
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.neighbors import TILE, CandidateSearch, make_plan, scan
from actup.backends._cuda.refine import refine

_CELL = 2048  # rows of a cell, on average
_MOST_CELLS = 8192
_SAMPLED = 128  # rows per cell that the centres are found from
_ROUNDS = 5  # of k-means
_SCORES = 1 << 29  # rows times cells that are compared at a time
_CHECKED = 256  # rows whose true neighbours say how the search does
_HELD = 0.97  # share of those that must lie in the cells looked at: enough for refinement to find the rest
_MOST_COMPARED = 1 << 19  # rows that the cells looked at may hold
_WANTED = 0.99  # recall at which refinement ends
_MOST_REFINED = 3  # rounds of refinement
_LOW_RECALL = 0.9


def neighbors_in_cells(X, k: int, ids, sums) -> float:
    """Write the neighbours of all rows; returns the share of the true ones among them, from a sample.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    k : int
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are squared distances.
    """
    n, columns = X.shape
    plan = make_plan(columns, k)
    cells = min(n // _CELL, _MOST_CELLS)
    blocks = count_blocks(n, columns, k, plan)
    needed = _needed_bytes(n, k, cells) + (plan.needed_bytes(n) if blocks == 1 else 0)
    require_bytes(needed, f"the search for the neighbours of {n} points")
    sample = _Sample(X, ids, sums)
    centers = find_centers(X, cells)
    labels = nearest_center(X, centers)
    around = _cells_around(centers)
    far = is_mapped(X)  # over the bus, rows that many others meet are slow to read
    probes = sample.probes(labels, around, _WANTED if far else _HELD)
    probes = min(probes, max(1, _MOST_COMPARED * cells // n))
    around = around[:, :probes]

    def search(rows, part, ids, sums) -> None:
        _search_cells(rows, plan, part(labels), around, ids, sums)

    search_in_blocks(X, blocks, ids, sums, search)
    recall = sample.recall(sums)
    for _ in range(0 if far else _MOST_REFINED):
        if recall >= _WANTED:
            break
        refine(X, _tiled_order(labels, cells)[0], ids, sums)
        recall = sample.recall(sums)
    if recall < _LOW_RECALL:
        warn_user(
            f"about {recall:.0%} of the nearest neighbours were found: X has hardly any structure to search "
            "by; fewer columns, e.g. the leading principal components, may have more"
        )
    return recall


def _needed_bytes(n: int, k: int, cells: int) -> int:
    """The least that is needed besides X, the result and the search: by the centres or by refinement."""
    kept = 12 * n + 16 * cells**2  # labels and order; which cells are around which
    return kept + max(4 * min(_SCORES, n * cells), 8 * n * k)


def _search_cells(X, plan, labels, around, ids, sums) -> None:
    """Compare each row with those of the cells around its own."""
    order, first_tiles = _tiled_order(labels, len(around))
    lists = _tile_lists(around, first_tiles)
    search = CandidateSearch(X, order, plan)
    chunks = plan.chunks(lists[0].shape[1])
    for first, last in search.row_ranges():
        search.find(first, last, chunks, lists)
        search.rank(first, last, ids.shape[1], ids, sums, exact=False)
    scan(X, search.unproven(), 0, ids, sums, bounded=False)


class _Sample:
    """Some rows and their true neighbours, by which the search is set and judged.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    ids, sums : cupy.ndarray of shape (n, k)
        Room for neighbours; rows of the sample are overwritten.
    """

    def __init__(self, X, ids, sums):
        self._rows = cupy().asarray(np.linspace(0, len(X) - 1, _CHECKED).astype(np.int32))
        scan(X, self._rows, 0, ids, sums, bounded=False)
        self._ids = ids[self._rows]
        self._reach = sums[self._rows][:, -1:] * np.float32(1 + 1e-5)  # the same sums, in another order

    def probes(self, labels, around, share: float) -> int:
        """How many of the cells around a row's hold this share of its neighbours; around: (cells, cells)."""
        cp = cupy()
        place = np.argsort(cp.asnumpy(around[labels[self._rows]]), axis=1)  # of every cell in the row's list
        places = np.take_along_axis(place, cp.asnumpy(labels[self._ids]), axis=1)
        return 1 + int(np.sort(places, axis=None)[math.ceil(share * places.size) - 1])

    def recall(self, sums) -> float:
        """The share of neighbours found that no point beats."""
        return float((sums[self._rows] <= self._reach).mean())


def find_centers(X, cells: int, sampled: int = _SAMPLED):
    """The centres of k-means on so many rows per cell: (cells, columns)."""
    cp = cupy()
    n = len(X)
    sample = cp.ascontiguousarray(X[:: max(1, n // (sampled * cells))])
    centers = cp.ascontiguousarray(sample[:: max(1, len(sample) // cells)][:cells])
    for _ in range(_ROUNDS):
        group_means(sample, nearest_center(sample, centers), centers)
    return centers


def group_means(X, labels, means) -> None:
    """Write the mean row of each group to ``means``, (groups, columns); an empty group's stays.

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
    offsets = _offsets(cp.bincount(labels, minlength=groups)).astype(cp.int32)
    kernel = load_kernels("cells").get_function("group_means")
    kernel((groups,), (64, 16), (X, np.int32(columns), members, offsets, means))


def nearest_center(X, centers):
    """The nearest centre of every row: (n,) int32."""
    cp = cupy()
    origin = centers.mean(axis=0)
    turned = cp.ascontiguousarray((centers - origin).T)
    half = cp.square(centers - origin).sum(axis=1) / 2
    labels = cp.empty(len(X), cp.int32)
    kernel = load_kernels("cells").get_function("best_columns")
    step = max(1, _SCORES // len(centers))
    for begin in range(0, len(X), step):
        scores = (X[begin : begin + step] - origin) @ turned
        arguments = (scores, half, np.int32(len(scores)), np.int32(len(centers)), labels[begin:])
        kernel((math.ceil(len(scores) / 8),), (256,), arguments)
    return labels


def _offsets(counts):
    """Where each of consecutive groups begins, and where the last one ends."""
    cp = cupy()
    return cp.concatenate([cp.zeros(1, cp.int64), cp.cumsum(counts)])


def _tiled_order(labels, cells: int):
    """The row at every place, cell after cell in whole tiles, and the first tile of each cell (cells + 1)."""
    cp = cupy()
    sizes = cp.bincount(labels, minlength=cells)
    first_tiles = _offsets((sizes + TILE - 1) // TILE)
    members = cp.argsort(labels, kind="stable").astype(cp.int32)
    cell = labels[members]
    shift = first_tiles[:-1] * TILE - _offsets(sizes)[:-1]
    order = cp.full(int(first_tiles[-1]) * TILE, -1, cp.int32)
    order[cp.arange(len(members)) + shift[cell]] = members
    return order, first_tiles


def _cells_around(centers):
    """All cells in the order of their distance from each: (cells, cells) int32, its own first."""
    cp = cupy()
    squares = cp.square(centers).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * (centers @ centers.T)
    cp.fill_diagonal(apart, -cp.inf)
    return cp.argsort(apart, axis=1).astype(cp.int32)


def _tile_lists(around, first_tiles):
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
    arguments = (around, first_tiles.astype(cp.int32), ends, *size, lists)
    kernel((math.ceil(cells * probes / 256),), (256,), arguments)
    list_of = np.repeat(np.arange(cells, dtype=np.int32), cp.asnumpy(counts))
    return lists, cp.ascontiguousarray(ends[:, -1]), cp.asarray(list_of)
