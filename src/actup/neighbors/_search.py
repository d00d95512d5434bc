"""The one way to a search: ``make_search`` picks the search that suits rows and a metric.

``nearest_neighbors``, ``NeighborIndex``, the maps and ``transform`` all come through here.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from actup._csr import nonempty_columns
from actup._reporting import announced_if_long, part_of_work
from actup._typing import Rows
from actup.graph._records import Neighbors, without_self
from actup.neighbors import _cluster_search, _proxy_search
from actup.neighbors._calibration import DEFAULT_RECALL, SEARCH_SHARE
from actup.neighbors._comparison import (
    Comparison,
    Parameters,
    is_compiled,
    no_sparse_form,
    overflow_reason,
    reject_negative,
    resolve,
    warn_of_degrees,
)
from actup.neighbors._distance_lists import neighbors_from_distances, query_distances, reject_overflow
from actup.neighbors._duplicates import Deduplicated, deduplicate
from actup.neighbors._finite_values import reject_overflow_of
from actup.neighbors._metrics import METRICS, compiled_metrics
from actup.neighbors._mixed_points import MixedPoints
from actup.neighbors._pairwise_search import PairwiseSearch, comparing_all, reject_parameters, remedies
from actup.neighbors._points import DensePoints, SearchablePoints, SparsePoints
from actup.neighbors._precise_search import PreciseSearch
from actup.neighbors._precise_space import make_space
from actup.neighbors._rows import is_engine_type, nonzero_mask, reject_underflow

_CHUNK_ROWS = 4096  # rows whose distances are recomputed at a time
_FLOAT32_SHARE = 0.7  # of the work, if uncertain rows may have to be searched again in full precision
# A row whose k-th neighbour is farther than this multiple of the sample's typical radius is an outlier: the
# calibration says nothing about it, and it is searched exactly.
_OUTLIER_POINT_FACTOR, _OUTLIER_QUERY_FACTOR = 2.0, 1.5


@dataclass(frozen=True)
class SearchOptions:
    """How to search.

    Attributes
    ----------
    algorithm : {"auto", "exact", "approximate"}
    recall : float
        The wanted share of true neighbours.
    seed : int
    column_order : ndarray or None
        As in ``Comparison``. Exact searches of parts of the rows give the same distances, to the bit, if they
        share the order of all rows.
    saves_memory : bool
        Whether to take less memory and more time where there is a choice, for the same bits.
    """

    algorithm: str = "auto"
    recall: float = DEFAULT_RECALL
    seed: int = 0
    column_order: np.ndarray | None = None
    saves_memory: bool = False


# Metrics of dense rows that umap-learn also knows for sparse ones.
_DENSIFIED = ("chebyshev", "ll_dirichlet")
_MAX_DENSIFIED_BYTES = 2**31


class Search(Protocol):
    """Points that are ready to be searched."""

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest other points of every point."""

    def query(self, rows: Rows, k: int) -> Neighbors:
        """The k nearest points of every row."""


def make_search(
    rows: Rows,
    metric: str | Callable[..., float],
    parameters: Parameters | None,
    options: SearchOptions,
    threads: int,
) -> Search:
    """Prepare the search that suits rows and a metric.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, columns)
        As ``read_rows`` returns them. Kept.
    metric : str or callable
        A canonical metric.
    parameters : mapping or None
        Those of the metric.
    options : SearchOptions
    threads : int
    """
    if metric in _DENSIFIED and sparse.issparse(rows):
        return DensifiedSearch(rows, str(metric), parameters, options, threads)
    if metric == "precomputed":
        _reject_approximate(options, f"metric={metric!r}")
        reject_parameters(metric, parameters)
        return DistanceSearch(rows)
    if metric == "gower":
        return MixedSearch(rows, parameters, options, threads)
    if not is_compiled(metric, parameters):
        power = f", p={parameters['p']}" if parameters and metric == "minkowski" else ""
        _reject_approximate(options, f"metric={metric!r}{power}")
        return PairwiseSearch(rows, metric, parameters, threads)
    assert isinstance(metric, str)
    overflow = overflow_reason(metric, parameters, rows)
    if overflow:
        _reject_approximate(options, f"metric={metric!r} of X, which has {overflow}")
        return PairwiseSearch(rows, metric, parameters, threads)
    return EngineSearch(rows, metric, parameters, options, threads)


def check_k(n_neighbors: Any, n_points: int, *, excludes_self: bool = True) -> int:
    """The number of neighbours, if there are enough points besides the row itself (``excludes_self``)."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, numbers.Integral):
        raise TypeError(f"n_neighbors={n_neighbors!r} must be an integer")
    k = int(n_neighbors)
    if k < 1:
        raise ValueError(f"n_neighbors={k} must be at least 1")
    if not excludes_self and k > n_points:
        raise ValueError(f"n_neighbors={k} is too many: X has {n_points} rows")
    if excludes_self and k >= n_points:
        raise ValueError(f"n_neighbors={k} needs at least {k + 1} samples, got {n_points}")
    return k


def _reject_approximate(options: SearchOptions, what: str) -> None:
    if options.algorithm == "approximate":
        raise ValueError(
            f"algorithm='approximate' does not know {what}: use 'auto' or 'exact', or one of the metrics "
            f"{', '.join(map(repr, compiled_metrics()))} ('minkowski' up to p=4)"
        )


def reject_unless_square(distances: Rows) -> None:
    """Reject distances that are not those from every point to every point."""
    if distances.shape[0] != distances.shape[1]:
        raise ValueError(
            f"metric='precomputed' needs a square matrix of distances, got shape {distances.shape}"
        )


class DistanceSearch:
    """Search a given matrix of distances."""

    def __init__(self, distances: Rows):
        self._distances = distances

    def neighbors(self, k: int) -> Neighbors:
        reject_unless_square(self._distances)
        return neighbors_from_distances(self._distances, k)

    def query(self, rows: Rows, k: int) -> Neighbors:
        """The nearest columns of rows, which are distances to the points.

        The distances given at construction are not used.
        """
        return query_distances(rows, k)


class DensifiedSearch:
    """Search sparse rows in a metric that compares dense ones, as dense rows."""

    def __init__(
        self, rows: Rows, metric: str, parameters: Parameters | None, options: SearchOptions, threads: int
    ):
        size = rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
        if size > _MAX_DENSIFIED_BYTES:
            detail = f" of rows that take {size / 2**30:.1f} GiB as dense ones"
            raise ValueError(no_sparse_form(metric, detail))
        self._search = make_search(rows.toarray(), metric, parameters, options, threads)

    def neighbors(self, k: int) -> Neighbors:
        return self._search.neighbors(k)

    def query(self, rows: Rows, k: int) -> Neighbors:
        return self._search.query(rows.toarray(), k)


class EngineSearch:
    """Search points in a compiled metric.

    If most rows are duplicates, only k + 1 of each are searched. Outliers are searched exactly, and the
    distances of metrics that are reduced to another one are recomputed at the end.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, columns)
        As ``read_rows`` returns them. Kept.
    metric : str
        A compiled metric.
    parameters : mapping or None
    options : SearchOptions
    threads : int
    """

    def __init__(
        self, rows: Rows, metric: str, parameters: Parameters | None, options: SearchOptions, threads: int
    ):
        reject_negative(metric, rows)
        reject_underflow(rows, metric, "X")
        warn_of_degrees(metric, rows)
        self._metric = metric
        self._presence = METRICS[metric].presence
        # Parameters that are arrays have a value for every column.
        wide = sparse.issparse(rows) and all(np.ndim(value) == 0 for value in (parameters or {}).values())
        self._nonempty = nonempty_columns(rows) if wide else None
        columns = rows.shape[1]
        rows = self._narrowed(rows)
        comparison = resolve(metric, parameters, rows)
        if self._nonempty is not None:
            comparison = replace(comparison, columns=columns)
        comparison = replace(comparison, column_order=options.column_order)
        # Rows of other types become float32 anyway, so the transform costs no memory.
        self._comparison = comparison if is_engine_type(rows) else comparison.with_transform_for(rows)
        self._given = None if self._comparison.distances is None else rows
        self._rows = self._transformed(rows, "X")
        self._options = options
        self._threads = threads
        self._search_of_all = _search_points(self._rows, self._comparison, options, threads)
        self._precise: PreciseSearch | None = None  # rows of the engine's types are not rounded
        space = None if is_engine_type(rows) or self._presence else make_space(metric, comparison, rows)
        if space is not None:
            # Not methods of this search: a circle of references would keep the float32 rows until Python
            # looks for circles.
            search = partial(_search_points, options=options, threads=threads)
            self._precise = PreciseSearch(space, rows, self._rows, self._comparison.is_exact, search)
        # The last k, its deduplicated rows (None: all rows are searched), and the search of those.
        self._last: tuple[int | None, Deduplicated | None, _PointSearch] = (None, None, self._search_of_all)

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest other points of every point; k from 0 to n - 1."""
        deduplicated, search = self._search_for(k)
        with part_of_work(0, self._search_share):
            found = search.neighbors(k)
        if deduplicated is not None:
            kept, representative = deduplicated.kept, deduplicated.representative
            indices, distances = kept[found.indices][representative], found.distances[representative]
            found = Neighbors(indices, distances, found.method, found.recall)
        if self._precise is not None:
            with part_of_work(self._search_share, 1):
                found = self._precise.refine(found)
        return reject_overflow(self._requested_distances(found, self._given), self._threads)

    def query(self, rows: Rows, k: int) -> Neighbors:
        """The k nearest points of every row, dense or sparse as the points are; k from 1 to n."""
        reject_underflow(rows, self._metric, "X_new", is_query=True)
        warn_of_degrees(self._metric, rows, "X_new")
        rows = self._narrowed(rows)
        deduplicated, search = self._search_for(k)
        transformed = self._transformed(rows, "X_new")
        with part_of_work(0, self._search_share):
            found = search.query(transformed, k)
        if deduplicated is not None:
            indices = deduplicated.kept[found.indices]
            found = Neighbors(indices, found.distances, found.method, found.recall)
        if self._precise is not None:
            with part_of_work(self._search_share, 1):
                found = self._precise.refine(found, rows, transformed)
        return reject_overflow(self._requested_distances(found, rows))

    @property
    def _search_share(self) -> float:
        """The share of the work at which the search in float32 ends."""
        return 1.0 if self._precise is None else _FLOAT32_SHARE

    def _search_for(self, k: int) -> tuple[Deduplicated | None, _PointSearch]:
        """The search for k neighbours, and the deduplicated rows that it holds (None: all rows)."""
        if not self._search_of_all.is_approximate(k):
            return None, self._search_of_all
        last, deduplicated, search = self._last
        if last != k:
            deduplicated, search = deduplicate(self._rows, k), self._search_of_all
            if deduplicated is not None:
                kept = self._rows[deduplicated.kept]
                search = _search_points(kept, self._comparison, self._options, self._threads)
            self._last = k, deduplicated, search
        return deduplicated, search

    def _narrowed(self, rows: Rows) -> Rows:
        """Rows without what the metric does not compare: values of presence metrics, empty columns."""
        rows = nonzero_mask(rows) if self._presence else rows
        return rows if self._nonempty is None else self._nonempty.compress(rows)

    def _transformed(self, rows: Rows, name: str) -> Rows:
        """Rows in a type that the engine reads, transformed to where it compares them."""
        if self._comparison.transform is None and is_engine_type(rows):
            return rows
        transformed = self._comparison.to_float32(rows, name)
        reject_overflow_of(rows, transformed, name)
        return transformed

    def _requested_distances(self, found: Neighbors, rows: Rows) -> Neighbors:
        """Recompute distances in the requested metric and re-sort, if the engine compared in another one."""
        if self._comparison.of_distance is not None:
            with np.errstate(over="ignore"):  # rejected by name
                distances = self._comparison.of_distance(found.distances)
            self._reject_underflow_of(found.distances, distances)
            return Neighbors(found.indices, distances, found.method, found.recall)
        if self._comparison.distances is None:
            return found
        assert self._given is not None
        for begin in range(0, len(rows), _CHUNK_ROWS):
            chunk = slice(begin, begin + _CHUNK_ROWS)
            distances = self._comparison.distances(rows[chunk], self._given[found.indices[chunk]])
            order = np.argsort(distances, axis=1, kind="stable")
            found.distances[chunk] = np.take_along_axis(distances, order, 1)
            found.indices[chunk] = np.take_along_axis(found.indices[chunk], order, 1)
        return found

    def _reject_underflow_of(self, compared: np.ndarray, distances: np.ndarray) -> None:
        """Reject distances that became 0 although those that the engine compared are above 0."""
        lost = compared[(distances == 0) & (compared > 0)]
        if len(lost):
            raise ValueError(
                f"metric={self._metric!r}: the square of the distance {lost.min():g} underflows float32: "
                "multiply X by a large number, or use metric='euclidean'"
            )


def _search_points(X: Rows, comparison: Comparison, options: SearchOptions, threads: int) -> _PointSearch:
    """A search of rows, dense or sparse, where the engine compares them."""
    make = SparsePoints if sparse.issparse(X) else DensePoints
    points = make(X, comparison, threads, options.saves_memory)
    return _PointSearch(points, comparison, options, threads)


class MixedSearch:
    """Search rows of numbers and categories, of which some values may be missing, in metric "gower".

    Complete rows are compared by the engine. Rows with missing values are compared in NumPy: all pairs, or
    candidates of the rows with their gaps filled.

    Parameters
    ----------
    rows : ndarray of shape (n, columns), float64
        As ``read_rows`` returns them.
    parameters : mapping or None
        ``categorical``: column numbers; ``weights``: one per column.
    options : SearchOptions
    threads : int
    """

    def __init__(self, rows: Rows, parameters: Parameters | None, options: SearchOptions, threads: int):
        comparison = resolve("gower", parameters, rows)
        assert comparison.mixed is not None
        self._columns = comparison.mixed
        scaled = self._columns.scaled(rows.astype(np.float64, copy=False), "X")
        filled = self._columns.to_manhattan(scaled)
        self._is_complete = not np.isnan(scaled).any()
        self._with_gaps = MixedPoints(scaled, self._columns, filled, threads)
        self._search: EngineSearch | _PointSearch
        if self._is_complete:
            self._search = EngineSearch(filled, "manhattan", None, options, threads)
        else:
            self._search = _PointSearch(self._with_gaps, comparison, options, threads)

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest other points of every point; k from 0 to n - 1."""
        return reject_overflow(self._search.neighbors(k))

    def query(self, rows: Rows, k: int) -> Neighbors:
        """The k nearest points of every row; k from 1 to n."""
        scaled = self._columns.scaled(rows.astype(np.float64, copy=False), "X_new")
        if not self._is_complete:
            return reject_overflow(self._search.query(scaled, k))
        with_gaps = np.isnan(scaled).any(axis=1)
        indices, distances = np.empty((len(scaled), k), np.int32), np.empty((len(scaled), k), np.float32)
        method, recall = "exact", 1.0
        if with_gaps.any():
            found = self._with_gaps.exact(scaled[with_gaps], k)
            indices[with_gaps], distances[with_gaps] = found.indices, found.distances
        if not with_gaps.all():
            found = self._search.query(self._columns.to_manhattan(scaled[~with_gaps]), k)
            indices[~with_gaps], distances[~with_gaps] = found.indices, found.distances
            method, recall = found.method, found.recall
        return reject_overflow(Neighbors(indices, distances, method, recall))


class _PointSearch:
    """Points where the engine compares them, searched exactly or approximately by their number."""

    def __init__(
        self, points: SearchablePoints, comparison: Comparison, options: SearchOptions, threads: int
    ):
        self._options = options
        self._points = points
        self._approximate: _cluster_search.ClusterSearch | _proxy_search.ProxySearch
        self._by_clusters = isinstance(points, DensePoints) and METRICS[comparison.metric].cluster_search
        if self._by_clusters:
            self._approximate = _cluster_search.ClusterSearch(
                points.X, comparison, options.seed, threads, options.saves_memory
            )
        else:
            self._approximate = _proxy_search.ProxySearch(points, options.seed)

    def is_approximate(self, k: int) -> bool:
        """Whether fewer than all pairs are compared for k neighbours."""
        X = self._points.X
        if self._options.algorithm == "exact" or X.shape[0] < 2 or k == 0:
            return False
        if self._options.algorithm == "approximate":
            return True
        if self._options.recall >= 1:
            return False
        if self._by_clusters:
            n, columns = X.shape
            return not _cluster_search.exact_is_cheaper(n, columns, k)
        return not _proxy_search.exact_is_cheaper(self._points)

    def neighbors(self, k: int) -> Neighbors:
        is_approximate = self.is_approximate(k)
        if is_approximate and self._options.algorithm == "auto":
            exact = self._coded(k)
            if exact is not None:
                return exact
        found = self._approximate.neighbors(k, self._options.recall) if is_approximate else None
        if found is None:
            return self._exact(None, k)
        outliers = self._outliers(found, k, _OUTLIER_POINT_FACTOR)
        if len(outliers):
            with part_of_work(SEARCH_SHARE, 1):
                exact = self._exact(self._points.X[outliers], k + 1)
            lists = without_self(exact.indices, exact.distances, outliers)
            found.indices[outliers], found.distances[outliers] = lists
        return found

    def query(self, rows: Rows, k: int) -> Neighbors:
        found = self._approximate.query(rows, k, self._options.recall) if self.is_approximate(k) else None
        if found is None:
            return self._exact(rows, k)
        outliers = self._outliers(found, k, _OUTLIER_QUERY_FACTOR)
        if len(outliers):
            with part_of_work(SEARCH_SHARE, 1):
                exact = self._exact(rows[outliers], k)
            found.indices[outliers], found.distances[outliers] = exact.indices, exact.distances
        return found

    def _coded(self, k: int) -> Neighbors | None:
        """The exact neighbours of all points by integer codes, where that is faster than clusters."""
        n, columns = self._points.X.shape
        if not isinstance(self._points, DensePoints) or not self._by_clusters:
            return None
        if not _cluster_search.codes_are_cheaper(n, columns, k):
            return None
        if self._options.saves_memory and self._points.has_codes(k):
            return self._exact(None, k)  # the same neighbours
        return self._points.coded(k)

    def _exact(self, rows: Rows | None, k: int) -> Neighbors:
        """The exact neighbours of other rows, or of all points (None)."""
        if self._by_clusters:  # fast enough
            return self._points.exact(rows, k)
        points = len(self._points)
        queries = points if rows is None else rows.shape[0]
        metric = self._points.record.name
        what = comparing_all(queries, points, metric)
        with announced_if_long(what, remedies(metric, is_query=rows is not None)):
            return self._points.exact(rows, k)

    def _outliers(self, found: Neighbors, k: int, factor: float) -> np.ndarray:
        """Ids of the rows whose k-th neighbour is too far for the calibration to apply.

        Among them are rows whose distances overflowed: the exact search scales those.
        """
        radius = np.float64(factor * self._approximate.typical_radius(k, self._options.recall))
        return np.flatnonzero(~(found.distances[:, -1] <= radius))
