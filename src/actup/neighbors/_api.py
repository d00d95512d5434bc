"""nearest_neighbors() and NeighborIndex: the nearest points of rows, in any metric; usable on their own."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from traceback import clear_frames
from typing import Any

from scipy import sparse

from actup._bytes import format_bytes
from actup._suggestions import explain_unknown_keywords, not_one_of
from actup._threads import count_threads
from actup.graph._records import Neighbors
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.neighbors._comparison import reject_negative
from actup.neighbors._finite_values import Role
from actup.neighbors._metrics import canonical_metric
from actup.neighbors._rows import as_sparse_or_dense, column_parameters, read_rows
from actup.neighbors._search import SearchOptions, check_k, make_search

_ALGORITHMS = ("auto", "exact", "approximate")
# Names that other libraries have for parameters.
_OTHER_NAMES = {
    "k": "n_neighbors",
    "metric_params": "metric_kwds",
    "metric_kwargs": "metric_kwds",
    "seed": "random_state",
    "threads": "n_jobs",
    "method": "algorithm",
}


@explain_unknown_keywords(_OTHER_NAMES)
def nearest_neighbors(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str | Callable[..., float] = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
    algorithm: str = "auto",
    recall: float = DEFAULT_RECALL,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Neighbors:
    """Find the nearest other rows of every row of ``X``, nearest first; ties go to the smaller id.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns), or (n, n) distances if ``metric`` is "precomputed"
        Any numeric type, or a data frame; never changed. Rows of float32, float16, uint8, int8 and bool are
        searched without a copy, also from a memory map. Other types are converted to float32; before that,
        dense columns far from 0 are shifted towards it where only differences matter. Rows whose neighbours
        float32 does not tell apart, as in groups that lie far from each other, are compared in float64.
        Sparse X is compared as CSR and never made dense. Sparse distances need at least ``n_neighbors``
        entries in every row.
    n_neighbors : int, default=15
        The number of neighbours. A row is never its own neighbour, though an equal row may be.
    metric : str or callable, default="euclidean"
        Compiled metrics are "euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "seuclidean",
        "mahalanobis", "cosine", "correlation", "hellinger", "inner_product" (or "dot"), "canberra",
        "braycurtis", "hamming", "haversine", "softmax_hellinger" and "gower" (numbers, categories and missing
        values; see Notes); and the presence metrics, which compare which columns are nonzero: "jaccard",
        "dice", "matching", "kulsinski", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath" and
        "yule". umap-learn's "poincare", "symmetric_kl", "ll_dirichlet", "jensen_shannon", "spearmanr",
        "tsss", "true_angular", "wasserstein_1d", "circular_kantorovich", "bit_hamming" and "bit_jaccard"
        (rows of packed bits, as ``np.packbits`` makes them), any other metric of
        ``sklearn.metrics.pairwise_distances`` and functions of two rows are searched exactly, more slowly. A
        function gets copies of the rows for every pair, so that it may change them. It is called once for
        each pair if it is symmetric, as metrics are; a few pairs, compared both ways, show whether it is.
        With "nan_euclidean" rows may have missing values (NaN). "precomputed": ``X`` holds the distances from
        row to column.
    metric_kwds : dict, default=None
        Parameters of the metric: ``p`` and weights ``w`` of "minkowski" (compiled up to p=4), ``V`` of
        "seuclidean" (variances; umap-learn's ``sigma``), ``V`` or ``VI`` of "mahalanobis" (the covariance or
        its inverse, umap-learn's ``vinv``; by default the covariance of X), ``categorical`` (columns by name,
        number or mask) and ``weights`` (of columns) of "gower". Those of other metrics and of functions are
        passed on.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        "exact" compares all pairs. "approximate" searches clusters of integer codes; it needs a compiled
        metric. "auto" chooses the approximate search where it is faster and an exact search would take more
        than about half a second of one core.
    recall : float, default=0.97
        The share of true neighbours that the search should find. The effort this needs is calibrated on 512
        rows of ``X``, and the recall it reached is part of the result. With 1.0, "auto" compares all pairs.
    random_state : int, default=0
        Seed of the approximate search. The same seed gives the same result at any number of threads.
    n_jobs : int, default=-1
        Number of threads; None and -1: one per core that this process may use. At most 64 threads, or four
        per core if that is more, are started.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances`` of shape (n, n_neighbors), the ``method`` of the search and its
        ``recall``.

    Raises
    ------
    MemoryError
        If memory runs out: the error says how much the result takes, and what would take less.

    Warns
    -----
    UserWarning
        If less than 0.9 of the sampled rows' neighbours were found. This happens for many rows of data
        without structure, where an exact search would take too long.

    See Also
    --------
    NeighborIndex : Searches the same rows for the neighbours of new rows.
    KNeighborsTransformer : The same search as a scikit-learn transformer.

    Notes
    -----
    Rows without a direction (all zero with "cosine" and "hellinger", constant with "correlation") are at
    distance 0 from each other and at distance 1 from every other row.

    "inner_product" is M - <x, y> with M the largest squared norm of the rows of ``X``, so that no distance is
    negative; for rows of norm 1 it is 1 - <x, y>, umap-learn's "dot". For a query with a larger norm, M is
    the mean of both squared norms.

    "gower" is the weighted mean over the columns that both rows have: of numbers the difference over the
    column's range in ``X``, of categories 0 or 1. Columns of text and of categorical types are categories,
    and those that ``categorical`` names. Rows without a common column are at distance 1.

    The approximate search compares candidates in the metric itself. For sparse X, and with "manhattan",
    "chebyshev", "minkowski" of p other than 2, "canberra", "braycurtis", "hamming", "inner_product" and the
    presence metrics, the candidates come from a proxy: the Euclidean distance or a random projection. Where
    no affordable number of candidates reaches the recall, all pairs are compared.

    Besides ``X`` and the result, a search takes at most 0.3 times the memory of ``X`` plus twice that of the
    result, plus about ten megabytes; for sparse ``X`` also a few numbers per column, and with "mahalanobis" a
    few matrices of columns x columns. Fewer than ten neighbours of short rows may take more, because codes
    have up to 128 bytes per row. ``X`` is copied only if its type is not one of those above or its rows are
    not contiguous. Metrics that SciPy, scikit-learn or a function computes take as much memory as those do.

    Examples
    --------
    >>> import numpy as np
    >>> from actup import nearest_neighbors
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> found = nearest_neighbors(X, 2)
    >>> found.indices.tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    >>> found.distances[0].tolist(), found.method, found.recall
    ([1.0, 3.0], 'exact', 1.0)
    """
    threads = count_threads(n_jobs)
    name = canonical_metric(metric)
    options = check_options(algorithm, recall, random_state)
    parameters = column_parameters(X, name, metric_kwds)
    try:
        rows = read_rows(X, name)
        k = check_k(n_neighbors, rows.shape[0])
        return make_search(rows, name, parameters, options, threads).neighbors(k)
    except MemoryError as error:
        clear_frames(error.__traceback__)  # frees their arrays
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        raise MemoryError(
            f"memory ran out in the search for n_neighbors={n_neighbors} of {n:,} rows, whose result alone "
            f"takes {format_bytes(8 * n * n_neighbors)}: free memory, give fewer neighbours, fewer columns, "
            "X as a C-contiguous NumPy array of float32 or float16, or a sample of the rows"
        ) from error


class NeighborIndex:
    """An index of the rows of ``X`` that finds the nearest of them for other rows.

    The answer for a row depends on that row, ``X`` and the seed alone: not on the other queries and not on
    the number of threads.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns)
        Read as by ``nearest_neighbors``, and kept: do not change it while the index is in use.
    metric : str or callable, default="euclidean"
        As in ``nearest_neighbors``, except "precomputed", which has no rows to compare new ones with.
    metric_kwds : dict, default=None
        Parameters of the metric.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        As in ``nearest_neighbors``, like the other parameters.
    recall : float, default=0.97
        The share of true neighbours that the approximate search should find.
    random_state : int, default=0
        Seed of the approximate search.
    n_jobs : int, default=-1
        Number of threads.

    See Also
    --------
    nearest_neighbors : Finds the neighbours of every row among the others.
    KNeighborsTransformer : The same search as a scikit-learn transformer, also for scanpy.

    Examples
    --------
    >>> import numpy as np
    >>> from actup import NeighborIndex
    >>> index = NeighborIndex(np.array([[0.0], [1.0], [3.0]]))
    >>> index.query(np.array([[2.9], [0.2]]), 1).indices.tolist()
    [[2], [0]]
    """

    def __init__(
        self,
        X: Any,
        *,
        metric: str | Callable[..., float] = "euclidean",
        metric_kwds: Mapping[str, Any] | None = None,
        algorithm: str = "auto",
        recall: float = DEFAULT_RECALL,
        random_state: int = 0,
        n_jobs: int | None = -1,
    ):
        self._metric = canonical_metric(metric)
        if self._metric == "precomputed":
            raise ValueError(
                "metric='precomputed' leaves no rows to compare new ones with: give X and a metric"
            )
        options = check_options(algorithm, recall, random_state)
        threads = count_threads(n_jobs)
        parameters = column_parameters(X, self._metric, metric_kwds)
        rows = read_rows(X, self._metric)
        self._search = make_search(rows, self._metric, parameters, options, threads)
        self._shape, self._is_sparse = rows.shape, sparse.issparse(rows)

    def query(self, X_new: Any, n_neighbors: int = 15) -> Neighbors:
        """Find the rows of ``X`` nearest to every row of ``X_new``, nearest first; ties go to the smaller id.

        Parameters
        ----------
        X_new : array-like or sparse matrix of shape (m, columns)
            Dense or sparse, whatever ``X`` is; converted to the form of ``X``.
        n_neighbors : int, default=15
            At most n. A row that is also one of ``X`` finds itself.

        Returns
        -------
        Neighbors
            ``indices`` of rows of ``X`` and ``distances``, of shape (m, n_neighbors). ``recall`` is that of
            rows like those of ``X``; outliers among the new rows are searched exactly.
        """
        rows = read_rows(X_new, self._metric, name="X_new", role=Role.NEW_ROWS)
        if rows.shape[1] != self._shape[1]:
            raise ValueError(f"X_new has {rows.shape[1]} columns, but X has {self._shape[1]}")
        rows = as_sparse_or_dense(rows, self._is_sparse)
        reject_negative(self._metric, rows, "X_new")
        k = check_k(n_neighbors, self._shape[0], excludes_self=False)
        return self._search.query(rows, k)


def check_options(algorithm: str, recall: float, random_state: int) -> SearchOptions:
    """The options of a search, if they are valid."""
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        raise ValueError(not_one_of("algorithm", algorithm, _ALGORITHMS))
    if isinstance(recall, bool) or not isinstance(recall, numbers.Real) or not 0 < recall <= 1:
        raise ValueError(f"recall={recall!r} must be a share above 0 and at most 1")
    if (
        isinstance(random_state, bool)
        or not isinstance(random_state, numbers.Integral)
        or not 0 <= random_state < 2**64
    ):
        raise ValueError(f"random_state={random_state!r} must be an integer from 0 to 2**64 - 1")
    return SearchOptions(algorithm, float(recall), int(random_state))
