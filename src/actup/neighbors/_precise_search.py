"""Search again, in full precision, for the neighbours that float32 cannot tell apart.

The engine compares rows in float32. A row whose values are large next to the distances of its neighbours
loses those distances in rounding, for example if it belongs to one of two groups that lie far apart. Such
rows are known after the search, because the rounding errors of a row's distances are at most a multiple of
its norm. They are searched again group by group: every group is shifted to 0 before it is rounded, and what
is still uncertain is compared in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import sparse

from actup._cached_property import cached_property
from actup._elementary import power
from actup._reporting import announced_if_long, part_of_work, report
from actup._typing import CsrMatrix, Rows
from actup.graph._records import Neighbors, without_self
from actup.neighbors._chunks import row_chunks
from actup.neighbors._comparison import Comparison
from actup.neighbors._double_rows import (
    dense_column,
    difference,
    distances_to,
    exponent_of,
    mean_length,
    norms,
    powers_of,
    relative_distances,
    repeat,
    root_of,
    scaled,
)
from actup.neighbors._pairwise_search import comparing_all
from actup.neighbors._precise_space import Space, lost_differences, rounding_errors
from actup.neighbors._row_transforms import column_medians, far_column_center

_CHUNK_VALUES = 2**18
_ENGINE_ROUNDING = 1e-5  # of a distance in float32, relative to itself
_MAX_RELATIVE_ERROR = 1e-4  # of the k-th distance: beyond it a row is searched again
_MAX_LISTED_ERROR = 1e-5  # of a row's smallest distance: beyond it the listed distances are recomputed
_SPLIT_COLUMNS = 8  # columns by which a group is split into smaller ones are the widest of this many
_SAMPLE_ROWS = 512  # rows by which the widest columns and the centre of a group are found
_MIN_SHRINKAGE = 4.0  # a group is split once more if its search lowered the bounds of distances this much
_EXTRA_NEIGHBORS = 16  # neighbours that are compared in float64, beyond twice k
_SEARCH_SHARE = 0.9  # of the work, before listed distances are recomputed
_COMPARED_ROWS = 64  # rows that are compared in float64 at a time
_TILE_VALUES = 2**16  # values of points that are compared with one row at a time: they fit into a cache
_REMEDY = "Rows in float32, X.astype('float32'), are compared faster, but what they round is lost"


class _PointSearch(Protocol):
    def neighbors(self, k: int) -> Neighbors: ...

    def query(self, rows: Rows, k: int) -> Neighbors: ...


class PreciseSearch:
    """Search points again in full precision where float32 does not tell neighbours apart.

    Parameters
    ----------
    space : Space
    points : ndarray or CSR matrix of shape (n, columns)
        As the caller gave them. Kept.
    rounded : ndarray or CSR matrix of shape (n, columns)
        As the engine reads them.
    is_exact : callable
        ``is_exact(rows)``: whether the engine reads rows without rounding.
    make_search : callable
        ``make_search(rows, comparison)`` prepares the engine's search of float32 rows.
    """

    def __init__(
        self,
        space: Space,
        points: Rows,
        rounded: Rows,
        is_exact: Callable[[Rows], bool],
        make_search: Callable[[Rows, Comparison], _PointSearch],
    ):
        self._space = space
        self._given = points
        self._rounded = rounded
        self._is_exact = is_exact
        self._make_search = make_search
        self._norm = Comparison(space.comparison.metric, space.comparison.p)
        self._factors = space.comparison.factors
        self._slack = 1.0  # for sums of distances: the triangle inequality fails for powers below 1
        if self._norm.metric == "minkowski" and self._norm.p < 1:
            self._slack = float(power(4, 1 / self._norm.p))

    @cached_property
    def _points(self) -> Rows:
        return self._space.to_space(self._given)

    @cached_property
    def _lost(self) -> float:
        return lost_differences(self._rounded, self._norm)

    @cached_property
    def _largest_error(self) -> float:
        return self._space.largest_error(self._rounded)

    @cached_property
    def _points_are_exact(self) -> bool:
        return self._is_exact(self._given)

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed again when it is needed."""
        computed = ("_points", "_lost", "_largest_error", "_points_are_exact")
        return {name: value for name, value in self.__dict__.items() if name not in computed}

    def refine(self, found: Neighbors, queries: Rows | None = None, rounded: Rows | None = None) -> Neighbors:
        """Search again for the rows whose neighbours float32 does not tell apart.

        Parameters
        ----------
        found : Neighbors
            Of the engine's rows. Returned as it is if all of them are certain.
        queries : ndarray or CSR matrix of shape (m, columns), default=None
            The rows as the caller gave them; None: the points, each without itself.
        rounded : ndarray or CSR matrix of shape (m, columns), default=None
            The queries as the engine reads them.
        """
        if not found.indices.size:
            return found
        # A row whose k-th distance is uncertain is searched again. Otherwise, if its smallest distance is
        # uncertain, its listed distances are recomputed.
        ends = self._space.from_distance(found.distances[:, [0, -1]].astype(np.float64))
        negligible = np.minimum(_MAX_LISTED_ERROR * ends[:, 0], _MAX_RELATIVE_ERROR * ends[:, 1])
        largest = self._largest_error if rounded is None else self._space.largest_error(rounded)
        rows = np.flatnonzero(self._lost + largest > negligible)
        if len(rows):
            read = self._rounded if rounded is None else rounded
            errors = np.zeros(len(found))
            for chunk in row_chunks(read, _CHUNK_VALUES):
                errors[rows[chunk]] = self._lost + self._space.errors(read[rows[chunk]])
            rows = rows[errors[rows] > negligible[rows]]
        if not len(rows) or (self._points_are_exact and (queries is None or self._is_exact(queries[rows]))):
            return found
        if queries is not None:
            if sparse.issparse(queries) and not queries.has_canonical_format:
                if not self._space.is_norm:
                    return found
                queries = _without_repeated_ids(queries, self._norm)
            queries = self._space.to_space(queries)
        distances = self._space.from_distance(found.distances.astype(np.float64))
        search = _GroupSearch(self, found, distances, errors, queries)
        bounds = self._slack * (distances[:, -1] * (1 + _ENGINE_ROUNDING) + 2 * errors)
        uncertain = rows[errors[rows] > _MAX_RELATIVE_ERROR * ends[rows, 1]]
        if len(uncertain):
            with part_of_work(0, _SEARCH_SHARE):
                search.run(uncertain, bounds)
        with part_of_work(_SEARCH_SHARE, 1):
            search.recompute(rows)
        distances = found.distances.copy()
        changed = np.flatnonzero(search.changed)
        distances[changed] = self._space.to_distance(search.distances[changed])
        return Neighbors(search.indices, distances, search.method, float(search.recall.mean()))

    def _distances(self, rows: Rows, ids: np.ndarray) -> np.ndarray:
        """Distances in float64 from rows, (m, columns), to points, (m, k) ids."""
        count, k = ids.shape
        result = np.empty(ids.shape)
        step = max(1, _CHUNK_VALUES // max(1, k * mean_length(self._points)))
        for begin in range(0, count, step):
            chunk = slice(begin, begin + step)
            repeated = rows[np.repeat(np.arange(count)[chunk], k)]
            others = self._points[ids[chunk].ravel()]
            if self._space.is_norm:
                of_pairs = norms(scaled(difference(repeated, others), self._factors), self._norm)
            else:
                of_pairs = relative_distances(repeated, others, self._norm.metric)
            result[chunk] = of_pairs.reshape(-1, k)
        return result


class _GroupSearch:
    """One refinement of the lists of uncertain rows, group by group."""

    def __init__(
        self,
        search: PreciseSearch,
        found: Neighbors,
        distances: np.ndarray,
        errors: np.ndarray,
        queries: Rows | None,
    ):
        self._search = search
        self._points = search._points
        self._queries = search._points if queries is None else queries
        self._excludes_self = queries is None
        self._norm = search._norm if search._space.is_norm else Comparison("manhattan")
        self._factors = search._factors  # of columns in this norm
        self._k = found.indices.shape[1]
        self.indices, self.distances = found.indices.astype(np.int64), distances
        self.method = found.method
        self.recall = np.full(len(found), found.recall)
        self.changed = np.zeros(len(found), bool)
        self._errors = errors.copy()  # how far rounding to float32 may have moved a row's distances

    def run(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Search again for rows whose k-th neighbours are within ``bounds``, which are lowered."""
        self._bounds = bounds
        ids = np.arange(self._points.shape[0])
        total = len(rows)
        same = rows[self.distances[rows, -1] == 0]
        true = self._search._distances(self._queries[same], self.indices[same])
        same = same[(true == 0).all(axis=1)]
        self._errors[same] = 0.0
        rows = np.setdiff1d(rows, same, assume_unique=True)
        tasks = [(rows, ids)] if len(rows) else []
        waiting = len(rows)
        while tasks:
            rows, ids = tasks.pop()
            if not self._search._space.is_norm:
                self._factors = self._lower_bound_factors(rows, ids)
            parts = self._split(rows, ids)
            if len(parts) > 1 or len(parts[0][1]) < len(ids):
                tasks.extend(parts)
                continue
            before = bounds[rows].max()
            done = 1 - waiting / total
            share = len(rows) / total
            with part_of_work(done, done + share / 2):
                left = self._search_group(rows, ids)
            if len(left) and bounds[left].max() * _MIN_SHRINKAGE < before:
                tasks.append((left, ids))
                waiting -= len(rows) - len(left)
                continue
            waiting -= len(rows)
            if len(left):
                what = comparing_all(len(left), len(ids), self._search._space.metric)
                with part_of_work(done + share / 2, done + share), announced_if_long(what, _REMEDY):
                    self._compare_in_double(left, ids)

    def recompute(self, rows: np.ndarray) -> None:
        """Recompute listed distances in float64, and sort them, where the smallest one is uncertain."""
        rows = rows[self._errors[rows] > _MAX_LISTED_ERROR * self.distances[rows, 0]]
        step = max(1, _CHUNK_VALUES // self._k)
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            ids = self.indices[part]
            distances = self._search._distances(self._queries[part], ids)
            self._store(part, *_smallest(ids, distances, self._k), self.recall[part], 0.0)
            report((begin + len(part)) / len(rows))
        report(1.0)

    def _lower_bound_factors(self, rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Factors of columns with which "manhattan" is at most the metric, between these rows and points."""
        chosen = (self._queries, rows), (self._points, ids)
        if self._search._norm.metric == "canberra":
            largest = sum(_largest_by_column(matrix, at) for matrix, at in chosen)
            return np.asarray(np.where(largest > 0, 1 / np.where(largest > 0, largest, 1), 0))
        sums = sum(_largest_sum(matrix, at) for matrix, at in chosen)
        return np.full(self._points.shape[1], 1 / sums if sums > 0 else 0.0)

    def _split(self, rows: np.ndarray, ids: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Groups of rows with the points that can be their neighbours, by one of the widest columns.

        A neighbour's values differ by no more than its distance, so only points within a row's bound count.
        """
        for column in self._widest_columns(rows, ids):
            here, there = self._column(rows, ids, column)
            order = np.argsort(here - self._bounds[rows], kind="stable")
            low = (here - self._bounds[rows])[order]
            reach = np.maximum.accumulate((here + self._bounds[rows])[order])
            begins = np.flatnonzero(np.concatenate([[True], low[1:] > reach[:-1]]))
            ends = np.append(begins[1:], len(rows))
            of_point = np.searchsorted(low[begins], there, side="right") - 1
            inside = (of_point >= 0) & (there <= reach[ends - 1][of_point])
            if len(begins) == 1 and inside.all():
                continue
            points = np.flatnonzero(inside)
            points = points[np.argsort(of_point[points], kind="stable")]
            cuts = np.searchsorted(of_point[points], np.arange(1, len(begins)))
            groups = np.split(points, cuts)
            if min(map(len, groups)) < self._k + self._excludes_self:
                continue  # rounding has left out a neighbour at the edge of a row's bound
            return [
                (np.sort(rows[order[begin:end]]), ids[part])
                for begin, end, part in zip(begins, ends, groups, strict=True)
            ]
        return [(rows, ids)]

    def _widest_columns(self, rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The columns in which a sample of rows and points spreads most, widest first."""
        sampled = _every(rows), _every(ids)
        origin = self._queries[rows[:1]]
        spread = np.zeros(self._points.shape[1])
        for matrix, chosen in zip((self._queries, self._points), sampled, strict=True):
            differences = difference(matrix[chosen], repeat(origin, len(chosen)))
            largest = abs(scaled(differences, self._factors)).max(axis=0)
            spread = np.maximum(spread, largest.toarray().ravel() if sparse.issparse(largest) else largest)
        return np.argsort(-spread, kind="stable")[:_SPLIT_COLUMNS]

    def _column(self, rows: np.ndarray, ids: np.ndarray, column: int) -> tuple[np.ndarray, np.ndarray]:
        """One column of rows and of points, in float64 relative to the first row's value."""
        factor = 1.0 if self._factors is None else self._factors[column]
        here, there = (dense_column(M, at, column) for M, at in ((self._queries, rows), (self._points, ids)))
        origin = here[:1].copy()
        return difference(here, origin) * factor, difference(there, origin) * factor

    def _search_group(self, rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Search a group in float32 after a shift; returns the rows that are still uncertain."""
        norm = self._norm
        center = _center(self._queries[_every(rows)])
        points = self._shifted(self._points, ids, center)
        search = self._search._make_search(points, norm)
        whole = self._excludes_self and len(rows) == len(ids)
        queries = points if whole else self._shifted(self._queries, rows, center)
        errors = rounding_errors(queries, norm) + lost_differences(points, norm)
        if not self._search._space.is_norm:
            enough = self._rerank(rows, ids, search, queries, errors)
            return np.asarray(rows[~enough])
        k = self._k
        found = search.neighbors(k) if whole else search.query(queries, k + self._excludes_self)
        lists = ids[found.indices], found.distances
        self.method = found.method if found.method != "exact" else self.method
        if not whole and self._excludes_self:
            lists = without_self(*lists, rows)
        self._store(rows, *lists, found.recall, errors)
        certain = errors <= _MAX_RELATIVE_ERROR * lists[1][:, -1]
        bounds = self._search._slack * (lists[1][:, -1] * (1 + _ENGINE_ROUNDING) + 2 * errors)
        self._bounds[rows] = np.minimum(self._bounds[rows], bounds)
        left = np.flatnonzero(~certain)
        enough = self._rerank(rows[left], ids, search, queries[left], errors[left])
        uncertain: np.ndarray = rows[left[~enough]]
        return uncertain

    def _rerank(
        self, rows: np.ndarray, ids: np.ndarray, search: _PointSearch, queries: Rows, errors: np.ndarray
    ) -> np.ndarray:
        """Compare more neighbours of rows in float64; returns for which rows these are certainly enough."""
        if not len(rows):
            return np.zeros(0, bool)
        count = min(2 * self._k + _EXTRA_NEIGHBORS, len(ids))
        found = search.query(queries, count)
        candidates = ids[found.indices]
        distances = self._search._distances(self._queries[rows], candidates)
        if self._excludes_self:
            distances[candidates == rows[:, None]] = np.inf
        nearest, distances = _smallest(candidates, distances, self._k)
        self._store(rows, nearest, distances, found.recall, 0.0)
        self._bounds[rows] = np.minimum(self._bounds[rows], distances[:, -1])
        beyond = found.distances[:, -1] * (1 - _ENGINE_ROUNDING) - errors
        enough: np.ndarray = (distances[:, -1] <= beyond) | (count == len(ids)) | (distances[:, -1] == 0)
        return enough

    def _compare_in_double(self, rows: np.ndarray, ids: np.ndarray) -> None:
        """Compare rows with all points that one column leaves possible, in float64."""
        column = int(self._widest_columns(rows, ids)[0])
        here, there = self._column(rows, ids, column)
        by_value = np.argsort(there, kind="stable")
        ids, there = ids[by_value], there[by_value]
        order = np.argsort(here, kind="stable")
        for begin in range(0, len(rows), _COMPARED_ROWS):
            part = order[begin : begin + _COMPARED_ROWS]
            reach = self._bounds[rows[part]]
            first = np.searchsorted(there, (here[part] - reach).min(), side="left")
            last = np.searchsorted(there, (here[part] + reach).max(), side="right")
            with part_of_work(begin / len(rows), (begin + len(part)) / len(rows)):
                self._compare_all(rows[part], ids[first:last])

    def _compare_all(self, rows: np.ndarray, ids: np.ndarray) -> None:
        """Compare rows with points in float64, a chunk of points at a time."""
        origin = self._queries[rows[:1]] if self._search._space.is_norm else None
        queries = self._dense(self._queries, rows, origin)
        best = np.full((len(rows), self._k), -1), np.full((len(rows), self._k), np.inf)
        step = max(1, _TILE_VALUES // max(1, queries.shape[1]))
        for begin in range(0, len(ids), step):
            part = ids[begin : begin + step]
            points = np.ascontiguousarray(self._dense(self._points, part, origin).T)
            distances = np.array([distances_to(row, points, self._search._norm) for row in queries])
            if self._excludes_self:
                distances[rows[:, None] == part[None, :]] = np.inf
            candidates = np.hstack([best[0], np.broadcast_to(part, distances.shape)])
            best = _smallest(candidates, np.hstack([best[1], distances]), self._k)
            report((begin + len(part)) / len(ids))
        self._store(rows, *best, 1.0, 0.0)

    def _dense(self, matrix: Rows, rows: np.ndarray, origin: Rows | None) -> np.ndarray:
        """Dense rows in float64: as they are (None), or relative to an origin and times the factors."""
        if origin is None:
            chosen = matrix[rows].astype(np.float64)
        else:
            chosen = scaled(difference(matrix[rows], repeat(origin, len(rows))), self._factors)
        dense: np.ndarray = chosen.toarray() if sparse.issparse(chosen) else chosen
        return dense

    def _shifted(self, matrix: Rows, rows: np.ndarray, center: Rows) -> Rows:
        """Rows relative to a center, times the factors of the columns, in float32."""
        if sparse.issparse(matrix):
            shifted = scaled(difference(matrix[rows], repeat(center, len(rows))), self._factors)
            return sparse.csr_matrix(shifted, dtype=np.float32)
        result = np.empty((len(rows), matrix.shape[1]), np.float32)
        step = max(1, _CHUNK_VALUES // max(1, matrix.shape[1]))
        for begin in range(0, len(rows), step):
            chunk = slice(begin, begin + step)
            result[chunk] = scaled(difference(matrix[rows[chunk]], center), self._factors)
        return result

    def _store(
        self,
        rows: np.ndarray,
        indices: np.ndarray,
        distances: np.ndarray,
        recall: float | np.ndarray,
        errors: float | np.ndarray,
    ) -> None:
        self.indices[rows], self.distances[rows] = indices, distances
        self.recall[rows], self._errors[rows], self.changed[rows] = recall, errors, True


def _largest_by_column(matrix: Rows, rows: np.ndarray) -> np.ndarray:
    """The largest absolute value of rows in each column."""
    largest = np.zeros(matrix.shape[1])
    for chunk in row_chunks(matrix, _CHUNK_VALUES):
        part = abs(matrix[rows[chunk]].astype(np.float64))
        if part.shape[0]:
            of_part = part.max(axis=0)
            largest = np.maximum(largest, of_part.toarray().ravel() if sparse.issparse(part) else of_part)
    return largest


def _largest_sum(matrix: Rows, rows: np.ndarray) -> float:
    """The largest sum of a row's absolute values."""
    sums = [
        norms(matrix[rows[chunk]], Comparison("manhattan")) for chunk in row_chunks(matrix, _CHUNK_VALUES)
    ]
    return float(np.concatenate(sums).max())


def _every(ids: np.ndarray) -> np.ndarray:
    """A sample of ids, evenly spaced."""
    return ids[:: max(1, len(ids) // _SAMPLE_ROWS)]


def _smallest(ids: np.ndarray, distances: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest distances of each row and their ids, ascending; ties go to the smaller id."""
    if distances.shape[1] > 4 * k:  # sort only those that are at most the k-th distance
        kth = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
        count = int((distances <= kth).sum(axis=1).max())
        chosen = np.argpartition(distances, count - 1, axis=1)[:, :count]
        ids, distances = np.take_along_axis(ids, chosen, 1), np.take_along_axis(distances, chosen, 1)
    by_id = np.argsort(ids, axis=1, kind="stable")
    ids, distances = np.take_along_axis(ids, by_id, 1), np.take_along_axis(distances, by_id, 1)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(ids, order, 1), np.take_along_axis(distances, order, 1)


def _without_repeated_ids(rows: CsrMatrix, norm: Comparison) -> CsrMatrix:
    """Rows whose entries with the same id, which stand for different columns, become one of their norm."""
    exponent = exponent_of(norm)
    powers = powers_of(np.abs(rows.data.astype(np.float64)), exponent)
    merged = sparse.csr_matrix((powers, rows.indices.copy(), rows.indptr.copy()), rows.shape)
    merged.sum_duplicates()
    signs = sparse.csr_matrix((np.sign(rows.data.astype(np.float64)), rows.indices, rows.indptr), rows.shape)
    signs.sum_duplicates()
    merged.data = root_of(merged.data, exponent) * np.where(signs.data < 0, -1, 1)
    return merged


def _center(rows: Rows) -> Rows:
    """The median of a sample's columns, as one row; of sparse rows only where most values are far from 0."""
    if not sparse.issparse(rows):
        return column_medians(rows)
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    columns = np.flatnonzero(counts > rows.shape[0] // 2)
    values = far_column_center(rows[:, columns].toarray())
    at = np.flatnonzero(values)
    return sparse.csr_matrix((values[at], columns[at], np.array([0, len(at)])), (1, rows.shape[1]))
