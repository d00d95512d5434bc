"""The search through cells of rows, for rows that codes hardly tell apart, and the effort it needs.

Codes have one scale for all rows. In tight groups far apart, or beside one column far wider than all others,
hundreds of rows have nearly the same code; cells (``_native/neighbors/cells.hpp``) tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._engine import engine
from actup.graph._records import without_self
from actup.neighbors._calibration import effort_ladder, first_sufficient, recall_lower_bound
from actup.neighbors._comparison import Comparison

# Costs in nanoseconds of one core, as those of the cluster search.
_BUILD_ROW_NS, _BUILD_COLUMN_NS = 400, 16  # per row, and per row and column: cells and their calibration
_ROW_NS = 3_000  # search: per row
_PAIR_NS, _COLUMN_NS = 0.8, 0.045  # search: per pair, and per pair and column

# Rows of the sample that are copied at a time: as many as fit, and enough for points to be read seldom.
_QUERY_BYTES, _MIN_QUERIES = 2**22, 64


@dataclass(frozen=True)
class CellPlan:
    """A search through cells that almost certainly reaches the wanted recall.

    Attributes
    ----------
    index : CellIndex
    looked_at : int
        Points that each row is compared with, at least.
    nanoseconds : float
        Expected time per row on one core.
    """

    index: Any
    looked_at: int
    nanoseconds: float


def planning_nanoseconds(width: int) -> float:
    """The time per row to find out whether cells suit the rows; ``width`` columns are compared."""
    return _BUILD_ROW_NS + _BUILD_COLUMN_NS * float(width)


def plan_cells(
    X: np.ndarray, comparison: Comparison, sample: np.ndarray, k: int, recall: float, seed: int, threads: int
) -> CellPlan | None:
    """The cheapest search through cells that reaches a recall; None if that takes looking at nearly all rows.

    Parameters
    ----------
    X : ndarray of shape (n, columns), as in ``ClusterSearch``
    comparison : Comparison
        Without ``root``: reading a row must be cheap.
    sample : ndarray of int64
        Ids of the rows to measure the recall with.
    k : int
    recall : float
    seed, threads : int
    """
    metric = comparison.for_engine()
    index = engine.CellIndex(X, metric, seed, threads)
    true = np.empty((len(sample), k), np.int32)
    rows_at_a_time = max(
        _MIN_QUERIES, _QUERY_BYTES // (X.shape[1] * X.itemsize)
    )  # copies of wide rows are large
    for begin in range(0, len(sample), rows_at_a_time):
        rows = slice(begin, begin + rows_at_a_time)
        queries = X[sample[rows]]
        found = engine.exact_neighbors(X, queries, k + 1, metric, threads, comparison.column_order)
        true[rows] = without_self(*found, sample[rows])[0]
    before = index.points_before(sample, true, threads)

    def is_sufficient(looked_at: int) -> bool:
        shares = (before < looked_at).mean(axis=1)
        error = shares.std() / np.sqrt(len(shares))
        return bool(recall_lower_bound(shares.mean(), error) >= recall)

    looked_at = first_sufficient(effort_ladder(k + 1, len(X)), is_sufficient)
    if looked_at is None:
        return None
    return CellPlan(index, looked_at, _ROW_NS + looked_at * (_PAIR_NS + _COLUMN_NS * X.shape[1]))
