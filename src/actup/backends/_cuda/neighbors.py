"""Exact nearest neighbours on the GPU: tensor cores propose candidates, float32 distances decide.

The distance matrix is never stored. ``kernels/candidates.cu`` compares all rows with a growing range of
points; ``kernels/ranking.cu`` keeps the best of them. ``kernels/scan.cu`` compares the rows whose result is
not proven exact with every point.
"""

from __future__ import annotations

import math
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from actup._device import on_gpu
from actup._typing import Array
from actup.backends._cuda.arrays import (
    copy_or_map,
    free_bytes,
    host_neighbors,
    require_bytes,
    synchronize,
    to_device,
    to_host,
)
from actup.backends._cuda.blocks import Select, count_blocks, search_in_blocks
from actup.backends._cuda.compile import cupy, load_kernels, request_kernels
from actup.backends._cuda.constants import (
    CANDIDATE_THREADS,
    MEAN_COLUMNS,
    MEAN_RUNS,
    NARROW_BLOCKS,
    NARROW_STAGES,
    SCAN_BATCH,
    SCAN_ROWS,
    SLAB,
    TILE,
    WIDE_BLOCKS,
    WIDE_STAGES,
)
from actup.backends._cuda.launch import WARP, blocks_for, launch, multiprocessors
from actup.backends._cuda.refine import lanes_per_distance
from actup.graph._records import Neighbors
from actup.neighbors._metrics import metrics_where

# How scan.cu compares rows for each metric, by the names it defines; "cosine" and "correlation" compare
# squared differences of directions.
SCAN_METRICS = {
    "euclidean": "SQUARES",
    "cosine": "SQUARES",
    "correlation": "SQUARES",
    "inner_product": "INNER_PRODUCT",
    "manhattan": "MAGNITUDES",
    "chebyshev": "LARGEST_MAGNITUDE",
}
GPU_METRICS = tuple(metrics_where(gpu=True))
ANGULAR = tuple(metrics_where(gpu=True, angular=True))
_WITHOUT_CANDIDATES = ("manhattan", "chebyshev")  # not scalar products, which is all tensor cores compute

MAX_EXACT_POINTS = 3_000_000  # beyond, a point is compared with those of nearby cells only
_MAX_SCANNED_POINTS = 2048  # up to this many points, every pair is compared in float32
_MAX_CANDIDATE_K = 512  # neighbours; for more, every pair is compared in float32
MAX_SCAN_K = 2500  # neighbours; the lists of more do not fit into a thread block's shared memory

_EXTRA_CANDIDATES = 9  # kept beyond k, the row itself included: rounding to 16 bits changes the order
_GROWTH = 3  # a launch looks at this multiple of the points already seen
_LOWEST_THRESHOLD = -25000.0  # below every score, above kPaddingScore of candidate.h
_MAX_SEARCH_SHARE = 0.6  # of the free memory, for the candidates of the rows searched at a time
_MEAN_SAMPLE = 1000  # rows from which the mean is estimated
_MIN_PART_POINTS = 2048  # few rows: their points are divided among thread blocks, at least this many each
_GOLDEN_RATIO = 0.6180339887498949
_MAX_LONGEST_ROW_WARPS = 1 << 15  # warps that look for the longest row


@dataclass(frozen=True)
class Plan:
    """The sizes that candidates.cu and ranking.cu are compiled for; the names are those of their macros."""

    keep: int
    lists: int
    length: int
    slabs: int
    steps: int
    narrow: bool

    @property
    def first_tiles(self) -> int:
        """Tiles whose points cannot overflow the lists even if every pair is a candidate."""
        return self.lists * self.length // TILE

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

    @property
    def slab_bytes(self) -> int:
        """Bytes of a row in a slab: 16-bit numbers."""
        return 2 * SLAB

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a thread block of candidates.cu: tiles of keys, and of queries unless narrow."""
        return self.slab_bytes * TILE * (NARROW_STAGES if self.narrow else 2 * WIDE_STAGES)

    def request(self, columns: int) -> tuple[Future[Any], Future[Any]]:
        """Start to compile the kernels that find candidates, and those that choose among them."""
        macros: dict[str, Any] = {"KEEP": self.keep, "LISTS": self.lists, "LENGTH": self.length}
        narrow: dict[str, Any] = {"NARROW": 1} if self.narrow else {}
        return (
            request_kernels("candidates", **macros, **narrow, STEPS=self.steps),
            request_kernels("ranking", **macros, LANES=lanes_per_distance(columns)),
        )


def make_plan(columns: int, k: int) -> Plan:
    """The sizes for k neighbours of rows with ``columns`` columns."""
    extra = _EXTRA_CANDIDATES + max(0, k - 15) // 6  # distances lie closer together farther out
    keep = 8 * math.ceil((k + extra) / 8)
    slabs = math.ceil((columns + 2) / SLAB)
    steps = math.ceil((columns + 2 - SLAB * (slabs - 1)) / 16)
    narrow = slabs == 1
    lists = 4 if narrow else 8
    expected = _GROWTH * keep / lists
    length = 16 * max(4 if narrow else 2, math.ceil((expected + 6 * math.sqrt(expected) + 2) / 16))
    return Plan(keep, lists, length, slabs, steps, narrow)


def nearest_neighbors(X: Array, k: int, metric: str, threads: int = 0) -> Neighbors:
    """The k nearest other points of every point; ties go to the smaller id.

    The result is exact up to ``MAX_EXACT_POINTS`` points. Beyond, a point is compared with those of nearby
    cells, and the recall is measured on a sample. More than ``MAX_SCAN_K`` neighbours are searched for on the
    CPU.

    Parameters
    ----------
    X : array of shape (n, columns), C-contiguous float32, finite
        On the device or the host; so is the result.
    k : int
        From 0 to n - 1.
    metric : str
        One of ``GPU_METRICS``.
    threads : int
        Threads of the CPU, where it searches.

    Returns
    -------
    Neighbors
    """
    if not on_gpu(X):
        return host_neighbors(nearest_neighbors(copy_or_map(X), k, metric, threads))
    cp = cupy()
    if metric not in GPU_METRICS:
        raise ValueError(
            f"metric={metric!r} is not one of {', '.join(map(repr, GPU_METRICS))} of backend='cuda'"
        )
    if k > MAX_SCAN_K:
        return _search_on_cpu(X, k, metric, threads)
    n = len(X)
    require_bytes(8 * n * k, f"the {k} neighbours of {n} points")
    ids = cp.zeros((n, k), cp.int32)
    sums = cp.zeros((n, k), cp.float32)
    if k:
        rows = comparable_rows(X, metric)
        if not uses_candidates(n, k, metric):
            every = cp.asarray(np.arange(n, dtype=np.int32))
            scan(rows, every, metric, ids, sums, bounded=False)
        elif n <= MAX_EXACT_POINTS or metric == "inner_product":
            _search_all(rows, metric, ids, sums)
        else:
            from actup.backends._cuda.cells import neighbors_in_cells

            recall = neighbors_in_cells(rows, k, ids, sums)
            return Neighbors(ids, _distances(sums, metric), "cells", recall)
    return Neighbors(ids, _distances(sums, metric), "exact", 1.0)


def uses_candidates(n: int, k: int, metric: str) -> bool:
    """Whether tensor cores propose candidates; otherwise every pair is compared in float32."""
    return n > _MAX_SCANNED_POINTS and k <= _MAX_CANDIDATE_K and metric not in _WITHOUT_CANDIDATES


def _search_on_cpu(X: Array, k: int, metric: str, threads: int) -> Neighbors:
    """Search on the CPU, and copy the neighbours to the device."""
    from actup.neighbors._api import nearest_neighbors as nearest_on_cpu

    found = nearest_on_cpu(to_host(X), k, metric=metric, n_jobs=threads or None)
    return replace(found, indices=to_device(found.indices, np.int32), distances=to_device(found.distances))


def _distances(sums: Array, metric: str) -> Array:
    """Turn the sums into distances, in place: their root or, where directions were compared, their half."""
    if metric == "euclidean" or metric in (*ANGULAR, "inner_product"):
        kernel = load_kernels("rows").get_function("finish_distances")
        launch(kernel, sums.size, sums, np.int64(sums.size), np.int32(metric == "euclidean"))
    return sums


def comparable_rows(X: Array, metric: str) -> Array:
    """The rows between which squared differences are compared: directions for the angular metrics, else X."""
    return directions(X, metric == "correlation") if metric in ANGULAR else X


def directions(X: Array, centered: bool) -> Array:
    """The rows divided by their lengths, and one more column that is 1 in rows of length zero, else 0."""
    n, columns = X.shape
    require_bytes(4 * n * (columns + 1), f"the directions of {n} rows")
    out = cupy().empty((n, columns + 1), np.float32)
    kernel = load_kernels("rows").get_function("directions")
    launch(kernel, WARP * n, X, np.int32(n), np.int32(columns), np.int32(centered), out)
    return out


def _length_deficits(X: Array) -> Array:
    """The largest squared length of all rows minus that of each row: (n,) float32."""
    cp = cupy()
    n, columns = X.shape
    largest, out = cp.zeros(1, cp.uint64), cp.empty(n, np.float32)
    kernels = load_kernels("rows")
    size = (np.int32(n), np.int32(columns))
    launch(kernels.get_function("largest_length"), WARP * n, X, *size, largest)
    launch(kernels.get_function("length_deficits"), WARP * n, X, *size, largest, out)
    return out


def sampled_mean(X: Array) -> Array:
    """The mean of about a thousand rows: (columns,) float32."""
    n, columns = X.shape
    out = cupy().empty(columns, np.float32)
    kernel = load_kernels("rows").get_function("sampled_mean")
    step = np.int32(max(1, n // _MEAN_SAMPLE))
    grid, threads = (blocks_for(columns, MEAN_COLUMNS),), (MEAN_COLUMNS, MEAN_RUNS)
    kernel(grid, threads, (X, np.int32(n), np.int32(columns), step, out))
    return out


def scan(
    X: Array,
    rows: Array,
    metric: str,
    ids: Array,
    sums: Array,
    *,
    bounded: bool,
    deficits: Array | None = None,
    points: int | None = None,
    to: Array | None = None,
) -> None:
    """Compare some rows with every point in float32, and write their neighbours.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
        The rows that ``comparable_rows`` returns.
    rows : cupy.ndarray, int32
        The rows whose neighbours are wanted.
    metric : str
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are the distances before the metric's last step.
    bounded : bool
        Whether the last column of ``sums`` is an upper bound of the true one.
    deficits : cupy.ndarray of shape (n,), float32, optional
        As for ``CandidateSearch``; None: computed if the metric needs them.
    points : int, optional
        Only the first ``points`` rows of X are searched among; None: all.
    to : cupy.ndarray, int32, optional
        The rows of ``ids`` and ``sums`` that are written; None: ``rows``.
    """
    if not len(rows):
        return
    cp = cupy()
    (n, columns), k, count = X.shape, ids.shape[1], len(rows)
    n, to = n if points is None else points, rows if to is None else to
    capacity = 16 * math.ceil((k + 2 * SCAN_BATCH) / 16)
    kernels = load_kernels("scan", METRIC=SCAN_METRICS[metric], K=k, CAPACITY=capacity)
    kernel = kernels.get_function("scan_rows")
    shared_bytes = 8 * SCAN_ROWS * capacity
    kernel.max_dynamic_shared_size_bytes = shared_bytes
    blocks = blocks_for(count, SCAN_ROWS)
    idle = 2 * multiprocessors() // blocks
    parts = max(1, min(idle, n // _MIN_PART_POINTS))
    found = cp.empty((parts, count, k), cp.uint64)
    size = (np.int32(n), np.int32(columns))
    if deficits is None:
        deficits = _length_deficits(X) if metric == "inner_product" else np.uintp(0)
    arguments = (X, *size, rows, np.int32(count), np.int32(bounded), sums, deficits, found)
    kernel((blocks, parts), (WARP * SCAN_ROWS,), arguments, shared_mem=shared_bytes)
    merge = kernels.get_function("merge_parts")
    merge((blocks,), (WARP * SCAN_ROWS,), (found, np.int32(parts), to, np.int32(count), ids, sums))


def _search_all(X: Array, metric: str, ids: Array, sums: Array) -> None:
    """Write the exact neighbours of all rows, in blocks of rows if memory is short."""
    columns, (n, k) = X.shape[1], ids.shape
    deficits = _length_deficits(X) if metric == "inner_product" else None

    def search(rows: Array, select: Select, ids: Array, sums: Array) -> None:
        own = None if deficits is None else select(deficits)
        unproven = _search_by_candidates(rows, k, ids, sums, own)
        scan(rows, unproven, metric, ids, sums, bounded=True, deficits=own)

    search_in_blocks(X, count_blocks(n, columns, k, make_plan(columns, k)), ids, sums, search)


def _search_by_candidates(X: Array, k: int, ids: Array, sums: Array, deficits: Array | None) -> Array:
    """Write every row's neighbours; returns the rows whose neighbours are not proven to be exact."""
    n, columns = X.shape
    plan = make_plan(columns, k)
    require_bytes(plan.needed_bytes(n), f"the search for the neighbours of {n} points")
    search = CandidateSearch(X, spread_order(n), plan, deficits)
    chunks = plan.chunks(math.ceil(n / TILE))
    for first, last in search.row_ranges():
        search.find(first, last, chunks)
        search.rank(first, last, k, ids, sums, exact=True)
    return search.unproven()


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


class CandidateSearch:
    """The rows of X as 16-bit numbers in tiles, and the candidates of a range of rows at a time.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    order : cupy.ndarray of shape (positions,), int32
        The row of X at every position, -1 for padding; ``positions`` is a multiple of ``TILE``.
    plan : Plan
    deficits : cupy.ndarray of shape (n,), float32, optional
        The largest squared length minus that of each row, for inner products; None: distances.
    """

    def __init__(self, X: Array, order: Array, plan: Plan, deficits: Array | None = None):
        cp = cupy()
        self._X, self._order, self._plan = X, order, plan
        self._deficits = np.uintp(0) if deficits is None else deficits
        self._columns = np.int32(X.shape[1])
        self._finding, self._ranking = (part.result() for part in plan.request(X.shape[1]))
        positions = len(order)
        center = sampled_mean(X)
        # As the bits of a float: the squared length of the longest row, the largest rounding error of a row.
        self._extremes = cp.zeros(2, cp.uint32)
        self._queries = cp.empty(positions * plan.slabs * SLAB, cp.uint16)
        self._keys = cp.empty_like(self._queries)
        self._squares = cp.empty(positions, cp.float32)
        self._rounding = cp.empty(positions, cp.float32)
        self._unproven = cp.empty(len(X), cp.int32)
        self._unproven_count = cp.zeros(1, cp.int32)
        longest, worst = self._extremes[:1], self._extremes[1:]
        n, self._positions = np.int32(len(X)), positions
        size = (n, self._columns)
        self._launch(
            "longest_row", min(len(X), _MAX_LONGEST_ROW_WARPS), X, center, self._deficits, *size, longest
        )
        self._launch(
            "prepare_rows", positions, X, center, self._deficits, order, longest,
            np.int32(positions), self._columns, np.int32(plan.slabs), self._queries, self._keys,
            self._squares, self._rounding, worst,
        )  # fmt: skip
        fitting = int(_MAX_SEARCH_SHARE * free_bytes()) // plan.row_bytes
        rows = max(TILE, min(positions, fitting // TILE * TILE))
        self._rows = TILE * math.ceil(math.ceil(positions / math.ceil(positions / rows)) / TILE)
        self._candidates = cp.empty((self._rows, plan.keep + plan.lists * plan.length), cp.uint64)
        self._counts = cp.empty((self._rows, plan.lists), cp.int32)
        self._overflowed = cp.empty(self._rows, cp.uint8)
        self._thresholds = cp.empty(self._rows, cp.float32)

    def row_ranges(self) -> list[tuple[int, int]]:
        """Ranges of positions that are searched at once, as large as memory allows."""
        return [(at, min(at + self._rows, self._positions)) for at in range(0, self._positions, self._rows)]

    def find(
        self,
        first: int,
        last: int,
        chunks: list[int],
        tile_lists: tuple[Array, Array, Array] | None = None,
    ) -> None:
        """Collect the candidates of a range of positions.

        Parameters
        ----------
        first, last : int
            The range, whole tiles.
        chunks : list of int
            Positions in the list of tiles where the launches begin and end; the first is 0.
        tile_lists : tuple of cupy.ndarray, optional
            Lists of tiles (lists, stride), their lengths (lists,), and for each tile of rows the number of
            the list it is compared with; None: all tiles.
        """
        plan = self._plan
        order = self._order[first:last]
        launch(
            load_kernels("rows").get_function("first_thresholds"),
            last - first,
            order,
            np.int32(last - first),
            np.float32(_LOWEST_THRESHOLD),
            self._thresholds,
            self._overflowed,
        )
        row_tiles = (last - first) // TILE
        kernel = self._finding.get_function("find_candidates")
        kernel.max_dynamic_shared_size_bytes = plan.shared_bytes
        grid = min(row_tiles, (NARROW_BLOCKS if plan.narrow else WIDE_BLOCKS) * multiprocessors())
        queries = self._queries[first * SLAB :]
        lists: Array = 0
        counts: Array = 0
        list_of: Array = 0
        stride = 0
        if tile_lists is not None:
            lists, counts, list_of = tile_lists
            list_of, stride = list_of[first // TILE :], lists.shape[1]
        for at, (begin, end) in enumerate(pairwise(chunks)):
            arguments = (
                queries, self._keys, self._thresholds, self._counts, self._candidates, np.int32(row_tiles),
                np.int64(self._positions), np.int32(plan.slabs), lists, counts, list_of,
                np.int32(stride), np.int32(begin), np.int32(end),
            )  # fmt: skip
            kernel((grid,), (CANDIDATE_THREADS,), arguments, shared_mem=plan.shared_bytes)
            self._launch(
                "select_candidates", last - first, self._candidates, self._counts, order,
                self._squares[first:last], self._thresholds, self._overflowed, np.int32(last - first),
                np.int32(at == 0),
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
