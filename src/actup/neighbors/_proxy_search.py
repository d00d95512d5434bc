"""Approximate search in metrics that the join does not know: candidates from a neighbouring space.

The neighbouring space only proposes. What is returned are distances in the metric itself, and how many
candidates that takes is measured against the true neighbours of a sample; where no affordable number reaches
the wanted recall, the caller compares all pairs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import numpy as np

from actup.graph._records import Neighbors
from actup.neighbors._cluster_search import most_columns, saves_memory
from actup.neighbors._recall import SAMPLED_ROWS, almost_certain, true_shares, usual_reach
from actup.neighbors._spaces import DenseSpace, SparseSpace

# Comparing all pairs is cheaper below this, in squared differences of two columns.
_EXACT_PRODUCTS = 2e11
_EXACT_ROWS = 4_000

_CANDIDATES_AT_ONCE, _ROWS_AT_ONCE = 2**18, 2048
_MOST_CANDIDATES = 2048


def exact_is_cheaper(space: DenseSpace | SparseSpace) -> bool:
    """Whether comparing all pairs takes no longer than preparing a search."""
    return len(space) <= _EXACT_ROWS or space.exact_cost <= _EXACT_PRODUCTS


@dataclass(frozen=True)
class _Plan:
    """How many columns the index has, how much of it to look at, and the recall of a sample then."""

    columns: int
    probes: int
    candidates: int
    recall: float
    sample: _Sample


class _Sample:
    """Some points and how far their neighbours are: the measure of every plan."""

    def __init__(self, space: DenseSpace | SparseSpace, k: int, seed: int):
        count = min(SAMPLED_ROWS, len(space))
        chosen = np.random.default_rng(seed).choice(len(space), count, replace=False)
        self.ids = np.sort(chosen).astype(np.int32)
        self.rows = space.X[self.ids]
        self.k = k
        self._space = space
        self.true = space.nearest(self.rows, self.ids, None, k)[1]

    def shares(self, candidates_of: Callable, count: int) -> np.ndarray:
        """The share of each row's true neighbours among its candidates, about so many."""
        step = _rows_at_once(count)
        distances = np.empty_like(self.true)
        for begin in range(0, len(self.ids), step):
            part = slice(begin, begin + step)
            rows = self.rows[part]
            distances[part] = self._space.nearest(rows, self.ids[part], candidates_of(rows), self.k)[1]
        return true_shares(distances, self.true)


class ProxySearch:
    """An index of the rows of a space.

    Parameters
    ----------
    space : DenseSpace or SparseSpace, of at least 2 rows
    seed, threads : int
    """

    def __init__(self, space: DenseSpace | SparseSpace, seed: int, threads: int):
        self._space = space
        self._seed = seed
        self._threads = threads
        self._columns, self._index = 0, None  # the last index: two at a time would take too much memory
        self._lock = Lock()  # several threads may ask
        self._plans: dict[tuple[int, float], _Plan | None] = {}

    def __getstate__(self) -> dict:
        """Without what is found again, bit by bit the same, where it is needed."""
        return {**self.__dict__, "_columns": 0, "_index": None, "_lock": None, "_plans": {}}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _lock=Lock())

    def neighbors(self, k: int, recall: float) -> Neighbors | None:
        """The k nearest other points of every point; None if the recall is out of reach."""
        plan, index = self._planned(k, recall)
        if plan is None:
            return None
        n = len(self._space)
        indices, distances = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        step = _rows_at_once(plan.candidates)
        order = index.order()  # near rows share candidates, which are in cache then
        for begin in range(0, n, step):
            own = order[begin : begin + step]
            rows = self._space.X[own]
            found = self._space.candidates(index, rows, plan.candidates + 1, plan.probes)
            indices[own], distances[own] = self._space.nearest(rows, own, found, k)
        share = true_shares(distances[plan.sample.ids], plan.sample.true).mean()
        return Neighbors(indices, distances, engine="proxy", recall=float(share))

    def query(self, rows, k: int, recall: float) -> Neighbors | None:
        """The k nearest points to every row; None if the recall is out of reach."""
        plan, index = self._planned(min(k, len(self._space) - 1), recall)
        if plan is None:
            return None
        count = min(max(plan.candidates, k) + 1, len(self._space))  # one may be the row itself
        lists = []
        step = _rows_at_once(count)
        for begin in range(0, rows.shape[0], step):
            part = rows[begin : begin + step]
            found = self._space.candidates(index, part, count, plan.probes)
            lists.append(self._space.nearest(part, None, found, k))
        indices, distances = (np.concatenate(arrays) for arrays in zip(*lists, strict=True))
        return Neighbors(indices, distances, engine="proxy", recall=plan.recall)

    def reach(self, k: int, recall: float) -> float:
        """How far the k-th neighbours of rows are that the search was measured by."""
        return usual_reach(self._planned(min(k, len(self._space) - 1), recall)[0].sample.true)

    def _planned(self, k: int, recall: float) -> tuple[_Plan | None, object]:
        """The plan for k neighbours, and the index it looks at."""
        with self._lock:
            if (k, recall) not in self._plans:
                self._plans[k, recall] = self._calibrate(k, recall)
            plan = self._plans[k, recall]
            return plan, None if plan is None else self._indexed(plan.columns, k)

    def _calibrate(self, k: int, recall: float) -> _Plan | None:
        """The first plan that almost certainly reaches the recall, of indexes with more and more columns."""
        sample = _Sample(self._space, k, self._seed)
        most = most_columns(len(self._space), self._space.width, self._space.nbytes, k)
        columns = 0  # as many as the data needs, by a rule
        while (plan := self._effort(columns, sample, recall)) is None:
            last = self._indexed(columns, k).columns
            if last >= most:
                self._index = None  # all pairs are compared, and need the memory
                return None
            columns = min(4 * last, most)
        return plan

    def _effort(self, columns: int, sample: _Sample, recall: float) -> _Plan | None:
        """As few candidates as do it if all clusters are probed, then as few clusters as do it with them."""
        index = self._indexed(columns, sample.k)

        def probing(probes: int, count: int) -> np.ndarray:
            return sample.shares(lambda rows: self._space.candidates(index, rows, count + 1, probes), count)

        most = min(_MOST_CANDIDATES, len(self._space) - 1)
        spare = recall + (1 - recall) / 3  # some of it is lost again to clusters that are not probed
        steps = _ladder(sample.k, most)
        count = _first(steps, lambda count: _certain(probing(index.clusters, count)) >= spare)
        if count is None:
            return None
        steps = _ladder(2, index.clusters)
        probes = _first(steps, lambda probes: _certain(probing(probes, count)) >= recall)
        if probes is None:
            return None
        mean = float(probing(probes, count).mean())
        return _Plan(columns, probes, count, mean, sample)

    def _indexed(self, columns: int, k: int):
        """The index of the neighbouring space with so many columns; no bit of it depends on k."""
        if self._index is None or self._columns != columns:
            self._index = None  # free it first
            sparing = saves_memory(len(self._space), self._space.width, self._space.nbytes, k)
            self._index = self._space.index(columns, sparing, self._seed)
            self._columns = columns
        return self._index


def _certain(shares: np.ndarray) -> float:
    return almost_certain(shares.mean(), shares.std() / np.sqrt(len(shares)))


def _rows_at_once(candidates: int) -> int:
    return min(_ROWS_AT_ONCE, max(64, _CANDIDATES_AT_ONCE // candidates))


def _ladder(first: int, last: int) -> list[int]:
    """Whole numbers that grow by about 1.4, the last one included."""
    steps = []
    value = float(first)
    while value < last:
        steps.append(round(value))
        value *= 1.4142135
    return [*steps, last]


def _first(steps: list[int], fulfils: Callable[[int], bool]) -> int | None:
    """The first step that fulfils a condition, if all later ones do too; by bisection."""
    at = bisect_left(steps, True, key=fulfils)
    return steps[at] if at < len(steps) else None
