"""Nearest neighbours on the GPU: which search suits the data and the wanted recall.

All pairs of rows are compared by 16-bit products, which prove most results to be exact (``candidates.py``),
or rows are compared with those of nearby cells only (``cells.py``), whichever takes less time. Few rows, and
metrics that are not scalar products, are compared in float32 (``scan.py``).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from actup._device import on_gpu
from actup._typing import Array
from actup._warnings import warn_user
from actup.backends._cuda.arrays import (
    copy_or_map,
    host_neighbors,
    is_host_memory,
    require_bytes,
    to_device,
    to_host,
)
from actup.backends._cuda.blocks import Select, count_blocks, search_in_blocks
from actup.backends._cuda.candidates import CandidateSearch, Plan, make_plan, spread_order
from actup.backends._cuda.cells import CellIndex, count_cells
from actup.backends._cuda.compile import cupy, load_kernels, value_macros
from actup.backends._cuda.constants import TILE
from actup.backends._cuda.launch import WARP, launch
from actup.backends._cuda.refine import refine
from actup.backends._cuda.sample import TruthSample
from actup.backends._cuda.scan import MAX_SCAN_K, length_deficits, scan
from actup.graph._records import Neighbors
from actup.neighbors._calibration import DEFAULT_RECALL, LOW_RECALL, refine_until
from actup.neighbors._metrics import metrics_where

GPU_METRICS = tuple(metrics_where(gpu=True))
ANGULAR = tuple(metrics_where(gpu=True, angular=True))
_WITHOUT_CANDIDATES = ("manhattan", "chebyshev")  # not scalar products, which is all tensor cores compute
_MAX_SCANNED_POINTS = 2048  # up to this many points, every pair is compared in float32
_MAX_CANDIDATE_K = 512  # neighbours; for more, every pair is compared in float32

# What a search takes is counted in products: pairs of rows times slabs of 64 columns. On an H200, 2.5e12 of
# them take a second.
_INDEX_PRODUCTS = 1.5e10  # that an index of cells takes in any case,
_SAMPLE_PRODUCTS = 500.0  # and those of its sample of rows, per value of X
_MIN_GAIN = 3.0  # an index is made if all pairs take this many times as long
_MAX_PROBED_SHARE = 0.5  # of all rows: if each is compared with more, comparing all takes no longer
_SCAN_PRODUCTS = 25.0  # of a pair in float32
_MAX_SCAN_SHARE = 0.25  # of the search, to compare rows that are not proven exact with all others
_MAX_REFINEMENT_ROUNDS = 4
_MIN_REFINEMENT_GAIN = 0.002  # of recall: a round that gains less is the last
_RECALL_MARGIN = 0.005  # by which the measured recall must exceed the wanted one: it is that of few rows
_ROUNDING_LOSS = 0.05  # a recall that stays so much below the wanted one: 16 bits do not tell rows apart


def nearest_neighbors(
    X: Array, k: int, metric: str, threads: int = 0, recall: float = DEFAULT_RECALL
) -> Neighbors:
    """The k nearest other points of every point.

    Parameters
    ----------
    X : array of shape (n, columns), C-contiguous and finite
        Of a type of ``ENGINE_TYPES``: kernels convert its values to float32 as they read them.
        On the device or the host; so is the result.
    k : int
        From 0 to n - 1. More than ``MAX_SCAN_K`` neighbours are searched for on the CPU.
    metric : str
        One of ``GPU_METRICS``.
    threads : int
        Threads of the CPU, where it searches.
    recall : float
        The wanted share of true neighbours. 1.0: all of them; ties go to the smaller id.

    Returns
    -------
    Neighbors
        Method "exact" if all pairs were compared and every list is proven, "products" if 16-bit products of
        all pairs chose the lists without a proof, "cells" if rows were compared with those of nearby cells.
        Except for "exact", the recall is measured on a sample of rows.
    """
    if not on_gpu(X):
        return host_neighbors(nearest_neighbors(copy_or_map(X), k, metric, threads, recall))
    cp = cupy()
    if metric not in GPU_METRICS:
        raise ValueError(
            f"metric={metric!r} is not one of {', '.join(map(repr, GPU_METRICS))} of backend='cuda'"
        )
    if k > MAX_SCAN_K:
        return _search_on_cpu(X, k, metric, threads, recall)
    n = len(X)
    require_bytes(8 * n * k, f"the {k} neighbours of {n} points")
    ids = cp.zeros((n, k), cp.int32)
    sums = cp.zeros((n, k), cp.float32)
    method, found = "exact", 1.0
    if k:
        rows = comparable_rows(X, metric)
        if not uses_candidates(n, k, metric):
            every = cp.asarray(np.arange(n, dtype=np.int32))
            scan(rows, every, metric, ids, sums, bounded=False)
        else:
            method, found = _Search(rows, metric, recall, ids, sums).run()
    if found < min(LOW_RECALL, recall):
        warn_user(
            f"about {found:.0%} of the nearest neighbours were found, {recall:.0%} were wanted: X has hardly "
            "any structure to search by; fewer columns, e.g. the leading principal components, may have "
            "more, and recall=1.0 compares all rows"
        )
    return Neighbors(ids, _distances(sums, metric), method, found)


def uses_candidates(n: int, k: int, metric: str) -> bool:
    """Whether tensor cores propose candidates; otherwise every pair is compared in float32."""
    return n > _MAX_SCANNED_POINTS and k <= _MAX_CANDIDATE_K and metric not in _WITHOUT_CANDIDATES


def may_use_cells(n: int, columns: int, k: int, metric: str, recall: float) -> bool:
    """Whether a search in cells may take less time than comparing all pairs."""
    all_pairs = float(n) ** 2 * make_plan(columns, k).slabs
    index = _INDEX_PRODUCTS + _SAMPLE_PRODUCTS * n * columns
    return recall < 1 and metric != "inner_product" and all_pairs > _MIN_GAIN * index


def _search_on_cpu(X: Array, k: int, metric: str, threads: int, recall: float) -> Neighbors:
    """Search on the CPU, and copy the neighbours to the device."""
    from actup.neighbors._api import nearest_neighbors as nearest_on_cpu

    found = nearest_on_cpu(to_host(X), k, metric=metric, recall=recall, n_jobs=threads or None)
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
    kernel = load_kernels("rows", **value_macros(X)).get_function("directions")
    launch(kernel, WARP * n, X, np.int32(n), np.int32(columns), np.int32(centered), out)
    return out


class _Search:
    """A search by 16-bit products: in cells or among all pairs, until the wanted recall is reached.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
        The rows that ``comparable_rows`` returns.
    metric : str
    recall : float
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are the distances before the metric's last step.
    """

    def __init__(self, X: Array, metric: str, recall: float, ids: Array, sums: Array):
        self._X, self._metric, self._recall = X, metric, recall
        self._ids, self._sums = ids, sums
        self._k = ids.shape[1]
        self._plan = make_plan(X.shape[1], self._k)
        self._deficits = length_deficits(X) if metric == "inner_product" else None
        self._sample: TruthSample | None = None

    def run(self) -> tuple[str, float]:
        """Write the neighbours; returns the method and the recall."""
        n, columns = self._X.shape
        if may_use_cells(n, columns, self._k, self._metric, self._recall):
            index = self._cells()
            if index.probed_share <= _MAX_PROBED_SHARE:
                return "cells", self._search_cells(index)
            del index
        unproven = self._compare_all()
        if self._recall < 1 and not self._scan_is_short(len(unproven)):
            return self._without_proof()
        scan(self._X, unproven, self._metric, self._ids, self._sums, bounded=True, deficits=self._deficits)
        return "exact", 1.0

    def _without_proof(self) -> tuple[str, float]:
        """Judge lists that 16-bit products cannot prove by their measured recall, and improve them."""
        recall = self._refined(self._truth().recall(self._sums), cupy().arange(len(self._X), dtype=np.int32))
        if recall >= self._recall or self._metric == "inner_product":
            return "products", recall
        return "cells", self._search_cells(self._cells(small=True))

    def _search_cells(self, index: CellIndex) -> float:
        """Search in cells; in more and smaller ones if 16 bits do not tell the rows of a cell apart."""
        recall = index.search(self._cell_plan(), self._ids, self._sums)
        if recall < self._recall - _ROUNDING_LOSS:
            index = self._cells(small=True)
            recall = index.search(self._cell_plan(), self._ids, self._sums)
        recall = self._refined(recall, index.order())
        # If cells are far apart, neighbours of neighbours lie in the same ones: refinement finds nothing new.
        while recall < self._recall and index.probed_share < _MAX_PROBED_SHARE and index.widen():
            recall = self._refined(index.search(self._cell_plan(), self._ids, self._sums), index.order())
        return recall

    def _cells(self, *, small: bool = False) -> CellIndex:
        cells = count_cells(len(self._X), small=small)
        return CellIndex(self._X, cells, self._truth(), self._recall)

    def _cell_plan(self) -> Plan:
        return make_plan(self._X.shape[1], self._k, in_cells=True)

    def _truth(self) -> TruthSample:
        if self._sample is None:
            self._sample = TruthSample(self._X, self._k, self._metric, self._deficits)
        return self._sample

    def _scan_is_short(self, rows: int) -> bool:
        n, columns = self._X.shape
        scanned = _SCAN_PRODUCTS * rows * n * columns / 64
        searched = n * n * self._plan.slabs + _INDEX_PRODUCTS
        return bool(scanned <= _MAX_SCAN_SHARE * searched)

    def _refined(self, recall: float, order: Array) -> float:
        """Run refinement rounds until the recall is reached; returns the last recall."""

        def refinement_round() -> float:
            refine(self._X, order, self._ids, self._sums)
            return self._truth().recall(self._sums)

        # Rows on the host would be read over the bus many times, and inner products are no distances.
        can_refine = self._metric != "inner_product" and not is_host_memory(self._X)
        rounds = _MAX_REFINEMENT_ROUNDS if can_refine else 0
        target = min(1.0, self._recall + _RECALL_MARGIN)
        return refine_until(
            target, refinement_round, recall, max_rounds=rounds, min_gain=_MIN_REFINEMENT_GAIN
        )

    def _compare_all(self) -> Array:
        """Compare all pairs, in blocks of rows if memory is short; returns rows that are not proven."""
        X, plan, k = self._X, self._plan, self._k
        blocks = count_blocks(len(X), X.shape[1], k, plan)
        unproven: list[Array] = []

        def search(rows: Array, select: Select, ids: Array, sums: Array) -> None:
            deficits = None if self._deficits is None else select(self._deficits)
            found = _search_by_candidates(rows, k, ids, sums, deficits)
            if blocks == 1:
                unproven.append(found)
            else:  # a row that is not proven among two blocks cannot be told apart after the merge
                scan(rows, found, self._metric, ids, sums, bounded=True, deficits=deficits)

        search_in_blocks(X, blocks, self._ids, self._sums, search)
        return unproven[0] if unproven else cupy().zeros(0, np.int32)


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
