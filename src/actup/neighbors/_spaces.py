"""Rows and a metric the engine knows: their exact neighbours, and a neighbouring space to search them by."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from actup._engine import engine
from actup.graph._records import Neighbors
from actup.neighbors._chunks import row_parts
from actup.neighbors._comparison import PRESENCE, Comparison

# What comparing two columns costs, next to a squared difference.
_COST = {"minkowski": 8.0, "canberra": 4.0, "braycurtis": 2.0}
_VALUES_AT_ONCE = 2**18


class DenseSpace:
    """Dense rows.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous float32, float16, uint8 or int8, finite
        Kept and read, never copied.
    comparison : Comparison
    threads : int
    """

    def __init__(self, X: np.ndarray, comparison: Comparison, threads: int):
        self.X = X
        self.metric = comparison.metric
        self._comparison = comparison
        self._threads = threads
        self._longest = _longest(X) if self.metric == "inner_product" else 0.0
        self._held = None

    def __getstate__(self) -> dict:
        """Without what is prepared again, bit by bit the same, where it is needed."""
        return {**self.__dict__, "_held": None}

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    @property
    def exact_cost(self) -> float:
        """What comparing all pairs costs, in squared differences of two columns."""
        columns = self.X.shape[1] / 8 + 4 if self.metric in PRESENCE else self.X.shape[1]
        return float(len(self)) ** 2 * columns * _COST.get(self.metric, 1.0)

    def exact(self, rows: np.ndarray | None, k: int) -> Neighbors:
        """The exact neighbours of other rows, or of all points (None), each without itself."""
        if self.metric in PRESENCE:
            metric, queries = engine.Metric[self.metric], None if rows is None else _bits(rows)
            found = engine.presence_neighbors(
                self._point_bits, queries, self.X.shape[1], k, metric, self._threads
            )
        else:
            found = engine.exact_neighbors(self.X, rows, k, self._how(self.metric), self._threads)
        return Neighbors(*found, engine="exact", recall=1.0)

    def nearest(self, rows, own, candidates, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of each row's candidates (None: all points), without its own id (None: it has none)."""
        how = self._how(self.metric)
        return engine.candidate_neighbors(self.X, rows, own, candidates, k, how, self._threads)

    @property
    def width(self) -> int:
        """How many columns codes may be made of."""
        return self.X.shape[1]

    def index(self, columns: int, sparing: bool, seed: int):
        """Codes of the points, and the points, in a space whose near points are near here too."""
        own = self.metric in PRESENCE or self.metric == "inner_product"
        how = self._how(self.metric if own else "euclidean")
        return engine.ClusterIndex(self.X, how, columns, sparing, seed, self._threads)

    def candidates(self, index, rows: np.ndarray, count: int, probes: int) -> np.ndarray:
        """The nearest points there, about so many: ids of shape (rows, ...), -1 for none."""
        compared = min(2 * count + 32, len(self))  # there; codes only sketch it
        return index.query(rows, count, probes, compared, self._threads)[0]

    @property
    def _point_bits(self) -> np.ndarray:
        if self._held is None:
            self._held = _bits(self.X)
        return self._held

    def _how(self, metric: str):
        return self._comparison.for_engine(metric, self._longest)


class SparseSpace:
    """Sparse rows; the same for ``scipy.sparse`` matrices in CSR form, float32, indices sorted."""

    def __init__(self, X, comparison: Comparison, threads: int):
        self.X = X
        self.metric = comparison.metric
        self._comparison = comparison
        self._threads = threads
        self._longest = _longest(X) if self.metric == "inner_product" else 0.0
        self._held = None

    def __getstate__(self) -> dict:
        """Without what is prepared again, bit by bit the same, where it is needed."""
        return {**self.__dict__, "_held": None}

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def nbytes(self) -> int:
        return self.X.data.nbytes + self.X.indices.nbytes

    @property
    def exact_cost(self) -> float:
        """Points that share a column with a query are met once for each; then every point is weighed."""
        lengths = np.zeros(self.X.shape[1])
        for begin in range(0, self.X.nnz, _VALUES_AT_ONCE):
            lengths += np.bincount(self.X.indices[begin : begin + _VALUES_AT_ONCE], minlength=len(lengths))
        return 40.0 * float(lengths @ lengths) + 80.0 * float(len(self)) ** 2

    def exact(self, rows, k: int) -> Neighbors:
        own = np.arange(len(self), dtype=np.int32) if rows is None else None
        found = self.nearest(rows, own, None, k)
        return Neighbors(*found, engine="exact", recall=1.0)

    def nearest(self, rows, own, candidates, k: int) -> tuple[np.ndarray, np.ndarray]:
        queries = None if rows is None else _arrays(rows)
        return self._points.neighbors(queries, own, candidates, k, self._threads)

    @property
    def width(self) -> int:
        return engine.SKETCH_COLUMNS

    def index(self, columns: int, sparing: bool, seed: int):
        """Codes of a random projection to few dense columns: directions stay near where they were."""
        return self._points.index(columns, sparing, seed, self._threads)

    def candidates(self, index, rows, count: int, probes: int) -> np.ndarray:
        return self._points.candidates(index, _arrays(rows), count, probes, self._threads)

    @property
    def _points(self):
        if self._held is None:
            how = self._comparison.for_engine(longest=self._longest)
            self._held = engine.SparsePoints(_arrays(self.X), self.X.shape[1], how, self._threads)
        return self._held


def _arrays(X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def _squared_lengths(rows) -> np.ndarray:
    if sparse.issparse(rows):
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    wide = rows.astype(np.float64)
    return np.einsum("ij,ij->i", wide, wide)


def _longest(X) -> float:
    """The largest squared length, which is the largest inner product."""
    longest = max(float(_squared_lengths(X[part]).max()) for part in row_parts(X, _VALUES_AT_ONCE))
    if longest > float(np.finfo(np.float32).max):
        raise ValueError(
            "inner products of rows of X are too large for float32: divide X by its largest value"
        )
    return longest


def _bits(rows: np.ndarray) -> np.ndarray:
    """Which columns are not zero, 64 to a word."""
    words = (rows.shape[1] + 63) // 64
    bits = np.zeros((len(rows), words * 8), np.uint8)
    for part in row_parts(rows, _VALUES_AT_ONCE):
        packed = np.packbits(rows[part] != 0, axis=1)
        bits[part, : packed.shape[1]] = packed
    return bits.view(np.uint64)
