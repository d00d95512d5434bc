"""PointSearch: the search of the CPU backend that suits some rows and a metric, and what it cannot do itself.

Rows that come many times are searched as a few; those that are far from all others are compared with all;
distances that the engine finds in another space are computed as they were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from actup._scikit_learn import assert_all_finite
from actup.graph._records import Neighbors, without_own
from actup.neighbors import _cluster_search as join
from actup.neighbors import _proxy_search as proxy
from actup.neighbors._comparison import Comparison, compare, refuse_negative
from actup.neighbors._duplicates import FewRows, few_rows
from actup.neighbors._from_distances import refuse_overflow
from actup.neighbors._recall import DEFAULT_RECALL
from actup.neighbors._spaces import DenseSpace, SparseSpace

_FINISHED_ROWS = 4096  # at a time
# Rows that are so many times as far from others as those that the search was measured by, it may not suit.
_FAR_POINT, _FAR_QUERY = 2.0, 1.5


@dataclass(frozen=True)
class SearchOptions:
    """How to search: "auto", "exact" or "approximate"; the wanted recall; the seed of what is random."""

    algorithm: str = "auto"
    recall: float = DEFAULT_RECALL
    seed: int = 0


def is_searched(rows) -> bool:
    """Whether rows are of a type that searches read as it is."""
    return rows.dtype == np.float32 if sparse.issparse(rows) else rows.dtype in join.SCALARS


class PointSearch:
    """Rows in a compiled metric, ready to be searched.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, columns)
        Finite; dense ones C-contiguous, sparse ones canonical. Kept.
    metric : str
        One of ``comparison.COMPILED``.
    parameters : mapping or None
        Those of the metric.
    options : SearchOptions
    threads : int
    """

    def __init__(self, rows, metric: str, parameters: Mapping | None, options: SearchOptions, threads: int):
        refuse_negative(metric, rows)
        comparison = compare(metric, parameters, rows)
        # Rows of other types become float32 anyway.
        self._comparison = comparison if is_searched(rows) else comparison.moving_rows(rows)
        self._given = None if self._comparison.finish is None else rows
        self._points = self._moved(rows, "X")
        self._options = options
        self._threads = threads
        self._whole = _Engine(self._points, self._comparison, options, threads)
        self._asked = None, None, self._whole  # the last k, and what _few_of gave for it

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest other rows of every row; k from 0 to n - 1."""
        few, engine = self._few_of(k)
        found = engine.neighbors(k)
        if few is not None:
            indices, distances = few.kept[found.indices][few.stands_for], found.distances[few.stands_for]
            found = Neighbors(indices, distances, found.engine, found.recall)
        return refuse_overflow(self._finished(found, self._given))

    def query(self, rows, k: int) -> Neighbors:
        """The k nearest rows to each of other ones, dense or sparse as they are; k from 1 to n."""
        few, engine = self._few_of(k)
        found = engine.query(self._moved(rows, "X_new"), k)
        if few is not None:
            found = Neighbors(few.kept[found.indices], found.distances, found.engine, found.recall)
        return refuse_overflow(self._finished(found, rows))

    def _few_of(self, k: int) -> tuple[FewRows | None, _Engine]:
        """The engine to ask for k neighbours, and which rows it has, if not all."""
        if not self._whole.searches(k):
            return None, self._whole
        last, few, engine = self._asked
        if last != k:
            few, engine = few_rows(self._points, k), self._whole
            if few is not None:
                engine = _Engine(self._points[few.kept], self._comparison, self._options, self._threads)
            self._asked = k, few, engine
        return few, engine

    def _moved(self, rows, name: str):
        """Rows where the engine compares them, in a type that it reads."""
        if self._comparison.move is None and is_searched(rows):
            return rows
        moved = self._comparison.as_floats(rows, name)
        with np.errstate(invalid="ignore"):  # infinities of both signs have no sum
            assert_all_finite(moved.data if sparse.issparse(moved) else moved, input_name=name)
        return moved

    def _finished(self, found: Neighbors, rows) -> Neighbors:
        """Distances as they were asked for, in order again."""
        if self._comparison.finish is None:
            return found
        for begin in range(0, len(rows), _FINISHED_ROWS):
            part = slice(begin, begin + _FINISHED_ROWS)
            distances = self._comparison.finish(rows[part], self._given[found.indices[part]])
            order = np.argsort(distances, axis=1, kind="stable")
            found.distances[part] = np.take_along_axis(distances, order, 1)
            found.indices[part] = np.take_along_axis(found.indices[part], order, 1)
        return found


class _Engine:
    """Points where a compiled metric compares them, and the search that suits their number."""

    def __init__(self, points, comparison: Comparison, options: SearchOptions, threads: int):
        self._options = options
        self._joined = not sparse.issparse(points) and comparison.metric in join.METRICS
        kind = SparseSpace if sparse.issparse(points) else DenseSpace
        self._space = kind(points, comparison, threads)
        if self._joined:
            self._index = join.JoinSearch(points, comparison, options.seed, threads)
        else:
            self._index = proxy.ProxySearch(self._space, options.seed, threads)

    def searches(self, k: int) -> bool:
        """Whether fewer than all pairs are compared for k neighbours."""
        points = self._space.X
        if self._options.algorithm == "exact" or points.shape[0] < 2 or k == 0:
            return False
        if self._options.algorithm == "approximate":
            return True
        cheap = (
            join.exact_is_cheaper(*points.shape, k) if self._joined else proxy.exact_is_cheaper(self._space)
        )
        return not cheap

    def neighbors(self, k: int) -> Neighbors:
        found = self._index.neighbors(k, self._options.recall) if self.searches(k) else None
        if found is None:
            return self._space.exact(None, k)
        far = _too_far(found, _FAR_POINT * self._index.reach(k, self._options.recall))
        if len(far):
            again = self._space.exact(self._space.X[far], k + 1)
            found.indices[far], found.distances[far] = without_own(again.indices, again.distances, far)
        return found

    def query(self, rows, k: int) -> Neighbors:
        found = self._index.query(rows, k, self._options.recall) if self.searches(k) else None
        if found is None:
            return self._space.exact(rows, k)
        far = _too_far(found, _FAR_QUERY * self._index.reach(k, self._options.recall))
        if len(far):
            again = self._space.exact(rows[far], k)
            found.indices[far], found.distances[far] = again.indices, again.distances
        return found


def _too_far(found: Neighbors, reach: float) -> np.ndarray:
    """Rows that are farther from all points than that.

    Among them are those whose distances left the range of floats: the exact search has a unit for them.
    """
    return np.flatnonzero(~(found.distances[:, -1] <= reach))
