"""nearest_neighbors() and NeighborIndex: the nearest points of rows, in any metric; usable on their own."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy import sparse

from actup.comparison import (
    COMPILED,
    Comparison,
    check_metric,
    compare,
    is_compiled,
    refuse_negative,
    spans_too_much,
)
from actup.copies import FewRows, few_rows
from actup.graph import Neighbors, without_own
from actup.pairwise import (
    check_count,
    neighbors_by_metric,
    neighbors_from_distances,
    query_by_metric,
    refuse_overflow,
)
from actup.row_parts import row_parts
from actup.threads import count_threads

_SMALLEST = 1e-36  # of the largest value: float32 has fewer digits of smaller ones
_FINISHED_ROWS, _CHECKED_VALUES = 4096, 2**20  # at a time
_ALGORITHMS = ("auto", "exact", "approximate")
# Rows of these may come in full precision: they are moved before they become float32.
_MOVED = ("seuclidean", "mahalanobis", "haversine")


def nearest_neighbors(
    X,
    n_neighbors: int = 15,
    *,
    metric: str | Callable = "euclidean",
    metric_kwds: Mapping | None = None,
    algorithm: str = "auto",
    recall: float = 0.97,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Neighbors:
    """The nearest other points of every row of ``X``, nearest first; ties go to the smaller id.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns), or (n, n) distances if ``metric`` is "precomputed"
        Any numeric type; never changed. float32, float16, uint8, int8 and bool are searched as they are, from
        a memory map if they lie in one; other types become float32. Distances are computed in float32.
        Sparse X is compared as CSR and never made dense. Sparse distances need at least ``n_neighbors``
        entries in every row.
    n_neighbors : int, default=15
        How many other points; a point is never its own neighbour, though an equal row may be.
    metric : str or callable, default="euclidean"
        Compiled are "euclidean", "manhattan", "chebyshev", "minkowski", "seuclidean", "mahalanobis",
        "cosine", "correlation", "hellinger", "inner_product" ("dot"), "canberra", "braycurtis", "hamming",
        "haversine", "softmax_hellinger"; and, of which columns are not zero, "jaccard", "dice", "matching",
        "kulsinski", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule". umap-learn's
        "poincare", "symmetric_kl" and "ll_dirichlet", any other metric of
        ``sklearn.metrics.pairwise_distances``, or a function of two rows give exact results as well, more
        slowly. Under "nan_euclidean" rows may lack values (NaN). "precomputed": ``X`` holds the distances
        from row to column.
    metric_kwds : dict, default=None
        The parameters: ``p`` and weights ``w`` of "minkowski" (compiled up to p=4), ``V`` of "seuclidean",
        ``V`` or ``VI`` of "mahalanobis"; those of other metrics and functions are handed on.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        "exact" compares all pairs. "approximate" searches clusters of integer codes, if the metric is a
        compiled one. "auto" takes the approximate search where it is the faster
        one and comparing all pairs would take more than about half a second of one core.
    recall : float, default=0.97
        The share of true neighbours that the approximate search is to find. What it takes is measured on 512
        rows of ``X``; what was found is in the result.
    random_state : int, default=0
        Seed of the approximate search. The same seed gives the same result at any number of threads.
    n_jobs : int, default=-1
        How many threads work; None and -1: one per core that this process may use.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances`` of shape (n, n_neighbors), and the ``recall`` measured on the sample.

    Warns
    -----
    UserWarning
        If less than 0.9 of the sampled rows' neighbours were found: data without structure, and too many of
        it to compare all pairs.

    Notes
    -----
    Rows without a direction (all zero under "cosine" and "hellinger", constant under "correlation") are at
    distance 0 from each other and at distance 1 from every other row.

    "inner_product" is M - <x, y> with M the largest squared length of the rows of ``X``, so that no distance
    is negative; for rows of length 1 it is 1 - <x, y>, umap-learn's "dot". Of a new row that is longer than
    all of ``X``, M is the mean of both squared lengths.

    Metrics other than "euclidean", "cosine", "correlation" and "hellinger", and sparse X, are searched by
    candidates from a neighbouring space (euclidean, or a random projection) that are then compared in the
    metric itself; where no affordable number of candidates reaches the recall, all pairs are compared.

    A search takes at most 0.3 times the memory of ``X`` and three times that of the lists it returns, besides
    some ten megabytes, and under "mahalanobis" some matrices of its columns. For fewer than ten neighbours of
    rows of 300 bytes or less it may take more: the codes that it searches by have up to 150 bytes a row.
    ``X`` itself is copied only where its type is none of those above, or its rows do not lie one after the
    other. What scikit-learn, SciPy or a function computes takes as much as they do.
    """
    threads = count_threads(n_jobs)
    name = check_metric(metric)
    search = _Search(algorithm, recall, random_state)
    if name == "precomputed":
        search.refuse_approximate(name)
        _refuse_parameters(name, metric_kwds)
        return neighbors_from_distances(_as_rows(X, None), n_neighbors)
    if not is_compiled(name, metric_kwds):
        search.refuse_approximate(name)
        return neighbors_by_metric(
            _as_rows(X, _dtypes(name), finite=_finite(name)), n_neighbors, name, metric_kwds, threads
        )
    rows = _as_rows(X, _dtypes(name))
    k = check_count(n_neighbors, rows.shape[0])
    if spans_too_much(name, metric_kwds, rows):
        return neighbors_by_metric(rows, k, name, metric_kwds, threads)
    return refuse_overflow(_Searcher(rows, name, metric_kwds, search, threads).neighbors(k))


class NeighborIndex:
    """The rows of ``X``, ready to be searched for the neighbours of other rows.

    A row's answer depends on the row, ``X`` and the seed alone: not on the rows asked for beside it, nor on
    the number of threads.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns)
        Read as ``nearest_neighbors`` reads it, and kept; do not change it while the index is in use.
    metric : str or callable, default="euclidean"
        As in ``nearest_neighbors``, but for "precomputed": there are no rows to compare new ones with.
    metric_kwds : dict, default=None
        Its parameters.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
    recall : float, default=0.97
    random_state : int, default=0
    n_jobs : int, default=-1
        As in ``nearest_neighbors``.
    """

    def __init__(
        self,
        X,
        *,
        metric: str | Callable = "euclidean",
        metric_kwds: Mapping | None = None,
        algorithm: str = "auto",
        recall: float = 0.97,
        random_state: int = 0,
        n_jobs: int | None = -1,
    ):
        self._metric = check_metric(metric)
        if self._metric == "precomputed":
            raise ValueError(
                "metric='precomputed' leaves no rows to compare new ones with: give X and a metric"
            )
        search = _Search(algorithm, recall, random_state)
        threads = count_threads(n_jobs)
        rows = _as_rows(X, _dtypes(self._metric), finite=_finite(self._metric))
        compiled = is_compiled(self._metric, metric_kwds)
        if not compiled:
            search.refuse_approximate(self._metric)
        if compiled and not spans_too_much(self._metric, metric_kwds, rows):
            self._query = _Searcher(rows, self._metric, metric_kwds, search, threads).query
        else:
            self._query = partial(query_by_metric, rows, metric=self._metric, parameters=metric_kwds)
        self._shape, self._sparse = rows.shape, sparse.issparse(rows)

    def query(self, X_new, n_neighbors: int = 15) -> Neighbors:
        """The rows of ``X`` nearest to every row of ``X_new``, nearest first; ties go to the smaller id.

        Parameters
        ----------
        X_new : array-like or sparse matrix of shape (m, columns)
            Dense or sparse whatever ``X`` is, and then compared as ``X`` is.
        n_neighbors : int, default 15
            At most n. A row that is also one of ``X`` finds itself.

        Returns
        -------
        Neighbors
            ``indices`` of rows of ``X`` and ``distances``, of shape (m, n_neighbors).
        """
        rows = _as_rows(X_new, _dtypes(self._metric), "X_new", _finite(self._metric))
        if rows.shape[1] != self._shape[1]:
            raise ValueError(f"X_new has {rows.shape[1]} columns, but X has {self._shape[1]}")
        if self._sparse != sparse.issparse(rows):
            dtype = None if _dtypes(self._metric) is None else np.float32
            rows = sparse.csr_matrix(rows, dtype=dtype) if self._sparse else rows.toarray()
        refuse_negative(self._metric, rows, "X_new")
        k = check_count(n_neighbors, self._shape[0], itself=False)
        return refuse_overflow(self._query(rows, k))


class _Search:
    """The parameters of the approximate search, checked."""

    def __init__(self, algorithm: str, recall: float, random_state: int):
        if algorithm not in _ALGORITHMS:
            raise ValueError(f"algorithm={algorithm!r} is not one of {', '.join(map(repr, _ALGORITHMS))}")
        if isinstance(recall, bool) or not isinstance(recall, numbers.Real) or not 0 < recall <= 1:
            raise ValueError(f"recall={recall!r} must be a share above 0 and at most 1")
        if (
            isinstance(random_state, bool)
            or not isinstance(random_state, numbers.Integral)
            or not 0 <= random_state < 2**64
        ):
            raise ValueError(f"random_state={random_state!r} must be an integer from 0 to 2**64 - 1")
        self.algorithm = algorithm
        self.recall = float(recall)
        self.seed = int(random_state)

    def refuse_approximate(self, metric: str | Callable) -> None:
        if self.algorithm == "approximate":
            raise ValueError(
                f"algorithm='approximate' does not know metric={metric!r}: use 'auto' or 'exact', or one of "
                f"the metrics {', '.join(map(repr, COMPILED))}"
            )


class _Searcher:
    """Rows in a compiled metric, and the search that suits them."""

    def __init__(self, rows, metric: str, parameters: Mapping | None, search: _Search, threads: int):
        refuse_negative(metric, rows)
        comparison = compare(metric, parameters, rows)
        # Rows of other types become float32 anyway.
        self._comparison = comparison if _is_searched(rows) else comparison.moving_rows(rows)
        self._given = rows
        self._points = self._moved(rows)
        self._search = search
        self._threads = threads
        self._whole = _Engine(self._points, self._comparison, search, threads)
        self._asked = None, None, self._whole  # the last k, and what _few_of gave for it

    def neighbors(self, k: int) -> Neighbors:
        few, engine = self._few_of(k)
        found = engine.neighbors(k)
        if few is not None:
            indices, distances = few.kept[found.indices][few.stands_for], found.distances[few.stands_for]
            found = Neighbors(indices, distances, found.engine, found.recall)
        return self._finished(found, self._given)

    def query(self, rows, k: int) -> Neighbors:
        few, engine = self._few_of(k)
        found = engine.query(self._moved(rows), k)
        if few is not None:
            found = Neighbors(few.kept[found.indices], found.distances, found.engine, found.recall)
        return self._finished(found, rows)

    def _few_of(self, k: int) -> tuple[FewRows | None, _Engine]:
        """The engine to ask for k neighbours, and which rows it has, if not all."""
        if self._whole.exact:
            return None, self._whole
        last, few, engine = self._asked
        if last != k:
            few, engine = few_rows(self._points, k), self._whole
            if few is not None:
                engine = _Engine(self._points[few.kept], self._comparison, self._search, self._threads)
            self._asked = k, few, engine
        return few, engine

    def _moved(self, rows):
        """Rows where the engine compares them, in a type that it reads."""
        if self._comparison.move is not None:
            return self._comparison.move(rows)
        return rows if _is_searched(rows) else rows.astype(np.float32)

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

    def __init__(self, points, comparison: Comparison, search: _Search, threads: int):
        from actup.backends import join
        from actup.backends.proxy import ProxySearch, exact_is_cheaper
        from actup.backends.spaces import DenseSpace, SparseSpace

        self._recall = search.recall
        kind = SparseSpace if sparse.issparse(points) else DenseSpace
        self._space = kind(points, comparison, threads)
        self._index = None
        joined = kind is DenseSpace and comparison.metric in join.METRICS
        cheap = join.exact_is_cheaper(*points.shape) if joined else exact_is_cheaper(self._space)
        if search.algorithm == "exact" or points.shape[0] < 2 or (search.algorithm == "auto" and cheap):
            return
        if joined:
            self._index = join.JoinSearch(points, comparison, search.seed, threads)
        else:
            self._index = ProxySearch(self._space, search.seed, threads)

    @property
    def exact(self) -> bool:
        """Whether all pairs are compared."""
        return self._index is None

    def neighbors(self, k: int) -> Neighbors:
        found = self._index and self._index.neighbors(k, self._recall)
        if not found:
            return self._space.exact(None, k)
        far = _too_far(found)
        if len(far):
            again = self._space.exact(self._space.X[far], k + 1)
            found.indices[far], found.distances[far] = without_own(again.indices, again.distances, far)
        return found

    def query(self, rows, k: int) -> Neighbors:
        found = self._index and self._index.query(rows, k, self._recall)
        if not found:
            return self._space.exact(rows, k)
        far = _too_far(found)
        if len(far):
            again = self._space.exact(rows[far], k)
            found.indices[far], found.distances[far] = again.indices, again.distances
        return found


def _too_far(found: Neighbors) -> np.ndarray:
    """Rows whose distances left the range of floats: the exact search has a unit for them."""
    return np.flatnonzero(~np.isfinite(found.distances[:, -1]))


def _dtypes(metric: str | Callable):
    """The types that rows are searched in; None for any number."""
    from actup.backends import join

    return join.SCALARS if metric in COMPILED and metric not in _MOVED else None


def _is_searched(rows) -> bool:
    """Whether rows are of a type that searches read as it is."""
    from actup.backends import join

    return rows.dtype == np.float32 if sparse.issparse(rows) else rows.dtype in join.SCALARS


def _finite(metric: str | Callable) -> bool | str:
    """What scikit-learn's validation is told about missing values."""
    return "allow-nan" if metric == "nan_euclidean" else True


def _refuse_parameters(metric: str, parameters: Mapping | None) -> None:
    if parameters:
        raise ValueError(f"metric_kwds={dict(parameters)!r}: metric={metric!r} has no parameters")


def _refuse_underflow(rows, X, name: str) -> None:
    """Refuse numbers of which float32, in which the rows are, leaves nothing."""
    if _largest(rows) >= _SMALLEST:
        return
    largest = _largest(X if sparse.issparse(X) else np.asarray(X, np.float64))
    if largest > 0:
        raise ValueError(
            f"{name} is too small for float32, its largest value is {largest}: divide {name} by it"
        )


def _largest(X) -> float:
    values = X.data if sparse.issparse(X) else X
    return float(max(-values.min(), values.max())) if values.size else 0.0


def _as_rows(X, dtype, name: str = "X", finite: bool | str = True):
    """``X`` as a finite matrix, C-contiguous or canonical CSR; a copy only where it has to be one."""
    from actup.scikit_learn import assert_all_finite, check_array

    if np.ma.isMaskedArray(X):
        raise TypeError(f"{name} is a masked array, whose mask would be lost: fill it, or leave rows out")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise TypeError(f"{name} holds times ({X.dtype}), which have no scale: turn them into numbers")
    if isinstance(X, np.ndarray) and X.dtype == bool:
        X = X.view(np.uint8)
    if sparse.issparse(X) and dtype is not None:
        dtype = np.float32
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused by name
        half = getattr(X, "dtype", None) == np.float16  # of which scikit-learn would make an array of flags
        options = {"order": "C", "accept_sparse": "csr", "ensure_all_finite": False if half else finite}
        rows = check_array(X, dtype=dtype or "numeric", input_name=name, **options)
    if half:
        for part in row_parts(rows, _CHECKED_VALUES):
            assert_all_finite(rows[part], allow_nan=finite == "allow-nan", input_name=name)
    if rows.dtype == np.float32 and getattr(X, "dtype", None) != np.float32:
        _refuse_underflow(rows, X, name)
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    return rows
