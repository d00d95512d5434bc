"""Points: distances within X of any kind (float16, uint8, memory-mapped, sparse), without a copy of X."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

METRICS = ("euclidean", "cosine")
_TILE = 2048  # points that are converted to floats at a time
_PAIRS = 1024  # pairs whose two rows are gathered at a time


class Points:
    """The rows of X as points under a metric, converted to floats tile by tile.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
        Never copied as a whole. Distances are computed in float32, or float64 if X has more digits than that.
    metric : {"euclidean", "cosine"}
    """

    def __init__(self, X, metric: str = "euclidean"):
        if metric not in METRICS:
            raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, METRICS))}")
        self._sparse = scipy.sparse.issparse(X)
        self._X = X.tocsr() if self._sparse else np.asarray(X)
        if self._X.ndim != 2:
            raise ValueError(f"X must have two dimensions (n, features), got shape {self._X.shape}")
        if self._X.dtype.kind not in "biuf":
            raise ValueError(f"X must hold real numbers, got dtype {self._X.dtype}")
        self._cosine = metric == "cosine"
        self._dtype = np.result_type(self._X.dtype, np.float32)
        self._refuse_nonfinite()
        self._centre = self._find_centre()

    def __len__(self) -> int:
        return self._X.shape[0]

    @property
    def features(self) -> int:
        return self._X.shape[1]

    def order_from(self, rows: np.ndarray, threads: int) -> np.ndarray:
        """A number for each row and each point that grows with their distance; infinite for the row itself.

        Parameters
        ----------
        rows : ndarray of shape (m,)
        threads : int
            Never changes a bit of the result: tiles are fixed and each is one single-threaded product.

        Returns
        -------
        ndarray of shape (m, n), float32 or float64
            Squared distances less a constant per row, or cosine distances.
        """
        result = np.empty((len(rows), len(self)), self._dtype)
        heads = self._prepare(self._X[rows])
        heads = heads * self._dtype.type(-1 if self._cosine else -2)

        def fill(begin: int) -> None:
            tile = self._prepare(self._X[begin : begin + _TILE])
            out = result[:, begin : begin + _TILE]
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                if self._sparse:
                    out[:] = (heads @ tile.T).toarray()
                else:
                    np.matmul(heads, tile.T, out=out)
                out += 1 if self._cosine else _squared_norms(tile)

        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, range(0, len(self), _TILE)))
        self._refuse_overflow(result)
        result[np.arange(len(rows)), rows] = np.inf
        return result

    def between(self, first: np.ndarray, second: np.ndarray, threads: int) -> np.ndarray:
        """The distance of each pair of rows, squared if Euclidean: (m,) float32 or float64."""
        result = np.empty(len(first), self._dtype)

        def fill(begin: int) -> None:
            piece = slice(begin, begin + _PAIRS)
            left, right = self._prepare(self._X[first[piece]]), self._prepare(self._X[second[piece]])
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                result[piece] = 1 - _dots(left, right) if self._cosine else _squared_norms(left - right)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, range(0, len(first), _PAIRS)))
        self._refuse_overflow(result)
        return result

    def _prepare(self, rows):
        """Rows of X as floats: moved to the centre, which costs no digits later, or scaled to length 1."""
        if not self._cosine:
            return rows.astype(self._dtype) if self._sparse else np.subtract(rows, self._centre)
        rows = rows.astype(self._dtype)
        lengths = np.sqrt(_squared_norms(rows))
        lengths[lengths == 0] = 1  # a row of zeros is at cosine distance 1 from everything
        if self._sparse:
            return scipy.sparse.diags_array(1 / lengths).tocsr() @ rows
        rows /= lengths[:, None]
        return rows

    def _find_centre(self):
        """About the mean of X: products of centred rows lose fewer digits. None where it is not used."""
        if self._sparse or self._cosine or not len(self):
            return None
        few = self._X[:: max(1, len(self) // 1000)]
        return few.mean(axis=0, dtype=np.float64).astype(self._dtype)

    def _refuse_nonfinite(self) -> None:
        if self._X.dtype.kind != "f":
            return
        for tile in self._tiles():
            if not np.isfinite(tile.sum(dtype=np.float64)) and not np.isfinite(tile).all():
                raise ValueError("X holds NaN or infinite values: remove or impute them first")

    def _refuse_overflow(self, distances: np.ndarray) -> None:
        if not np.isfinite(distances).all():
            raise ValueError(f"the squares of X overflow {self._dtype}: scale X down")

    def _tiles(self) -> Iterator[np.ndarray]:
        values = self._X.data if self._sparse else self._X
        step = _TILE * max(1, self._X.shape[1]) if self._sparse else _TILE
        for begin in range(0, len(values), step):
            yield values[begin : begin + step]


def _squared_norms(rows) -> np.ndarray:
    return _dots(rows, rows)


def _dots(left, right) -> np.ndarray:
    if scipy.sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)
