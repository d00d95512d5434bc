"""nearest_neighbors() and NeighborIndex: the nearest points of rows, in any metric; usable on their own."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from actup._threads import count_threads
from actup.graph._records import Neighbors
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.neighbors._comparison import reject_negative
from actup.neighbors._metrics import canonical_metric
from actup.neighbors._rows import read_rows
from actup.neighbors._search import SearchOptions, check_k, make_search

_ALGORITHMS = ("auto", "exact", "approximate")


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
    """The nearest other points of every row of ``X``, nearest first; ties go to the smaller id.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns), or (n, n) distances if ``metric`` is "precomputed"
        Any numeric type; never changed. float32, float16, uint8, int8 and bool are searched as they are, from
        a memory map if they lie in one; other types become float32, dense columns far from 0 relative to a
        value of theirs where only differences count. Distances are computed in float32. Sparse X is compared
        as CSR and never made dense. Sparse distances need at least ``n_neighbors`` entries in every row.
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
        compiled one. "auto" takes the approximate search where it is the faster one and comparing all pairs
        would take more than about half a second of one core.
    recall : float, default=0.97
        The share of true neighbours that the approximate search is to find. What it takes is measured on 512
        rows of ``X``; what was found is in the result.
    random_state : int, default=0
        Seed of the approximate search. The same seed gives the same result at any number of threads.
    n_jobs : int, default=-1
        How many threads work; None and -1: one per core that this process may use. More than four per core
        (and 64) are not started.

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

    The approximate search compares candidates in the metric itself. Under "manhattan", "chebyshev",
    "minkowski" of p other than 2, "canberra", "braycurtis", "hamming", "inner_product" and those of presence,
    and for sparse X, the candidates come from a neighbouring space (euclidean, or a random projection); where
    no affordable number of them reaches the recall, all pairs are compared.

    A search takes at most 0.3 times the memory of ``X`` and three times that of the lists it returns, besides
    some ten megabytes, for sparse ``X`` some numbers for each of its columns, and under "mahalanobis" some
    matrices of them. For fewer than ten neighbours of short rows it may take more: the codes that it searches
    by have up to 128 bytes a row, and some for their order. ``X`` itself is copied only where its type is
    none of those above, or its rows do not lie one after the other. What scikit-learn, SciPy or a function
    computes takes as much as they do.
    """
    threads = count_threads(n_jobs)
    name = canonical_metric(metric)
    options = _check_options(algorithm, recall, random_state)
    rows = read_rows(X, name)
    k = check_k(n_neighbors, rows.shape[0])
    return make_search(rows, name, metric_kwds, options, threads).neighbors(k)


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
        options = _check_options(algorithm, recall, random_state)
        rows = read_rows(X, self._metric)
        self._search = make_search(rows, self._metric, metric_kwds, options, count_threads(n_jobs))
        self._shape, self._is_sparse = rows.shape, sparse.issparse(rows)

    def query(self, X_new: Any, n_neighbors: int = 15) -> Neighbors:
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
            ``indices`` of rows of ``X`` and ``distances``, of shape (m, n_neighbors). ``recall`` is that of
            rows like those of ``X``; new rows that are farther from all of them are compared with all.
        """
        rows = read_rows(X_new, self._metric, name="X_new", is_query=True)
        if rows.shape[1] != self._shape[1]:
            raise ValueError(f"X_new has {rows.shape[1]} columns, but X has {self._shape[1]}")
        if self._is_sparse != sparse.issparse(rows):
            dtype = np.float32 if rows.dtype.itemsize <= 2 else None  # SciPy has no sparse float16
            rows = sparse.csr_matrix(rows, dtype=dtype) if self._is_sparse else rows.toarray()
        reject_negative(self._metric, rows, "X_new")
        k = check_k(n_neighbors, self._shape[0], excludes_self=False)
        return self._search.query(rows, k)


def _check_options(algorithm: str, recall: float, random_state: int) -> SearchOptions:
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
    return SearchOptions(algorithm, float(recall), int(random_state))
