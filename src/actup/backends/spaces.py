"""Rows and a metric the engine knows: their exact neighbours, and a neighbouring space to search them by."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from actup.comparison import PRESENCE
from actup.graph import Neighbors
from actup.native import engine

# What comparing two columns costs, next to a squared difference.
_COST = {"minkowski": 8.0, "canberra": 4.0, "braycurtis": 2.0}
_SKETCH_COLUMNS = 512
_SKETCH_ENTRIES = 4  # per column of X
_ROWS_AT_ONCE = 8192


class DenseSpace:
    """Dense rows.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous float32, float16, uint8 or int8, finite
        Kept and read, never copied.
    metric : str
        A name of ``engine.Metric``.
    p : float
        The exponent of ``"minkowski"``.
    threads : int
    factors : ndarray of shape (columns,), default=None
        What multiplies the columns, in metrics of their differences.
    """

    def __init__(self, X: np.ndarray, metric: str, p: float, threads: int, factors: np.ndarray | None = None):
        self.X = X
        self.metric = metric
        self._p = p
        self._threads = threads
        self._factors = [] if factors is None else factors.tolist()
        self._longest = 0.0
        if metric == "inner_product":
            self._longest = max(_longest(part) for part in _parts(X))

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def exact_cost(self) -> float:
        """What comparing all pairs costs, in squared differences of two columns."""
        columns = self.X.shape[1] / 8 + 4 if self.metric in PRESENCE else self.X.shape[1]
        return float(len(self)) ** 2 * columns * _COST.get(self.metric, 1.0)

    def exact(self, rows: np.ndarray | None, k: int) -> Neighbors:
        """The exact neighbours of other rows, or of all points (None), each without itself."""
        if self.metric in PRESENCE:
            metric, queries = engine.Metric[self.metric], None if rows is None else _bits(rows)
            found = engine.present_neighbors(
                _bits(self.X), queries, self.X.shape[1], k, metric, self._threads
            )
        else:
            found = engine.exact_neighbors(self.X, rows, k, self._how(self.metric), self._threads)
        return Neighbors(*found, engine="exact", recall=1.0)

    def nearest(self, rows, own, candidates, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of each row's candidates (None: all points), without its own id (None: it has none)."""
        how = self._how(self.metric)
        return engine.paired_neighbors(self.X, rows, own, candidates, k, how, self._threads)

    def proxy(self):
        """Points in a space whose near points are near here too, and what compares them there."""
        own = self.metric in PRESENCE or self.metric == "inner_product"
        return self.X, self._how(self.metric if own else "euclidean")

    def asked(self, rows: np.ndarray) -> np.ndarray:
        """Rows as queries in the space of ``proxy``."""
        return rows

    def _how(self, metric: str):
        return engine.RowMetric(engine.Metric[metric], self._p, self._longest, self._factors)


class SparseSpace:
    """Sparse rows; the same for ``scipy.sparse`` matrices in CSR form, float32, indices sorted."""

    def __init__(self, X, metric: str, p: float, threads: int):
        self.X = X
        self.metric = metric
        self._p = p
        self._threads = threads
        self._longest = 0.0
        self._sketch: sparse.csr_matrix | None = None
        if metric == "inner_product":
            self._longest = _longest(X)

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def exact_cost(self) -> float:
        """Points that share a column with a query are met once for each; then every point is weighed."""
        lengths = np.bincount(self.X.indices, minlength=1).astype(np.float64)
        return 40.0 * float(lengths @ lengths) + 80.0 * float(len(self)) ** 2

    def exact(self, rows, k: int) -> Neighbors:
        own = np.arange(len(self), dtype=np.int32) if rows is None else None
        found = self.nearest(self.X if rows is None else rows, own, None, k)
        return Neighbors(*found, engine="exact", recall=1.0)

    def nearest(self, rows, own, candidates, k: int) -> tuple[np.ndarray, np.ndarray]:
        if candidates is not None:
            candidates = np.sort(candidates, axis=1)
        return engine.sparse_neighbors(
            _arrays(self.X), _arrays(rows), self.X.shape[1], own, candidates, k, engine.Metric[self.metric],
            self._p, self._longest, self._threads,
        )  # fmt: skip

    def proxy(self):
        """A random projection to few dense columns; directions stay near where they were."""
        directions = self.metric in ("cosine", "correlation", "hellinger", *PRESENCE)
        points = self._sketched(self.X)
        if self.metric == "inner_product":
            rest = np.sqrt(np.maximum(self._longest - _squared_lengths(self.X), 0))
            points[:, -1] = rest * np.sqrt(_SKETCH_ENTRIES)
        metric = engine.Metric.cosine if directions else engine.Metric.euclidean
        return points, engine.RowMetric(metric)

    def asked(self, rows) -> np.ndarray:
        sketched = self._sketched(rows)
        return sketched * _stretch(rows, self._longest) if self.metric == "inner_product" else sketched

    def _sketched(self, rows) -> np.ndarray:
        if self._sketch is None:
            self._sketch = _random_signs(self.X.shape[1])
        extra = int(self.metric == "inner_product")
        out = np.zeros((rows.shape[0], _SKETCH_COLUMNS + extra), np.float32)
        for begin in range(0, rows.shape[0], _ROWS_AT_ONCE):
            part = rows[begin : begin + _ROWS_AT_ONCE]
            part = sparse.csr_matrix((self._values(part.data), part.indices, part.indptr), part.shape)
            out[begin : begin + part.shape[0], :_SKETCH_COLUMNS] = (part @ self._sketch).toarray()
        return out

    def _values(self, values: np.ndarray) -> np.ndarray:
        if self.metric in PRESENCE:
            return (values != 0).astype(np.float32)
        return np.sqrt(values) if self.metric == "hellinger" else values


def _random_signs(columns: int) -> sparse.csr_matrix:
    """A few 1 and -1 per row, at random places; the same for every X, because the seed acts elsewhere."""
    rng = np.random.default_rng(columns)
    entries = columns * _SKETCH_ENTRIES
    places = rng.integers(_SKETCH_COLUMNS, size=entries, dtype=np.int32)
    signs = rng.integers(2, size=entries).astype(np.float32) * 2 - 1
    offsets = np.arange(0, entries + 1, _SKETCH_ENTRIES)
    return sparse.csr_matrix((signs, places, offsets), (columns, _SKETCH_COLUMNS))


def _arrays(X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def _parts(X: np.ndarray):
    return (X[begin : begin + _ROWS_AT_ONCE] for begin in range(0, len(X), _ROWS_AT_ONCE))


def _squared_lengths(rows) -> np.ndarray:
    if sparse.issparse(rows):
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    wide = rows.astype(np.float64)
    return np.einsum("ij,ij->i", wide, wide)


def _longest(rows) -> float:
    """The largest squared length, which is the largest inner product."""
    longest = float(_squared_lengths(rows).max())
    if longest > float(np.finfo(np.float32).max):
        raise ValueError(
            "inner products of rows of X are too large for float32: divide X by its largest value"
        )
    return longest


def _stretch(rows, longest: float) -> np.ndarray:
    """What makes rows as long as the longest point: no product's rank changes, and codes suit both."""
    squares = _squared_lengths(rows)
    return np.sqrt(longest / np.where(squares > 0, squares, 1)).astype(np.float32)[:, None]


def _bits(rows: np.ndarray) -> np.ndarray:
    """Which columns are not zero, 64 to a word."""
    words = (rows.shape[1] + 63) // 64
    bits = np.zeros((len(rows), words * 8), np.uint8)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        packed = np.packbits(rows[begin : begin + _ROWS_AT_ONCE] != 0, axis=1)
        bits[begin : begin + len(packed), : packed.shape[1]] = packed
    return bits.view(np.uint64)
