"""Exact search in metrics that the engine does not compute: those of NumPy, scikit-learn, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from actup._typing import Rows
from actup.graph._records import Neighbors
from actup.neighbors._comparison import Parameters, check_weights, no_sparse_form
from actup.neighbors._distance_lists import nearest_columns, nearest_others, reject_overflow
from actup.neighbors._metrics import Metric, NegativeValues, record_of

_QUERIES_PER_TASK = 32
_CHUNK_DISTANCES = 2**20
_NUMPY_CHUNK_DISTANCES = 2**22
_WORKING_MEMORY_MIB = 128

Distances = Callable[..., np.ndarray]


class PairwiseSearch:
    """Search points by comparing all of them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, columns)
    metric : str or callable
        A canonical metric that the engine does not compute.
    parameters : mapping or None
    threads : int
    """

    def __init__(
        self, X: Rows, metric: str | Callable[..., float], parameters: Parameters | None, threads: int
    ):
        self._metric = metric
        self._parameters = dict(parameters or {})
        self._threads = threads
        self._record = record_of(metric)
        if self._record is not None and self._record.numpy is None:
            self._record = None  # SciPy computes high powers of "minkowski"
        self._check(X)
        self._X = X

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest other points of every point."""
        n = self._X.shape[0]
        if self._record is not None:
            X = check_values(self._X, self._record)
            return reject_overflow(nearest_others(_numpy_blocks(X, self._record), n, k))
        if callable(self._metric):
            X = _float_rows(self._X)
            rows = max(1, _CHUNK_DISTANCES // n)
            compare = self._distance_function(n_jobs=self._threads)
            # pairwise_distances(X) would compute only one triangle, because it assumes a symmetric function.
            blocks = (compare(X[begin : begin + rows], X) for begin in range(0, n, rows))
            return reject_overflow(nearest_others(blocks, n, k))
        from sklearn.metrics import pairwise_distances_chunked

        X, unit = _scaled_near_one(self._X, self._metric)
        blocks = pairwise_distances_chunked(
            X,
            metric=self._metric,
            n_jobs=self._threads,
            working_memory=_WORKING_MEMORY_MIB,
            **self._parameters,
        )
        return reject_overflow(_scale_distances(nearest_others(blocks, n, k), unit))

    def query(self, rows: Rows, k: int) -> Neighbors:
        """The k nearest points of every row.

        Rows are compared one by one, because a matrix product over several rows may round each of them
        differently. A row that equals its nearest point is at distance 0 from it, whatever the rounding,
        unless a function says otherwise.
        """
        X, queries, unit, distances = self._query_inputs(rows)

        def search(begin: int) -> Neighbors:
            part = range(begin, min(begin + _QUERIES_PER_TASK, queries.shape[0]))
            return nearest_columns((distances(queries[row : row + 1], X) for row in part), k)

        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(search, range(0, queries.shape[0], _QUERIES_PER_TASK)))
        found = Neighbors(
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.distances for part in parts]),
            method="exact",
            recall=1.0,
        )
        if not callable(self._metric):
            found.distances[(X[found.indices[:, 0]] == queries).all(axis=1), 0] = 0
        return reject_overflow(_scale_distances(found, unit))

    def _query_inputs(self, rows: Rows) -> tuple[Rows, Rows, float, Distances]:
        """Points, queries, their unit, and the function that compares them."""
        if self._record is not None:
            assert self._record.numpy is not None
            return (
                check_values(self._X, self._record),
                check_values(rows, self._record),
                1.0,
                self._record.numpy,
            )
        if callable(self._metric):
            return _float_rows(self._X), _float_rows(rows), 1.0, self._distance_function()
        X, unit = _scaled_near_one(self._X, self._metric)
        return X, rows.astype(np.float64) / unit, unit, self._distance_function()

    def _distance_function(self, **options: Any) -> Distances:
        from sklearn.metrics import pairwise_distances

        return partial(pairwise_distances, metric=self._metric, **options, **self._parameters)

    def _check(self, X: Rows) -> None:
        """Reject rows and parameters that the metric cannot take."""
        if sparse.issparse(X) and isinstance(self._metric, str):
            detail = f", p={self._parameters['p']}," if self._metric == "minkowski" else ""
            raise ValueError(no_sparse_form(self._metric, detail))
        if self._record is not None:
            reject_parameters(self._record.name, self._parameters)
        elif self._metric == "minkowski":
            check_weights(self._parameters, X.shape[1])
        elif self._parameters and not callable(self._metric):
            try:
                self._distance_function()(X[:1].astype(np.float64))
            except TypeError as error:
                raise TypeError(
                    f"metric_kwds={self._parameters!r} do not suit metric={self._metric!r}: {error}"
                ) from error


def reject_parameters(metric: str, parameters: Parameters | None) -> None:
    """Reject parameters of a metric that has none."""
    if parameters:
        raise ValueError(f"metric_kwds={dict(parameters)!r}: metric={metric!r} has no parameters")


def check_values(X: np.ndarray, metric: Metric) -> np.ndarray:
    """The rows in float64, if their values suit a metric that NumPy computes."""
    X = X.astype(np.float64)
    if metric.negative is NegativeValues.REJECTED and (X.min() < 0 or X.sum(axis=1).min() <= 0):
        raise ValueError(
            f"metric={metric.name!r} needs rows of values of at least 0 that are not all 0; the least value "
            f"is {X.min():g}, the least sum of a row {X.sum(axis=1).min():g}"
        )
    return X


def _numpy_blocks(X: np.ndarray, metric: Metric) -> Iterator[np.ndarray]:
    """All distances within X in a metric that NumPy computes, block by block of rows."""
    assert metric.numpy is not None
    rows = max(1, _NUMPY_CHUNK_DISTANCES // len(X))
    return (metric.numpy(X[begin : begin + rows], X) for begin in range(0, len(X), rows))


def _float_rows(X: Rows) -> Rows:
    """Rows for a function of two rows: differences of short integers would wrap around."""
    if X.dtype.kind in "fc" and X.dtype != np.float16:
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def _scaled_near_one(X: np.ndarray, metric: str) -> tuple[np.ndarray, float]:
    """Rows in float64 over a power of two, and that power: high powers of large values would overflow."""
    X = X.astype(np.float64, copy=False)  # scikit-learn would lose digits of other types
    if metric != "minkowski":
        return X, 1.0
    unit = float(2.0 ** np.ceil(np.log2(np.abs(X).max() or 1.0)))
    return X / unit, unit


def _scale_distances(found: Neighbors, unit: float) -> Neighbors:
    if unit == 1:
        return found
    return Neighbors(found.indices, found.distances * unit, found.method, found.recall)
