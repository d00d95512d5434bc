"""The approximate search through clusters of integer codes, and the effort it needs for a wanted recall."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from actup._cached_property import cached_property
from actup._elementary import log
from actup._engine import engine
from actup._reporting import part_of_work
from actup._warnings import warn_user
from actup.graph._records import Neighbors
from actup.neighbors._calibration import (
    LOW_RECALL,
    PLANNING_SHARE,
    SAMPLE_ROWS,
    SEARCH_SHARE,
    recall_lower_bound,
    refine_until,
    shares_found,
    typical_radius,
    widened,
)
from actup.neighbors._cell_search import CellPlan, plan_cells, planning_nanoseconds
from actup.neighbors._comparison import Comparison

# Costs in nanoseconds of one core. They were measured on one machine and are used on all, so that all choose
# the same search.
_EXACT_PAIR_NS, _EXACT_COLUMN_NS = 0.3, 0.0235  # exact search: per pair, and per pair and column
# Exact search of few points by codes: per row, per row and column, per pair, and per pair and column.
_CODED_ROW_NS, _CODED_ROW_COLUMN_NS, _CODED_PAIR_NS, _CODED_COLUMN_NS = 3_000, 4, 0.09, 0.0027
_CODED_MAX_ROWS = 20_000  # the engine's limit
_ROW_NS, _ROW_COLUMN_NS = 7_500, 15  # cluster search: per row, and per row and column
_FEW_ROWS_FACTOR = 2.0  # cluster search of so few rows: index and calibration take as long as the search
_BASE_K = 15  # the number of neighbours that the costs above are for
_EXTRA_NEIGHBOR_NS = 160  # cluster search: per row and neighbour beyond the base
_INSERT_NS, _SHIFT_NS = 50, 0.09  # exact search: per insertion into a list, and per entry moved by it
# Building a wider index: per column of X and pair of principal components; per column of X, row and code
# column; per column of X and sampled pair.
_COMPONENT_NS, _CODE_NS, _SAMPLE_PAIR_NS = 2.0, 0.03, 0.35
_CANDIDATE_NS, _CANDIDATE_BYTE_NS = 20, 0.05  # comparing a candidate in the true metric
_SCANNED_POINT_NS, _SCANNED_COLUMN_NS = 0.4, 0.01  # comparing a point by its code

_NEGLIGIBLE_NS = 5e8  # an exact search that takes no longer is always preferred
_MAX_ROW_NS = 4e5  # a search that needs more per row takes the best recall within this time
_MAX_EXACT_SLOWDOWN = 5.0  # an exact search may take this many times as long, where recall would stay low
_ALL_CLUSTERS_MAX_ROWS = 20_000  # up to here all clusters are probed: it costs little and finds more

# Besides X and the result, a search may take this share of the memory of X plus twice that of the result.
_MEMORY_SHARE = 0.3
_MAX_CODE_COLUMNS = 4096  # data that need more columns have no structure that codes could show
_FIXED_OVERHEAD_BYTES = 2**23  # taken by any search
_ROW_OVERHEAD_BYTES = 40.0

_MIN_CELL_GAIN = 2.0  # cells are tried where comparing candidates takes this many times as long as trying
_MAX_REFINEMENT_ROUNDS, _MIN_ROUND_GAIN = 8, 0.002
_ROUND_CANDIDATES = 300  # points that a row is compared with in a refinement round


def exact_is_cheaper(n_points: int, columns: int, k: int) -> bool:
    """Whether an exact search takes less time than the cluster search, or a negligible time."""
    exact, approximate = _search_costs(n_points, columns, k)
    return exact <= max(approximate, _NEGLIGIBLE_NS)


def codes_are_cheaper(n_points: int, columns: int, k: int) -> bool:
    """Whether comparing all pairs by codes takes less time than the cluster search."""
    if n_points > _CODED_MAX_ROWS:
        return False
    _, approximate = _search_costs(n_points, columns, k)
    return _coded_ns(n_points, columns, k) <= max(_FEW_ROWS_FACTOR * approximate, _NEGLIGIBLE_NS)


def _coded_ns(n_points: int, columns: int, k: int) -> float:
    rows = n_points * float(_CODED_ROW_NS * max(1.0, k / _BASE_K) + _CODED_ROW_COLUMN_NS * columns)
    return rows + float(n_points) ** 2 * (_CODED_PAIR_NS + _CODED_COLUMN_NS * columns)


def search_nanoseconds(n_points: int, columns: int, k: int) -> float:
    """The time of one core that a search for the k neighbours of all points takes, roughly."""
    exact, approximate = _search_costs(n_points, columns, k)
    nanoseconds = exact if exact_is_cheaper(n_points, columns, k) else approximate
    if n_points <= _CODED_MAX_ROWS:
        nanoseconds = min(nanoseconds, _coded_ns(n_points, columns, k))
    return nanoseconds


def _search_costs(n_points: int, columns: int, k: int) -> tuple[float, float]:
    """The time of an exact search and of the cluster search."""
    extra = max(0, k - _BASE_K)
    approximate = n_points * float(_ROW_NS + _ROW_COLUMN_NS * columns + _EXTRA_NEIGHBOR_NS * extra)
    lists = n_points * (_list_ns(n_points, k) - _list_ns(n_points, _BASE_K)) if extra else 0.0
    return _exact_ns(n_points, columns) + lists, approximate


def _list_ns(n_points: int, k: int) -> float:
    """The time to keep the k nearest points of a row in order while all points pass in any order."""
    return float(k * (1 + log(n_points / k)) * (_INSERT_NS + _SHIFT_NS * k))


def _exact_ns(n_points: int, columns: int) -> float:
    return float(n_points) ** 2 * (_EXACT_PAIR_NS + _EXACT_COLUMN_NS * columns)


def max_code_columns(n_points: int, width: int, nbytes: int, k: int) -> int:
    """How many columns codes may have within the memory of a search.

    While an index is built, two copies of the codes and the projection are in memory.

    Parameters
    ----------
    n_points : int
    width : int
        Columns that codes are made of.
    nbytes : int
        Memory of X.
    k : int
        Neighbours per row.
    """
    lists = 8.0 * n_points * k
    allowed = _MEMORY_SHARE * nbytes + 2 * lists - _ROW_OVERHEAD_BYTES * n_points - _FIXED_OVERHEAD_BYTES
    room = max(_FIXED_OVERHEAD_BYTES, allowed)
    most = int(min(room / (2.0 * n_points + 4.0 * width), room / (8.0 * width)))
    if most < width:  # a projection keeps less than half of the columns; otherwise there is none
        most = min(most, (width - 1) // 2)
    return max(0, min(most, width, _MAX_CODE_COLUMNS))


def must_save_memory(n_points: int, width: int, nbytes: int, k: int) -> bool:
    """Whether codes are computed twice, because two copies of them would not fit."""
    return bool(max_code_columns(n_points, width, nbytes, k) < min(width, engine.DEFAULT_MAX_COLUMNS))


@dataclass(frozen=True)
class Effort:
    """How much a search looks at per row, and what to expect of it.

    Attributes
    ----------
    probes : int
        Clusters per row.
    candidates : int
        Points per row that are compared in the true metric.
    recall : float
        Expected share of true neighbours.
    nanoseconds : float
        Expected time per row on one core.
    """

    probes: int
    candidates: int
    recall: float
    nanoseconds: float


@dataclass(frozen=True)
class Calibration:
    """The recall of every effort on a sample of rows.

    Attributes
    ----------
    rows : ndarray of shape (sample,)
        Ids of the sampled rows.
    true : ndarray of shape (sample, k)
        Distances of their true neighbours.
    probes, candidates : ndarray
        The efforts that were tried, ascending.
    mean, error : ndarray of shape (probes, candidates)
        Mean recall of the sample and its standard error.
    columns, max_columns : int
        Columns of the codes that were searched, and how many codes of these data may have.
    """

    rows: np.ndarray
    true: np.ndarray
    probes: np.ndarray
    candidates: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    columns: int
    max_columns: int

    @cached_property
    def lower_bound(self) -> np.ndarray:
        return recall_lower_bound(self.mean, self.error)

    def recall_of(self, distances: np.ndarray) -> float:
        """The share of the sampled rows' true neighbours in lists of distances, (n, k)."""
        return float(shares_found(distances[self.rows], self.true).mean())


class ClusterSearch:
    """Search points through clusters of integer codes.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous, of one of ``ENGINE_TYPES``, finite, n >= 2
        Kept and read, never copied.
    comparison : Comparison
        In a metric whose record has ``cluster_search``.
    seed : int
    threads : int
    saves_memory : bool, default=False
        Whether codes are computed twice, even if two copies of them would fit into the memory of a search.
    """

    def __init__(
        self, X: np.ndarray, comparison: Comparison, seed: int, threads: int, saves_memory: bool = False
    ):
        self._X = X
        self._saves_memory = saves_memory
        self._comparison = comparison
        self._seed = seed
        self._threads = threads
        # Only the last index is kept: two would take too much memory.
        self._columns = 0
        self._index: Any = None
        self._lock = Lock()  # several threads may query
        self._calibrations: dict[tuple[int, int], Calibration] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without the index, which is built again, with the same bits, when it is needed."""
        return {**self.__dict__, "_columns": 0, "_index": None, "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def neighbors(self, k: int, recall: float) -> Neighbors | None:
        """The k nearest other points of every point; None if an exact search is the better choice.

        Warns if the recall stays low.
        """
        with self._lock, part_of_work(0, PLANNING_SHARE):
            index, calibration = self._plan(k, recall)
        effort = _cheapest_effort(index, calibration, recall, self._X)
        cells = self._cheaper_cells(effort, calibration, k, recall)
        if cells is None and effort.recall < recall and self._exact_is_better(effort, calibration):
            del index
            with self._lock:
                self._index = None  # the exact search needs the memory
            return None
        with part_of_work(PLANNING_SHARE, SEARCH_SHARE):
            if cells is None:
                indices, distances = index.neighbors(k, effort.probes, effort.candidates, self._threads)
            else:
                indices, distances = cells.index.neighbors(k, cells.looked_at, self._threads)

        def refine() -> float:
            nonlocal indices, distances
            with part_of_work(SEARCH_SHARE, 1):
                indices, distances = index.refine(indices, self._threads)
            return calibration.recall_of(distances)

        found = refine_until(
            recall,
            refine,
            calibration.recall_of(distances),
            max_rounds=_MAX_REFINEMENT_ROUNDS,
            min_gain=_MIN_ROUND_GAIN,
        )
        if found < min(LOW_RECALL, recall):
            warn_user(
                f"about {found:.0%} of the nearest neighbours were found, {recall:.0%} were wanted: "
                "algorithm='exact' finds them all, in more time"
            )
        return Neighbors(indices, distances, method="cluster", recall=found)

    def query(self, rows: np.ndarray, k: int, recall: float) -> Neighbors | None:
        """The k nearest points, k up to n, of every row, which is of one of ``ENGINE_TYPES``.

        None if the search would miss so many neighbours that all points should be compared.
        """
        with self._lock:
            index, calibration = self._plan(min(k, len(self._X) - 1), recall)
        effort = _cheapest_effort(index, calibration, recall, self._X)
        if effort.recall < min(LOW_RECALL, recall):
            return None
        candidates = max(effort.candidates, k)
        with part_of_work(0, SEARCH_SHARE):
            indices, distances = index.query(rows, k, effort.probes, candidates, self._threads)
        return Neighbors(indices, distances, method="cluster", recall=effort.recall)

    def typical_radius(self, k: int, recall: float) -> float:
        """The distance of the k-th neighbour that nearly all sampled rows do not exceed."""
        with self._lock:
            return typical_radius(self._plan(min(k, len(self._X) - 1), recall)[1].true)

    def _cheaper_cells(
        self, effort: Effort, calibration: Calibration, k: int, recall: float
    ) -> CellPlan | None:
        """A search through cells, if it is faster than the effort and what follows if that misses the recall.

        Cells are tried where codes do not tell rows apart, so that many candidates are compared, if trying
        takes little time next to that.
        """
        n, columns = self._X.shape
        compared = effort.candidates * _candidate_ns(self._X.itemsize, columns)
        expected = effort.nanoseconds
        if effort.recall < recall:
            expected += self._refinement_ns(effort)
            compared = expected
            if self._exact_is_better(effort, calibration):
                expected = self._exact_ns / n
        if self._comparison.root is not None or compared < _MIN_CELL_GAIN * planning_nanoseconds(columns):
            return None
        cells = plan_cells(self._X, self._comparison, calibration.rows, k, recall, self._seed, self._threads)
        return cells if cells and cells.nanoseconds < min(expected, _MAX_ROW_NS) else None

    def _refinement_ns(self, effort: Effort) -> float:
        """The time per row of the refinement rounds that a search may need to reach its recall."""
        rounds = _MAX_REFINEMENT_ROUNDS if effort.recall < LOW_RECALL else 1
        return rounds * _ROUND_CANDIDATES * _candidate_ns(self._X.itemsize, self._X.shape[1])

    def _exact_is_better(self, effort: Effort, calibration: Calibration) -> bool:
        """Whether an exact search is worth its time where the cluster search misses the recall."""
        low = effort.recall < LOW_RECALL
        refinement = self._refinement_ns(effort)
        search = len(self._X) * (effort.nanoseconds + refinement) * (_MAX_EXACT_SLOWDOWN if low else 1)
        if calibration.columns < calibration.max_columns:  # _plan stopped because widening costs more
            search = max(search, self._widening_ns(calibration))
        return self._exact_ns < search

    @property
    def _exact_ns(self) -> float:
        n, columns = self._X.shape
        return _exact_ns(n, columns)

    def _widening_ns(self, calibration: Calibration) -> float:
        """The time to build a wider index: its projection, its codes, and the sample's search."""
        n, width = self._X.shape
        columns = widened(calibration.columns, calibration.max_columns)
        sample = _SAMPLE_PAIR_NS if calibration.mean.max() < LOW_RECALL else 0.0
        return float(width * (_COMPONENT_NS * columns**2 + _CODE_NS * n * columns + sample * n * SAMPLE_ROWS))

    def _plan(self, k: int, recall: float) -> tuple[Any, Calibration]:
        """An index with enough columns to reach the recall, and its calibration."""
        columns = 0  # the engine chooses the number
        while True:
            calibration = self._calibrate(columns, k)
            if calibration.lower_bound.max() >= recall or calibration.columns >= calibration.max_columns:
                return self._indexed(columns, k), calibration
            if self._exact_ns < self._widening_ns(calibration):
                return self._indexed(columns, k), calibration
            columns = widened(calibration.columns, calibration.max_columns)

    def _calibrate(self, columns: int, k: int) -> Calibration:
        if (columns, k) not in self._calibrations:
            index = self._indexed(columns, k)
            rows, true, probes, candidates, mean, error = index.calibrate(
                k, SAMPLE_ROWS, self._seed, self._threads
            )
            most = max_code_columns(len(self._X), index.width, self._X.nbytes, k)
            self._calibrations[columns, k] = Calibration(
                rows, true, probes, candidates, mean, error, index.columns, max(index.columns, most)
            )
        return self._calibrations[columns, k]

    def _indexed(self, columns: int, k: int) -> Any:
        """The index with ``columns`` code columns; it depends neither on k nor on earlier requests."""
        if self._index is None or self._columns != columns:
            self._index = None  # free its memory first
            metric = self._comparison.for_engine()
            n, width = self._X.shape
            save_memory = self._saves_memory or must_save_memory(n, width, self._X.nbytes, k)
            self._index = engine.ClusterIndex(
                self._X, metric, columns, save_memory, self._seed, self._threads
            )
            self._columns = columns
        return self._index


def _candidate_ns(itemsize: int, width: int) -> float:
    return _CANDIDATE_NS + _CANDIDATE_BYTE_NS * itemsize * width


def _cheapest_effort(index: Any, calibration: Calibration, recall: float, X: np.ndarray) -> Effort:
    """The cheapest effort that almost certainly reaches a recall, or the best one within the time limit."""
    cost = _effort_ns(index, calibration, X)
    if len(X) <= _ALL_CLUSTERS_MAX_ROWS:
        cost[:-1] = np.inf
    allowed = cost <= max(_MAX_ROW_NS, cost.min())
    wanted = min(recall, calibration.lower_bound[allowed].max())
    cost[~allowed | (calibration.lower_bound < wanted)] = np.inf
    row, column = np.unravel_index(np.argmin(cost), cost.shape)
    return Effort(
        int(calibration.probes[row]),
        int(calibration.candidates[column]),
        float(calibration.mean[row, column]),
        float(cost[row, column]),
    )


def _effort_ns(index: Any, calibration: Calibration, X: np.ndarray) -> np.ndarray:
    """The time per row of each effort: (probes, candidates)."""
    scanned = calibration.probes * (len(X) / index.clusters)
    per_point = _SCANNED_POINT_NS + _SCANNED_COLUMN_NS * index.columns
    per_candidate = _candidate_ns(X.itemsize, index.width)
    times: np.ndarray = scanned[:, None] * per_point + calibration.candidates[None, :] * per_candidate
    return times
