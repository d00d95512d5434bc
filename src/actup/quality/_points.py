"""MeasuredPoints: distances between rows of X (dense, sparse, any dtype, memory-mapped) without copying X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from actup._csr import nonempty_columns, read_sparse
from actup._threads import map_in_threads
from actup._typing import Rows
from actup._values import reject_mask
from actup.neighbors._tables import as_table

REPORT_METRICS = ("euclidean", "cosine")
_CHUNK_ROWS = 2048  # rows that are converted to floats at a time
_CHUNK_PAIRS = 1024  # pairs whose two rows are gathered at a time


class MeasuredPoints:
    """The rows of X as points under a metric, converted to floats chunk by chunk.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        Never copied as a whole. Distances are computed in float32, or in float64 if X is float64 or of
        integers wider than 16 bits.
    metric : {"euclidean", "cosine"}
    """

    def __init__(self, X: Rows, metric: str = "euclidean") -> None:
        if not isinstance(metric, str) or metric not in REPORT_METRICS:
            raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, REPORT_METRICS))}")
        reject_mask(X, "X")
        X = as_table(X, "X")
        self._sparse = scipy.sparse.issparse(X)
        try:
            self._X: Rows = read_sparse(X, "X") if self._sparse else np.asarray(X)
        except ValueError as error:
            if self._sparse:
                raise
            raise ValueError(f"X has rows of different lengths ({error}): give an array") from None
        if self._X.ndim != 2:
            raise ValueError(f"X must have two dimensions (n, n_features), got shape {self._X.shape}")
        if self._X.dtype.kind not in "biuf":
            raise ValueError(f"X must hold real numbers, got dtype {self._X.dtype}")
        self._features = int(self._X.shape[1])
        nonempty = nonempty_columns(self._X) if self._sparse else None
        if nonempty is not None:  # empty columns change no distance
            self._X = nonempty.compress(self._X)
        self._cosine = metric == "cosine"
        wanted = np.result_type(self._X.dtype, np.float32)
        self._dtype = wanted if wanted.itemsize <= 8 else np.dtype(np.float64)  # not longdouble
        self._reject_nonfinite()
        self._centre = self._approximate_mean()

    def __len__(self) -> int:
        return int(self._X.shape[0])

    @property
    def features(self) -> int:
        return self._features

    def sort_keys(self, rows: np.ndarray, threads: int) -> np.ndarray:
        """Return keys that sort all points by their distance from each of the given rows.

        Parameters
        ----------
        rows : ndarray of shape (m,)
        threads : int
            Never changes a bit of the result: chunks are fixed, and each is one single-threaded product.

        Returns
        -------
        ndarray of shape (m, n), float32 or float64
            Squared Euclidean distances less a constant per row, or cosine distances; infinite between a row
            and itself.
        """
        keys = np.empty((len(rows), len(self)), self._dtype)
        queries = self._prepare(self._X[rows])
        with np.errstate(over="ignore"):  # _reject_overflow raises an error below
            queries = queries * self._dtype.type(-1 if self._cosine else -2)

        def fill(begin: int) -> None:
            chunk = self._prepare(self._X[begin : begin + _CHUNK_ROWS])
            out = keys[:, begin : begin + _CHUNK_ROWS]
            with np.errstate(over="ignore", invalid="ignore"):  # _reject_overflow raises an error below
                if self._sparse:
                    out[:] = (queries @ chunk.T).toarray()
                else:
                    np.matmul(queries, chunk.T, out=out)
                out += 1 if self._cosine else _squared_norms(chunk)

        with threadpool_limits(1, user_api="blas"):
            list(map_in_threads(fill, range(0, len(self), _CHUNK_ROWS), threads))
        self._reject_overflow(keys)
        keys[np.arange(len(rows)), rows] = np.inf
        return keys

    def pair_distances(self, first: np.ndarray, second: np.ndarray, threads: int) -> np.ndarray:
        """Return the distance of each pair of rows, squared if Euclidean: (m,) float32 or float64."""
        distances = np.empty(len(first), self._dtype)

        def fill(begin: int) -> None:
            chunk = slice(begin, begin + _CHUNK_PAIRS)
            left, right = self._prepare(self._X[first[chunk]]), self._prepare(self._X[second[chunk]])
            with np.errstate(over="ignore", invalid="ignore"):  # _reject_overflow raises an error below
                distances[chunk] = 1 - _dots(left, right) if self._cosine else _squared_norms(left - right)

        list(map_in_threads(fill, range(0, len(first), _CHUNK_PAIRS), threads))
        self._reject_overflow(distances)
        return distances

    def _prepare(self, rows: Rows) -> Rows:
        """Convert rows to floats; under cosine scale them to length 1, otherwise centre them if dense."""
        if not self._cosine:
            if self._sparse:
                return rows.astype(self._dtype)
            # NumPy 2.4 crashes if there is no memory for the buffers of a subtraction of two types.
            return rows.astype(np.result_type(rows, self._centre), copy=False) - self._centre
        rows = rows.astype(self._dtype)
        lengths = np.sqrt(_squared_norms(rows))
        lengths[lengths == 0] = 1  # a row of zeros is at cosine distance 1 from everything
        if self._sparse:
            return scipy.sparse.diags_array(1 / lengths).tocsr() @ rows
        rows /= lengths[:, None]
        return rows

    def _approximate_mean(self) -> Any:
        """Return the mean of about 1000 rows, or None where it is not used.

        Products of centred rows lose fewer digits.
        """
        if self._sparse or self._cosine or not len(self):
            return None
        sample = self._X[:: max(1, len(self) // 1000)]
        return sample.mean(axis=0, dtype=np.float64).astype(self._dtype)

    def _reject_nonfinite(self) -> None:
        if self._X.dtype.kind != "f":
            return
        for values in self._value_chunks():
            with np.errstate(over="ignore", invalid="ignore"):
                total = values.sum(dtype=np.float64)
            if not np.isfinite(total) and not np.isfinite(values).all():
                raise ValueError("X holds NaN or infinite values: remove or impute them first")

    def _reject_overflow(self, distances: np.ndarray) -> None:
        if not np.isfinite(distances).all():
            raise ValueError(f"the squares of X overflow {self._dtype}: scale X down")

    def _value_chunks(self) -> Iterator[np.ndarray]:
        values: np.ndarray = self._X.data if self._sparse else self._X
        step = _CHUNK_ROWS * max(1, self.features) if self._sparse else _CHUNK_ROWS
        for begin in range(0, len(values), step):
            yield values[begin : begin + step]


def _squared_norms(rows: Rows) -> np.ndarray:
    return _dots(rows, rows)


def _dots(left: Rows, right: Rows) -> np.ndarray:
    """Return the inner product of each row on the left with the same row on the right."""
    if scipy.sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    products: np.ndarray = np.einsum("ij,ij->i", left, right)
    return products
