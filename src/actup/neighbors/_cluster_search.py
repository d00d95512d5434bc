"""The approximate search of the CPU backend, and how much it must look at to reach a wanted recall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from actup._engine import engine
from actup._warnings import warn_user
from actup.graph._records import Neighbors
from actup.neighbors._comparison import Comparison
from actup.neighbors._recall import LOW_RECALL, SAMPLED_ROWS, almost_certain, true_shares, usual_reach

METRICS = ("euclidean", "cosine", "correlation", "hellinger", "softmax_hellinger")
SCALARS = (np.float32, np.float16, np.uint8, np.int8)

# What searches cost, in nanoseconds of one core: the exact one per pair of rows and for each of its columns,
# the approximate one per row and column. One machine's measure, used on all, so that they choose alike.
_PAIR, _PRODUCT = 0.3, 0.0235
_ROW, _COLUMN = 7_500, 15
# For more neighbours than usual: the approximate search per neighbour, the exact one per point that is kept
# and for each that stands before it.
_USUAL, _NEIGHBOR, _KEPT, _KEPT_BEFORE = 15, 160, 50, 0.09
# Of a wider index: per two components and column, per code and column, per sampled pair and column.
_COMPONENT, _CODE, _SAMPLED = 2.0, 0.03, 0.35
_UNNOTICED = 5e8  # an exact search that takes no longer is worth having
# Up to here comparing all codes costs little, and finds more than was asked for.
_ALL_CLUSTERS_ROWS = 20_000

_MEMORY = 0.3  # of that of X, which a search may take besides that of three lists of neighbours
_MOST_COLUMNS = 4096  # of codes: a projection is a matrix, and data that need more tell little by them
_LITTLE = 2**23  # bytes, which any search takes for this and that
# Where codes tell too little, lists are bettered through the neighbours' neighbours: as often, if it helps.
_ROUNDS, _LEAST_GAIN = 8, 0.002
_ROUND = 300  # points that a row is compared with in a round
# All pairs may take so many times as long, where a search would miss too many neighbours.
_WORTH = 5.0
# A search that would take longer than this per row takes the best recall it can have in that time.
_NANOSECONDS_PER_ROW = 4e5


def exact_is_cheaper(n_samples: int, columns: int, k: int) -> bool:
    """Whether comparing all pairs takes less time than the approximate search, or too little to mind."""
    more = max(0, k - _USUAL)
    approximate = n_samples * float(_ROW + _COLUMN * columns + _NEIGHBOR * more)
    kept = n_samples * (_keeping(n_samples, k) - _keeping(n_samples, _USUAL)) if more else 0.0
    return _exact_nanoseconds(n_samples, columns) + kept <= max(approximate, _UNNOTICED)


def _keeping(n_samples: int, k: int) -> float:
    """What it takes to keep the k nearest of so many points in order, which come in any order."""
    return k * (1 + np.log(n_samples / k)) * (_KEPT + _KEPT_BEFORE * k)


def _exact_nanoseconds(n_samples: int, columns: int) -> float:
    return float(n_samples) ** 2 * (_PAIR + _PRODUCT * columns)


def most_columns(n_samples: int, width: int, nbytes: int, k: int) -> int:
    """How many columns codes may have: there are two copies of them beside the projection, for a while."""
    lists = 8.0 * n_samples * k
    room = max(_LITTLE, _MEMORY * nbytes + 2 * lists - 40.0 * n_samples - _LITTLE)
    most = int(min(room / (2.0 * n_samples + 4.0 * width), room / (8.0 * width)))
    if most < width:  # a projection has less than half of the columns, or there is none
        most = min(most, (width - 1) // 2)
    return max(0, min(most, width, _MOST_COLUMNS))


def saves_memory(n_samples: int, width: int, nbytes: int, k: int) -> bool:
    """Whether codes are found twice, because there is no room for two copies of them."""
    return most_columns(n_samples, width, nbytes, k) < min(width, engine.DEFAULT_MAX_COLUMNS)


@dataclass(frozen=True)
class Effort:
    """How much a search looks at per row: clusters, points in the metric itself.

    And what to expect of it: the recall, and the time of a row on one core.
    """

    probes: int
    candidates: int
    recall: float
    nanoseconds: float


@dataclass(frozen=True)
class Calibration:
    """What each effort would find, on a sample of rows with the true distances of their neighbours.

    Tables are (probes, candidates).
    """

    rows: np.ndarray
    true: np.ndarray
    probes: np.ndarray
    candidates: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    columns: int  # of the codes that were searched
    most_columns: int  # that codes of these data may have

    @cached_property
    def certain(self) -> np.ndarray:
        return almost_certain(self.mean, self.error)

    def recall_of(self, neighbors: np.ndarray) -> float:
        """The share of the sampled rows' neighbours, given by their distances, that are true ones."""
        return float(true_shares(neighbors[self.rows], self.true).mean())


class JoinSearch:
    """An index of the rows of X.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous, of one of ``SCALARS``, finite, n >= 2
        Kept and read, never copied.
    comparison : Comparison
        Of one of ``METRICS``.
    seed : int
    threads : int
    """

    def __init__(self, X: np.ndarray, comparison: Comparison, seed: int, threads: int):
        self._X = X
        self._comparison = comparison
        self._seed = seed
        self._threads = threads
        self._columns, self._index = 0, None  # the last index: two at a time would take too much memory
        self._lock = Lock()  # several threads may ask
        self._calibrations: dict[tuple[int, int], Calibration] = {}

    def __getstate__(self) -> dict:
        """Without the index, which is built again, bit by bit the same, where it is needed."""
        return {**self.__dict__, "_columns": 0, "_index": None, "_lock": None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _lock=Lock())

    def neighbors(self, k: int, recall: float) -> Neighbors | None:
        """The k nearest other points of every point; None if comparing all pairs is worth its time.

        Warns where recall stays low.
        """
        with self._lock:
            index, calibration = self._plan(k, recall)
        effort = _cheapest(index, calibration, recall, self._X)
        if effort.recall < recall and self._exact_is_worth_it(effort, calibration):
            del index
            with self._lock:
                self._index = None  # all pairs are compared, and need the memory
            return None
        indices, distances = index.neighbors(k, effort.probes, effort.candidates, self._threads)
        found = calibration.recall_of(distances)
        for _ in range(_ROUNDS):
            if found >= recall:
                break
            before = found
            indices, distances = index.refine(indices, self._threads)
            found = calibration.recall_of(distances)
            if found < before + _LEAST_GAIN:
                break
        if found < min(LOW_RECALL, recall):
            warn_user(
                f"about {found:.0%} of the nearest neighbours were found, {recall:.0%} were wanted: "
                "algorithm='exact' finds them all, in more time"
            )
        return Neighbors(indices, distances, engine="join", recall=found)

    def query(self, rows: np.ndarray, k: int, recall: float) -> Neighbors | None:
        """The k nearest points to every row, which is of one of ``SCALARS``; k up to n.

        None if so many would be missed that all points are worth a look.
        """
        with self._lock:
            index, calibration = self._plan(min(k, len(self._X) - 1), recall)
        effort = _cheapest(index, calibration, recall, self._X)
        if effort.recall < min(LOW_RECALL, recall):
            return None
        candidates = max(effort.candidates, k)
        indices, distances = index.query(rows, k, effort.probes, candidates, self._threads)
        return Neighbors(indices, distances, engine="join", recall=effort.recall)

    def reach(self, k: int, recall: float) -> float:
        """How far the k-th neighbours of rows are that the search was measured by."""
        with self._lock:
            return usual_reach(self._plan(min(k, len(self._X) - 1), recall)[1].true)

    def _exact_is_worth_it(self, effort: Effort, calibration: Calibration) -> bool:
        """Whether to compare all pairs where a search misses the recall, and needs rounds that mend it."""
        low = effort.recall < LOW_RECALL
        width = self._X.shape[1]
        mending = (_ROUNDS if low else 1) * _ROUND * _candidate_nanoseconds(self._X.itemsize, width)
        search = len(self._X) * (effort.nanoseconds + mending) * (_WORTH if low else 1)
        if calibration.columns < calibration.most_columns:  # where _plan stopped, because this costs more:
            search = max(search, self._widening_nanoseconds(calibration))
        return _exact_nanoseconds(*self._X.shape) < search

    def _widening_nanoseconds(self, calibration: Calibration) -> float:
        """What an index with more columns takes: components one after the other, codes, the sample again."""
        n, width = self._X.shape
        columns = _wider(calibration)
        sample = _SAMPLED if calibration.mean.max() < LOW_RECALL else 0.0
        return width * (_COMPONENT * columns**2 + _CODE * n * columns + sample * n * SAMPLED_ROWS)

    def _plan(self, k: int, recall: float):
        """An index whose columns tell enough to reach the recall, and what efforts find in it."""
        columns = 0  # as many as the data needs, by a rule
        while True:
            calibration = self._calibrate(columns, k)
            if calibration.certain.max() >= recall or calibration.columns >= calibration.most_columns:
                return self._indexed(columns, k), calibration
            if _exact_nanoseconds(*self._X.shape) < self._widening_nanoseconds(calibration):
                return self._indexed(columns, k), calibration
            columns = _wider(calibration)

    def _calibrate(self, columns: int, k: int) -> Calibration:
        if (columns, k) not in self._calibrations:
            index = self._indexed(columns, k)
            table = index.calibrate(k, SAMPLED_ROWS, self._seed, self._threads)
            most = most_columns(len(self._X), index.width, self._X.nbytes, k)
            self._calibrations[columns, k] = Calibration(*table, index.columns, max(index.columns, most))
        return self._calibrations[columns, k]

    def _indexed(self, columns: int, k: int):
        """The index with so many columns; it depends on nothing that was asked for before, nor on k."""
        if self._index is None or self._columns != columns:
            self._index = None  # free it first
            how = self._comparison.for_engine()
            sparing = saves_memory(*self._X.shape, self._X.nbytes, k)
            self._index = engine.ClusterIndex(self._X, how, columns, sparing, self._seed, self._threads)
            self._columns = columns
        return self._index


def _wider(calibration: Calibration) -> int:
    return min(4 * calibration.columns, calibration.most_columns)


def _candidate_nanoseconds(itemsize: int, width: int) -> float:
    return 20 + 0.05 * itemsize * width


def _cheapest(index, calibration: Calibration, recall: float, X: np.ndarray) -> Effort:
    """The cheapest effort that almost certainly reaches a recall, or the best one that can be afforded."""
    cost = _nanoseconds(index, calibration, X)
    if len(X) <= _ALL_CLUSTERS_ROWS:
        cost[:-1] = np.inf
    allowed = cost <= max(_NANOSECONDS_PER_ROW, cost.min())
    wanted = min(recall, calibration.certain[allowed].max())
    cost[~allowed | (calibration.certain < wanted)] = np.inf
    row, column = np.unravel_index(np.argmin(cost), cost.shape)
    return Effort(
        int(calibration.probes[row]),
        int(calibration.candidates[column]),
        float(calibration.mean[row, column]),
        float(cost[row, column]),
    )


def _nanoseconds(index, calibration: Calibration, X: np.ndarray) -> np.ndarray:
    """What a row costs at each effort; one machine's measure, used on all, so that they choose alike."""
    scanned = calibration.probes * (len(X) / index.clusters)
    per_point = 0.4 + 0.01 * index.columns
    per_candidate = _candidate_nanoseconds(X.itemsize, index.width)
    return scanned[:, None] * per_point + calibration.candidates[None, :] * per_candidate
