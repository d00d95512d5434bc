"""Neighbours among very many points: each is compared with those in the cells around its own.

Cells are those of k-means on a sample. The rows of a cell fill whole tiles, so that the search of
candidates.cu runs over lists of tiles instead of all of them.
"""

from __future__ import annotations

import math

import numpy as np

from actup.backends.cuda.arrays import require_bytes
from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.neighbors import TILE, CandidateSearch, make_plan, scan

_CELL = 4096  # rows of a cell, on average
_SAMPLED = 128  # rows per cell that the centres are found from
_ROUNDS = 5  # of k-means
_PROBES = 96  # cells that a row is compared with
_SCORES = 1 << 29  # rows times cells that are compared at a time
_CHECKED = 256  # rows whose neighbours are found again among all points


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
    cells = n // _CELL
    require_bytes(plan.needed_bytes(n) + 12 * n + 4 * _SCORES, f"the search for the neighbours of {n} points")
    centers = find_centers(X, cells)
    labels = nearest_center(X, centers)
    order, first_tiles = _tiled_order(labels, cells)
    lists = _tile_lists(centers, first_tiles)
    search = CandidateSearch(X, order, plan)
    chunks = plan.chunks(lists[0].shape[1])
    for first, last in search.row_ranges():
        search.find(first, last, chunks, lists)
        search.rank(first, last, k, ids, sums, exact=False)
    scan(X, search.unproven(), 0, ids, sums, bounded=False)
    return _measured_recall(X, ids, sums)


def find_centers(X, cells: int):
    """The centres of k-means on a sample of the rows: (cells, columns)."""
    cp = cupy()
    n = len(X)
    sample = cp.ascontiguousarray(X[:: max(1, n // (_SAMPLED * cells))])
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


def _tile_lists(centers, first_tiles):
    """For each cell the tiles of the cells around it, nearest first: lists, lengths, and each tile's cell."""
    cp = cupy()
    cells = len(centers)
    starts = cp.asnumpy(first_tiles)
    counts = np.diff(starts)
    squares = cp.square(centers).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * (centers @ centers.T)
    apart[cp.arange(cells), cp.arange(cells)] = -1  # its own cell first
    around = cp.asnumpy(cp.argsort(apart, axis=1)[:, : min(_PROBES, cells)])
    sizes = counts[around]  # in tiles, (cells, probes)
    lengths = sizes.sum(axis=1)
    lists = np.zeros((cells, int(lengths.max())), np.int32)
    ends = np.cumsum(sizes.ravel())
    within = np.arange(ends[-1]) - np.repeat(ends - sizes.ravel(), sizes.ravel())
    lists[np.arange(lists.shape[1]) < lengths[:, None]] = (
        np.repeat(starts[:-1][around].ravel(), sizes.ravel()) + within
    )
    list_of = np.repeat(np.arange(cells, dtype=np.int32), counts)
    return cp.asarray(lists), cp.asarray(lengths.astype(np.int32)), cp.asarray(list_of)


def _measured_recall(X, ids, sums) -> float:
    """The share of a sample's neighbours that no point beats; the sample gets its true ones."""
    cp = cupy()
    rows = cp.asarray(np.linspace(0, len(X) - 1, _CHECKED).astype(np.int32))
    found = sums[rows]
    scan(X, rows, 0, ids, sums, bounded=True)
    reach = sums[rows][:, -1:] * np.float32(1 + 1e-5)  # the same sums, in another order
    return float((found <= reach).mean())
