"""Points in a compiled metric, dense or sparse: their exact neighbours, and a proxy to find candidates by.

The proxy of a metric is a space that integer codes can search and whose near points are near in the metric
too: the Euclidean distance of the same rows, or a random projection of sparse rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from actup._engine import engine
from actup._typing import Rows
from actup.graph._records import Neighbors
from actup.neighbors._chunks import row_chunks
from actup.neighbors._comparison import Comparison
from actup.neighbors._metrics import METRICS

_CHUNK_VALUES = 2**18
# Costs of an exact search in squared differences of two columns.
_SPARSE_ENTRY_COST = 40.0  # a point that shares a column with the query
_SPARSE_POINT_COST = 80.0  # any point
_PRESENCE_ROW_COST = 4  # per pair of rows; each column adds 1/8

Found = tuple[np.ndarray, np.ndarray]  # ids and distances, (rows, k)


class SearchablePoints(ABC):
    """Points that can be searched in one metric.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, columns)
        Of a type that the engine reads, finite. Kept and read, never copied.
    comparison : Comparison
    threads : int
    saves_memory : bool, default=False
        Whether to take less memory and more time where there is a choice, for the same bits.
    """

    def __init__(self, X: Rows, comparison: Comparison, threads: int, saves_memory: bool = False):
        self.X = X
        self.saves_memory = saves_memory
        self.record = METRICS[comparison.metric]
        self._comparison = comparison
        self._threads = threads
        needs_norm = comparison.metric == "inner_product"
        self._largest_squared_norm = _largest_squared_norm(X) if needs_norm else 0.0
        self._prepared: Any = None  # what the engine needs of the points

    def __getstate__(self) -> dict[str, object]:
        """Without what is prepared again, with the same bits, when it is needed."""
        return {**self.__dict__, "_prepared": None}

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory of X."""

    @property
    @abstractmethod
    def exact_cost(self) -> float:
        """The cost of comparing all pairs, in squared differences of two columns."""

    @property
    @abstractmethod
    def code_columns(self) -> int:
        """How many columns codes can be made of."""

    @abstractmethod
    def exact(self, rows: Rows | None, k: int) -> Neighbors:
        """The exact neighbours of other rows, or of all points (None), each without itself."""

    @abstractmethod
    def nearest(
        self, rows: Rows, self_ids: np.ndarray | None, candidates: np.ndarray | None, k: int
    ) -> Found:
        """The nearest of each row's candidates (None: of all points), without the row itself."""

    @abstractmethod
    def proxy_index(self, columns: int, save_memory: bool, seed: int) -> Any:
        """An index of the points in the proxy; ``columns=0``: the engine chooses the number."""

    @abstractmethod
    def candidates(self, index: Any, rows: Rows, count: int, probes: int) -> np.ndarray:
        """About ``count`` nearest points in the proxy: ids of shape (rows, ...), -1 for none."""


class DensePoints(SearchablePoints):
    """Dense points; ``X`` is C-contiguous float32, float16, uint8 or int8."""

    @property
    def nbytes(self) -> int:
        return int(self.X.nbytes)

    @property
    def exact_cost(self) -> float:
        columns = self.X.shape[1]
        if self.record.presence:
            columns = columns / 8 + _PRESENCE_ROW_COST
        return float(float(len(self)) ** 2 * columns * self.record.cost)

    @property
    def code_columns(self) -> int:
        return int(self.X.shape[1])

    def exact(self, rows: np.ndarray | None, k: int) -> Neighbors:
        if self.record.presence:
            metric, queries = engine.Metric[self.record.name], None if rows is None else _pack_bits(rows)
            found = engine.presence_neighbors(
                self._point_bits, queries, self.X.shape[1], k, metric, self._threads
            )
        else:
            row_metric, order = self._row_metric(self.record.name), self._comparison.column_order
            by_codes = not self.saves_memory
            found = engine.exact_neighbors(self.X, rows, k, row_metric, self._threads, order, None, by_codes)
        indices, distances = found
        return Neighbors(indices, distances, method="exact", recall=1.0)

    def has_codes(self, k: int) -> bool:
        """Whether there are few enough points for a search by codes of all columns."""
        rows, columns = self.X.shape
        return bool(engine.coded_search_bytes(rows, columns, k))

    def coded(self, k: int) -> Neighbors | None:
        """The exact neighbours of all points, if there are few and integer codes can tell them apart."""
        row_metric, order = self._row_metric(self.record.name), self._comparison.column_order
        found = engine.coded_neighbors(self.X, k, row_metric, self._threads, order)
        return None if found is None else Neighbors(*found, method="exact", recall=1.0)

    def nearest(
        self, rows: np.ndarray, self_ids: np.ndarray | None, candidates: np.ndarray | None, k: int
    ) -> Found:
        metric = self._row_metric(self.record.name)
        return engine.candidate_neighbors(self.X, rows, self_ids, candidates, k, metric, self._threads)

    def proxy_index(self, columns: int, save_memory: bool, seed: int) -> Any:
        metric = self._row_metric(self.record.name if self.record.own_proxy else "euclidean")
        return engine.ClusterIndex(self.X, metric, columns, save_memory, seed, self._threads)

    def candidates(self, index: Any, rows: np.ndarray, count: int, probes: int) -> np.ndarray:
        compared = min(2 * count + 32, len(self))  # in the proxy itself, because codes are inexact
        ids: np.ndarray = index.query(rows, count, probes, compared, self._threads)[0]
        return ids

    @property
    def _point_bits(self) -> np.ndarray:
        if self._prepared is None:
            self._prepared = _pack_bits(self.X)
        bits: np.ndarray = self._prepared
        return bits

    def _row_metric(self, metric: str) -> engine.RowMetric:
        return self._comparison.for_engine(metric, self._largest_squared_norm)


class SparsePoints(SearchablePoints):
    """Sparse points; ``X`` is a canonical CSR matrix of float32."""

    @property
    def nbytes(self) -> int:
        return int(self.X.data.nbytes + self.X.indices.nbytes)

    @property
    def exact_cost(self) -> float:
        lengths = np.zeros(self.X.shape[1])
        for begin in range(0, self.X.nnz, _CHUNK_VALUES):
            lengths += np.bincount(self.X.indices[begin : begin + _CHUNK_VALUES], minlength=len(lengths))
        return (
            _SPARSE_ENTRY_COST * float((lengths * lengths).sum()) + _SPARSE_POINT_COST * float(len(self)) ** 2
        )

    @property
    def code_columns(self) -> int:
        return int(engine.SKETCH_COLUMNS)

    def exact(self, rows: Rows | None, k: int) -> Neighbors:
        self_ids = np.arange(len(self), dtype=np.int32) if rows is None else None
        indices, distances = self.nearest(rows, self_ids, None, k)
        return Neighbors(indices, distances, method="exact", recall=1.0)

    def nearest(
        self, rows: Rows | None, self_ids: np.ndarray | None, candidates: np.ndarray | None, k: int
    ) -> Found:
        queries = None if rows is None else _csr_arrays(rows)
        found: Found = self._engine_points.neighbors(queries, self_ids, candidates, k, self._threads)
        return found

    def proxy_index(self, columns: int, save_memory: bool, seed: int) -> Any:
        return self._engine_points.index(columns, save_memory, seed, self._threads)

    def candidates(self, index: Any, rows: Rows, count: int, probes: int) -> np.ndarray:
        ids: np.ndarray = self._engine_points.candidates(
            index, _csr_arrays(rows), count, probes, self._threads
        )
        return ids

    @property
    def _engine_points(self) -> Any:
        if self._prepared is None:
            metric = self._comparison.for_engine(largest_squared_norm=self._largest_squared_norm)
            width = self.X.shape[1]
            columns = width if self._comparison.columns is None else self._comparison.columns
            self._prepared = engine.SparsePoints(_csr_arrays(self.X), columns, width, metric, self._threads)
        return self._prepared


def _csr_arrays(X: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def _squared_norms(rows: Rows) -> np.ndarray:
    if sparse.issparse(rows):
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    doubles = rows.astype(np.float64)
    norms: np.ndarray = (doubles * doubles).sum(axis=1)  # einsum fuses product and sum on some processors
    return norms


def _largest_squared_norm(X: Rows) -> float:
    """The largest squared norm of a row, which no inner product of two rows exceeds."""
    largest = max(float(_squared_norms(X[chunk]).max()) for chunk in row_chunks(X, _CHUNK_VALUES))
    if largest > float(np.finfo(np.float32).max):
        raise ValueError(
            "inner products of rows of X are too large for float32: divide X by its largest value"
        )
    return largest


def _pack_bits(rows: np.ndarray) -> np.ndarray:
    """Which columns are nonzero, 64 to a word: (n, words) uint64."""
    words = (rows.shape[1] + 63) // 64
    bits = np.zeros((len(rows), words * 8), np.uint8)
    for chunk in row_chunks(rows, _CHUNK_VALUES):
        packed = np.packbits(rows[chunk] != 0, axis=1)
        bits[chunk, : packed.shape[1]] = packed
    return bits.view(np.uint64)
