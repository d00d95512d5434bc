"""Exact nearest neighbours on the GPU: tensor cores propose, float32 decides, the unproven rest is scanned.

The distance matrix is never written. ``kernels/candidates.cu`` compares all rows with a growing range of
columns, of which ``kernels/ranking.cu`` keeps the best few; ``kernels/scan.cu`` looks at every point for the
rows that remain unproven.
"""

from __future__ import annotations

import math
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from actup.backends._cuda.arrays import free_bytes, host_neighbors, placed, require_bytes, to_device, to_host
from actup.backends._cuda.blocks import count_blocks, search_in_blocks
from actup.backends._cuda.compile import cupy, load_kernels, request_kernels
from actup.graph._records import Neighbors, on_gpu

METRICS = ("euclidean", "cosine", "correlation", "inner_product", "manhattan", "chebyshev")
SCALARS = (np.float32,)

TILE = 128  # rows and columns of a tile; as in candidates.cu
_SLACK = 9  # candidates kept beyond k, self included: what rounding to 16 bits may put in the wrong order
_GROWTH = 3  # a launch looks at so many times the columns already seen
_FEW = 2048  # rows that are scanned at once
MOST_EXACT = 3_000_000  # rows whose pairs are all compared
_MOST_KEPT = 512  # neighbours that candidates are kept for
_MOST_SCANNED = 2500  # neighbours whose lists fit in a block's memory
# As scan.cu numbers the metrics that are no Euclidean distances, and those whose pairs it compares all.
_IN_SCAN = {"manhattan": 1, "chebyshev": 2, "inner_product": 3}
_SCANNED = ("manhattan", "chebyshev")
_TO_START = -25000.0  # below every score, above those of columns that only fill a tile


@dataclass(frozen=True)
class Plan:
    """The sizes that candidates.cu and ranking.cu are compiled for; the names are their macros'."""

    keep: int
    lists: int
    length: int
    slabs: int
    steps: int
    narrow: bool

    @property
    def first_tiles(self) -> int:
        """Tiles that fill the lists even if every pair is a candidate."""
        return self.lists * self.length // TILE

    def chunks(self, tiles: int) -> list[int]:
        """Where the launches begin and end that look at so many tiles."""
        chunks = [0, min(self.first_tiles, tiles)]
        while chunks[-1] < tiles:
            chunks.append(min(chunks[-1] * (1 + _GROWTH), tiles))
        return chunks

    @property
    def row_bytes(self) -> int:
        """What a row needs while it is searched for."""
        return 8 * (self.keep + self.lists * self.length) + 4 * self.lists + 1

    def needed_bytes(self, n: int) -> int:
        """The least that a search among n points needs, X and the result not counted."""
        return n * (256 * self.slabs + 24) + TILE * self.row_bytes

    def request(self, columns: int) -> tuple[Future, Future]:
        """The kernels that find candidates, and those that choose among them."""
        macros = {"KEEP": self.keep, "LISTS": self.lists, "LENGTH": self.length}
        narrow = {"NARROW": 1} if self.narrow else {}
        return (
            request_kernels("candidates", **macros, **narrow, STEPS=self.steps),
            request_kernels("ranking", **macros, LANES=8 if columns <= 128 else 32),
        )


def make_plan(columns: int, k: int) -> Plan:
    """The sizes for rows of so many columns."""
    keep = 8 * math.ceil((k + _SLACK + max(0, k - 15) // 6) / 8)  # distant ones are denser
    slabs = math.ceil((columns + 2) / 64)
    steps = math.ceil((columns + 2 - 64 * (slabs - 1)) / 16)
    narrow = slabs == 1
    lists = 4 if narrow else 8
    expected = _GROWTH * keep / lists
    length = 16 * max(4 if narrow else 2, math.ceil((expected + 6 * math.sqrt(expected) + 2) / 16))
    return Plan(keep, lists, length, slabs, steps, narrow)


def nearest_neighbors(X, k: int, metric: str, threads: int = 0) -> Neighbors:
    """The k nearest other points of every point; ties go to the smaller id.

    They are exact up to ``MOST_EXACT`` points; beyond, a point is compared with those in the cells around it,
    and the share of true neighbours that this finds is measured on a sample. More neighbours than fit in a
    thread block's memory are searched on the CPU.

    Parameters
    ----------
    X : array of shape (n, columns), C-contiguous float32, finite
        On the device or not; the result lies where it does.
    k : int
        From 0 to n - 1.
    metric : str
        One of ``METRICS``.
    threads : int
        How many threads work where the CPU does.

    Returns
    -------
    Neighbors
    """
    if not on_gpu(X):
        return host_neighbors(nearest_neighbors(placed(X), k, metric, threads))
    cp = cupy()
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, METRICS))} of backend='cuda'")
    if k > _MOST_SCANNED:
        return _from_cpu(X, k, metric, threads)
    n = len(X)
    require_bytes(8 * n * k, f"the {k} neighbours of {n} points")
    ids = cp.zeros((n, k), cp.int32)
    sums = cp.zeros((n, k), cp.float32)
    if k:
        rows = directions(X, metric == "correlation") if metric in ("cosine", "correlation") else X
        if not compared_by_candidates(n, k, metric):
            every = cp.asarray(np.arange(n, dtype=np.int32))
            scan(rows, every, _IN_SCAN.get(metric, 0), ids, sums, bounded=False)
        elif n <= MOST_EXACT or metric == "inner_product":
            _search_all(rows, metric, ids, sums)
        else:
            from actup.backends._cuda.cells import neighbors_in_cells

            recall = neighbors_in_cells(rows, k, ids, sums)
            return Neighbors(ids, _distances(sums, metric), engine="cells", recall=recall)
    return Neighbors(ids, _distances(sums, metric), engine="exact", recall=1.0)


def compared_by_candidates(n: int, k: int, metric: str) -> bool:
    """Whether tensor cores propose the neighbours; else every pair is compared in float32."""
    return n > _FEW and k <= _MOST_KEPT and metric not in _SCANNED


def _from_cpu(X, k: int, metric: str, threads: int) -> Neighbors:
    """The neighbours found on the CPU, brought to the device."""
    from actup.neighbors._api import nearest_neighbors as nearest_on_cpu

    found = nearest_on_cpu(to_host(X), k, metric=metric, n_jobs=threads or None)
    return replace(found, indices=to_device(found.indices, np.int32), distances=to_device(found.distances))


def _distances(sums, metric: str):
    """The sums as distances, in place."""
    halves = ("cosine", "correlation", "inner_product")
    kind = 1 if metric == "euclidean" else 2 if metric in halves else 0
    if kind:
        kernel = load_kernels("rows").get_function("finish_distances")
        kernel((math.ceil(sums.size / 256),), (256,), (sums, np.int64(sums.size), np.int32(kind)))
    return sums


def directions(X, centered: bool):
    """The rows divided by their lengths, with one more column that is 1 where there is none."""
    n, columns = X.shape
    require_bytes(4 * n * (columns + 1), f"the directions of {n} rows")
    out = cupy().empty((n, columns + 1), np.float32)
    kernel = load_kernels("rows").get_function("directions")
    kernel((math.ceil(n / 8),), (256,), (X, np.int32(n), np.int32(columns), np.int32(centered), out))
    return out


def _lacking_lengths(X):
    """What the squared length of every row lacks to the largest one: (n,) float32."""
    cp = cupy()
    n, columns = X.shape
    largest, out = cp.zeros(1, cp.uint64), cp.empty(n, np.float32)
    kernels = load_kernels("rows")
    size = (np.int32(n), np.int32(columns))
    grid, block = (math.ceil(n / 8),), (256,)
    kernels.get_function("largest_length")(grid, block, (X, *size, largest))
    kernels.get_function("lacking_lengths")(grid, block, (X, *size, largest, out))
    return out


def sampled_mean(X):
    """The mean of about a thousand rows: (columns,) float32."""
    n, columns = X.shape
    out = cupy().empty(columns, np.float32)
    kernel = load_kernels("rows").get_function("sampled_mean")
    step = np.int32(max(1, n // 1000))
    kernel((math.ceil(columns / 32),), (32, 16), (X, np.int32(n), np.int32(columns), step, out))
    return out


def scan(X, rows, metric: int, ids, sums, *, bounded: bool, lacking=None, points=None, to=None) -> None:
    """Look at every point for some rows, and write their neighbours.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    rows : cupy.ndarray, int32
        Whose neighbours are wanted.
    metric : int
        As scan.cu numbers them.
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are the distances before the metric's last step.
    bounded : bool
        Whether the last of ``sums`` is at least as large as the true one.
    lacking : cupy.ndarray of shape (n,), float32, optional
        As ``CandidateSearch`` has it; None: found where the metric needs it.
    points : int, optional
        How many rows of X, the first ones, are looked at; None: all.
    to : cupy.ndarray, int32, optional
        The rows of ``ids`` and ``sums`` that are written; None: ``rows``.
    """
    if not len(rows):
        return
    cp = cupy()
    (n, columns), k, count = X.shape, ids.shape[1], len(rows)
    n, to = n if points is None else points, rows if to is None else to
    room = 16 * math.ceil((k + 1024) / 16)
    kernels = load_kernels("scan", METRIC=metric, K=k, ROOM=room)
    kernel = kernels.get_function("scan_rows")
    kernel.max_dynamic_shared_size_bytes = 64 * room
    blocks = math.ceil(count / 8)
    idle = 2 * cp.cuda.Device().attributes["MultiProcessorCount"] // blocks
    parts = max(1, min(idle, n // 2048))  # few rows: their points are dealt to several blocks of threads
    found = cp.empty((parts, count, k), cp.uint64)
    size = (np.int32(n), np.int32(columns))
    if lacking is None:
        lacking = _lacking_lengths(X) if metric == _IN_SCAN["inner_product"] else np.uintp(0)
    arguments = (X, *size, rows, np.int32(count), np.int32(bounded), sums, lacking, found)
    kernel((blocks, parts), (256,), arguments, shared_mem=64 * room)
    merge = kernels.get_function("merge_parts")
    merge((blocks,), (256,), (found, np.int32(parts), to, np.int32(count), ids, sums))


def _search_all(X, metric: str, ids, sums) -> None:
    """Write the exact neighbours of all rows, in blocks of them if memory asks for it."""
    columns, (n, k) = X.shape[1], ids.shape
    lacking = _lacking_lengths(X) if metric == "inner_product" else None

    def search(rows, part, ids, sums) -> None:
        own = None if lacking is None else part(lacking)
        unproven = _from_candidates(rows, k, ids, sums, own)
        scan(rows, unproven, _IN_SCAN.get(metric, 0), ids, sums, bounded=True, lacking=own)

    search_in_blocks(X, count_blocks(n, columns, k, make_plan(columns, k)), ids, sums, search)


def _from_candidates(X, k: int, ids, sums, lacking=None):
    """Write every row's neighbours; returns the rows for which they are not proven."""
    n, columns = X.shape
    plan = make_plan(columns, k)
    require_bytes(plan.needed_bytes(n), f"the search for the neighbours of {n} points")
    search = CandidateSearch(X, spread_order(n), plan, lacking)
    chunks = plan.chunks(math.ceil(n / TILE))
    for first, last in search.row_ranges():
        search.find(first, last, chunks)
        search.rank(first, last, k, ids, sums, exact=True)
    return search.unproven()


def spread_order(n: int):
    """A fixed order in which any run of rows is spread over all of them; -1 fills up the last tile."""
    cp = cupy()
    stride = max(1, int(n * 0.6180339887498949))
    while math.gcd(stride, n) != 1:
        stride += 1
    order = cp.empty(TILE * math.ceil(n / TILE), cp.int32)
    kernel = load_kernels("rows").get_function("spread_order")
    arguments = (np.int32(n), np.int32(len(order)), np.int64(stride), order)
    kernel((math.ceil(len(order) / 256),), (256,), arguments)
    return order


class CandidateSearch:
    """The rows of X in 16 bits on tiles, and the candidates of a range of them at a time.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    order : cupy.ndarray of shape (places,), int32
        The row of X at every place, -1 where there is none; places is a multiple of the tile.
    plan : Plan
    lacking : cupy.ndarray of shape (n,), float32, optional
        What the squared length of every row lacks to the largest one, for inner products; None: distances.
    """

    def __init__(self, X, order, plan: Plan, lacking=None):
        cp = cupy()
        self._X, self._order, self._plan = X, order, plan
        self._lacking = np.uintp(0) if lacking is None else lacking
        self._columns = np.int32(X.shape[1])
        self._finding, self._kernels = (part.result() for part in plan.request(X.shape[1]))
        places = len(order)
        center = sampled_mean(X)
        self._extremes = cp.zeros(
            2, cp.uint32
        )  # bits of the longest row's squared length, the worst rounding
        self._queries = cp.empty(places * plan.slabs * 64, cp.uint16)
        self._keys = cp.empty_like(self._queries)
        self._squares = cp.empty(places, cp.float32)
        self._rounding = cp.empty(places, cp.float32)
        self._flagged = cp.empty(len(X), cp.int32)
        self._flags = cp.zeros(1, cp.int32)
        longest, worst = self._extremes[:1], self._extremes[1:]
        n, self._places = np.int32(len(X)), places
        size = (n, self._columns)
        blocks = min(math.ceil(len(X) / 8), 4096)
        self._launch("longest_row", blocks, X, center, self._lacking, *size, longest)
        self._launch(
            "prepare_rows", math.ceil(places / 8), X, center, self._lacking, order, longest,
            np.int32(places), self._columns, np.int32(plan.slabs), self._queries, self._keys, self._squares,
            self._rounding, worst,
        )  # fmt: skip
        rows = max(TILE, min(places, int(0.6 * free_bytes()) // plan.row_bytes // TILE * TILE))
        self._rows = TILE * math.ceil(math.ceil(places / math.ceil(places / rows)) / TILE)
        self._room = cp.empty((self._rows, plan.keep + plan.lists * plan.length), cp.uint64)
        self._counts = cp.empty((self._rows, plan.lists), cp.int32)
        self._overflowed = cp.empty(self._rows, cp.uint8)
        self._thresholds = cp.empty(self._rows, cp.float32)

    def row_ranges(self):
        """Ranges of places that are searched at once, as many as memory allows."""
        return [(at, min(at + self._rows, self._places)) for at in range(0, self._places, self._rows)]

    def find(self, first: int, last: int, chunks: list[int], tile_lists=None) -> None:
        """Collect the candidates of a range of places.

        Parameters
        ----------
        first, last : int
            The range, whole tiles.
        chunks : list of int
            Positions in the list of tiles between which one launch works; the first is 0.
        tile_lists : tuple of cupy.ndarray, optional
            Lists of tiles (lists, stride), their lengths (lists,), and the list that each block of rows is
            compared with (row blocks,); None: all tiles.
        """
        cp, plan = cupy(), self._plan
        order = self._order[first:last]
        load_kernels("rows").get_function("first_thresholds")(
            (math.ceil((last - first) / 256),),
            (256,),
            (order, np.int32(last - first), np.float32(_TO_START), self._thresholds, self._overflowed),
        )
        blocks = (last - first) // TILE
        kernel = self._finding.get_function("find_candidates")
        shared = 128 * TILE * (4 if plan.narrow else 6)
        kernel.max_dynamic_shared_size_bytes = shared
        per_processor = 3 if plan.narrow else 2
        slots = per_processor * cp.cuda.Device().attributes["MultiProcessorCount"]
        grid = min(blocks, slots)
        queries = self._queries[first * 64 :]
        lists, counts, list_of, stride = 0, 0, 0, 0
        if tile_lists is not None:
            lists, counts, list_of = tile_lists
            list_of, stride = list_of[first // TILE :], lists.shape[1]
        for at, (begin, end) in enumerate(pairwise(chunks)):
            arguments = (
                queries, self._keys, self._thresholds, self._counts, self._room, np.int32(blocks),
                np.int64(self._places), np.int32(plan.slabs), lists, counts, list_of,
                np.int32(stride), np.int32(begin), np.int32(end),
            )  # fmt: skip
            kernel((grid,), (128,), arguments, shared_mem=shared)
            self._launch(
                "select_candidates", math.ceil((last - first) / 8), self._room, self._counts, order,
                self._squares[first:last], self._thresholds, self._overflowed, np.int32(last - first),
                np.int32(at == 0),
            )  # fmt: skip

    def rank(self, first: int, last: int, k: int, ids, sums, *, exact: bool) -> None:
        """Write the neighbours of a range of places: the best of the candidates in float32."""
        self._launch(
            "rank_candidates", math.ceil((last - first) / 8), self._X, self._lacking, self._columns,
            self._order[first:last], self._room, self._thresholds, self._squares[first:last],
            self._rounding[first:last], self._overflowed, self._extremes[:1], self._extremes[1:], self._order,
            np.int32(first), np.int32(last - first), np.int32(k), np.int32(exact), ids, sums, self._flagged,
            self._flags,
        )  # fmt: skip

    def unproven(self):
        """The rows whose neighbours are not proven, in any order."""
        return self._flagged[: int(self._flags.get()[0])]

    def _launch(self, name: str, blocks: int, *arguments) -> None:
        self._kernels.get_function(name)((blocks,), (256,), arguments)
