"""Approximate search in metrics that the cluster search does not rank by: candidates come from a proxy.

The proxy only proposes. Candidates are compared in the metric itself, and the number of candidates is
calibrated on the true neighbours of a sample. Where no affordable number reaches the wanted recall, the
caller falls back to an exact search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from actup._reporting import part_of_work, report
from actup._typing import Rows
from actup.graph._records import Neighbors
from actup.neighbors._calibration import (
    PLANNING_SHARE,
    SAMPLE_ROWS,
    SEARCH_SHARE,
    effort_ladder,
    first_sufficient,
    recall_lower_bound,
    shares_found,
    typical_radius,
    widened,
)
from actup.neighbors._cluster_search import max_code_columns, must_save_memory
from actup.neighbors._points import SearchablePoints

# Below one of these an exact search takes no longer than preparing the approximate one.
_EXACT_MAX_COST = 2e11  # squared differences of two columns
_EXACT_MAX_ROWS = 4_000

_MAX_CANDIDATES = 2048
_CHUNK_CANDIDATES, _MAX_CHUNK_ROWS, _MIN_CHUNK_ROWS = 2**18, 2048, 64


def exact_is_cheaper(points: SearchablePoints) -> bool:
    """Whether an exact search takes no longer than preparing the approximate one."""
    return len(points) <= _EXACT_MAX_ROWS or points.exact_cost <= _EXACT_MAX_COST


@dataclass(frozen=True)
class _Plan:
    """An effort that reached the recall on the sample, and the code columns of the index it belongs to."""

    columns: int
    probes: int
    candidates: int
    recall: float
    sample: _Sample


class _Sample:
    """Sampled points with the distances of their true neighbours, by which every effort is judged."""

    def __init__(self, points: SearchablePoints, k: int, seed: int):
        count = min(SAMPLE_ROWS, len(points))
        chosen = np.random.default_rng(seed).choice(len(points), count, replace=False)
        self.ids = np.sort(chosen).astype(np.int32)
        self.rows = points.X[self.ids]
        self.k = k
        self._points = points
        self.true = points.nearest(self.rows, self.ids, None, k)[1]

    def shares_among(self, candidates_of: Callable[[Rows], np.ndarray], count: int) -> np.ndarray:
        """The share of each sampled row's true neighbours among its ``count`` candidates."""
        step = _chunk_rows(count)
        distances = np.empty_like(self.true)
        for begin in range(0, len(self.ids), step):
            chunk = slice(begin, begin + step)
            rows = self.rows[chunk]
            distances[chunk] = self._points.nearest(rows, self.ids[chunk], candidates_of(rows), self.k)[1]
        return shares_found(distances, self.true)


class ProxySearch:
    """Search points through candidates of their proxy.

    Parameters
    ----------
    points : SearchablePoints
        At least 2.
    seed : int
    """

    def __init__(self, points: SearchablePoints, seed: int):
        self._points = points
        self._seed = seed
        # Only the last index is kept: two would take too much memory.
        self._columns = 0
        self._index: Any = None
        self._lock = Lock()  # several threads may query
        self._plans: dict[tuple[int, float], _Plan | None] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed again, with the same bits, when it is needed."""
        return {**self.__dict__, "_columns": 0, "_index": None, "_lock": None, "_plans": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def neighbors(self, k: int, recall: float) -> Neighbors | None:
        """The k nearest other points of every point; None if the recall is out of reach."""
        with part_of_work(0, PLANNING_SHARE):
            plan, index = self._planned(k, recall)
        if plan is None:
            return None
        n = len(self._points)
        indices, distances = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        step = _chunk_rows(plan.candidates)
        order = index.order()  # near rows share candidates, which then are in the cache
        for begin in range(0, n, step):
            ids = order[begin : begin + step]
            rows = self._points.X[ids]
            with part_of_work(*_shares_of_chunk(begin, step, n)):
                found = self._points.candidates(index, rows, plan.candidates + 1, plan.probes)
                indices[ids], distances[ids] = self._points.nearest(rows, ids, found, k)
                report(1.0)
        share = shares_found(distances[plan.sample.ids], plan.sample.true).mean()
        return Neighbors(indices, distances, method="proxy", recall=float(share))

    def query(self, rows: Rows, k: int, recall: float) -> Neighbors | None:
        """The k nearest points of every row; None if the recall is out of reach."""
        plan, index = self._planned(min(k, len(self._points) - 1), recall)
        if plan is None:
            return None
        count = min(max(plan.candidates, k) + 1, len(self._points))  # one may be the row itself
        lists = []
        step = _chunk_rows(count)
        for begin in range(0, rows.shape[0], step):
            chunk = rows[begin : begin + step]
            with part_of_work(*_shares_of_chunk(begin, step, rows.shape[0])):
                found = self._points.candidates(index, chunk, count, plan.probes)
                lists.append(self._points.nearest(chunk, None, found, k))
                report(1.0)
        indices, distances = (np.concatenate(arrays) for arrays in zip(*lists, strict=True))
        return Neighbors(indices, distances, method="proxy", recall=plan.recall)

    def typical_radius(self, k: int, recall: float) -> float:
        """The distance of the k-th neighbour that nearly all sampled rows do not exceed."""
        plan = self._planned(min(k, len(self._points) - 1), recall)[0]
        assert plan is not None
        return typical_radius(plan.sample.true)

    def _planned(self, k: int, recall: float) -> tuple[_Plan | None, Any]:
        """The plan for k neighbours, and its index."""
        with self._lock:
            if (k, recall) not in self._plans:
                self._plans[k, recall] = self._calibrate(k, recall)
            plan = self._plans[k, recall]
            return plan, None if plan is None else self._indexed(plan.columns, k)

    def _calibrate(self, k: int, recall: float) -> _Plan | None:
        """The first plan that almost certainly reaches the recall, trying wider and wider indexes."""
        sample = _Sample(self._points, k, self._seed)
        most = max_code_columns(len(self._points), self._points.code_columns, self._points.nbytes, k)
        columns = 0  # the engine chooses the number
        while (plan := self._cheapest_plan(columns, sample, recall)) is None:
            last = self._indexed(columns, k).columns
            if last >= most:
                self._index = None  # the exact search needs the memory
                return None
            columns = widened(last, most)
        return plan

    def _cheapest_plan(self, columns: int, sample: _Sample, recall: float) -> _Plan | None:
        """The fewest candidates that suffice with all clusters probed, then the fewest probes for them."""
        index = self._indexed(columns, sample.k)

        def shares(probes: int, count: int) -> np.ndarray:
            return sample.shares_among(
                lambda rows: self._points.candidates(index, rows, count + 1, probes), count
            )

        most = min(_MAX_CANDIDATES, len(self._points) - 1)
        spare = recall + (1 - recall) / 3  # probing fewer clusters loses some of it again
        count = first_sufficient(
            effort_ladder(sample.k, most), lambda count: _lower_bound(shares(index.clusters, count)) >= spare
        )
        if count is None:
            return None
        probes = first_sufficient(
            effort_ladder(2, index.clusters), lambda probes: _lower_bound(shares(probes, count)) >= recall
        )
        if probes is None:
            return None
        return _Plan(columns, probes, count, float(shares(probes, count).mean()), sample)

    def _indexed(self, columns: int, k: int) -> Any:
        """The proxy's index with ``columns`` code columns; it is the same whatever k is."""
        if self._index is None or self._columns != columns:
            self._index = None  # free its memory first
            points = self._points
            width = points.code_columns
            save_memory = points.saves_memory or must_save_memory(len(points), width, points.nbytes, k)
            self._index = points.proxy_index(columns, save_memory, self._seed)
            self._columns = columns
        return self._index


def _lower_bound(shares: np.ndarray) -> float:
    return float(recall_lower_bound(shares.mean(), shares.std() / np.sqrt(len(shares))))


def _shares_of_chunk(begin: int, step: int, count: int) -> tuple[float, float]:
    """The progress of a search of ``count`` rows before and after the chunk that begins at ``begin``."""
    first, last = (min(row, count) / count for row in (begin, begin + step))
    span = SEARCH_SHARE - PLANNING_SHARE
    return PLANNING_SHARE + span * first, PLANNING_SHARE + span * last


def _chunk_rows(candidates: int) -> int:
    return min(_MAX_CHUNK_ROWS, max(_MIN_CHUNK_ROWS, _CHUNK_CANDIDATES // candidates))
