"""Rows of numbers and categories with missing values, compared in NumPy; candidates come from filled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from actup._threads import map_in_threads
from actup._typing import Rows
from actup.graph._records import Neighbors
from actup.neighbors._comparison import Comparison
from actup.neighbors._distance_lists import nearest_columns, nearest_others
from actup.neighbors._mixed_columns import MixedColumns
from actup.neighbors._pairwise_search import distance_blocks, tile_size
from actup.neighbors._points import DensePoints, Found, SearchablePoints, SparsePoints

# Relative to a squared difference of the engine: all pairs are compared if that takes a few seconds at most.
_PAIR_COST = 100.0
_TILE_COST = 4.0  # of two columns, relative to metrics that one operation of NumPy computes
_THREAD_ROWS = 64  # rows whose candidates one thread compares at a time


class MixedPoints(SearchablePoints):
    """Points in metric "gower", of which some values may be missing.

    Parameters
    ----------
    X : ndarray of shape (n, columns), float64
        Scaled by ``columns``.
    columns : MixedColumns
    filled : ndarray or CSR matrix with n rows, float32
        The same points without gaps, as ``MixedColumns.to_manhattan`` gives them: the proxy.
    threads : int
    """

    def __init__(self, X: np.ndarray, columns: MixedColumns, filled: Rows, threads: int):
        super().__init__(X, Comparison("gower"), threads)
        self._columns = columns
        proxy = SparsePoints if sparse.issparse(filled) else DensePoints
        self._filled = proxy(filled, Comparison("manhattan"), threads)

    @property
    def nbytes(self) -> int:
        return int(self.X.nbytes)

    @property
    def exact_cost(self) -> float:
        return float(len(self)) ** 2 * int(self.X.shape[1]) * _PAIR_COST

    @property
    def code_columns(self) -> int:
        return self._filled.code_columns

    def exact(self, rows: np.ndarray | None, k: int) -> Neighbors:
        tile = tile_size(len(self), self.X.shape[1], _TILE_COST)
        blocks = distance_blocks(
            self._columns.all_distances, self.X if rows is None else rows, self.X, tile, self._threads
        )
        return nearest_others(blocks, len(self), k) if rows is None else nearest_columns(blocks, k)

    def nearest(
        self, rows: np.ndarray, self_ids: np.ndarray | None, candidates: np.ndarray | None, k: int
    ) -> Found:
        if candidates is None:
            found = self.exact(rows, k if self_ids is None else k + 1)
            if self_ids is None:
                return found.indices, found.distances
            candidates = found.indices

        def of_rows(begin: int) -> Found:
            part = slice(begin, begin + _THREAD_ROWS)
            return self._nearest_of(
                rows[part], None if self_ids is None else self_ids[part], candidates[part], k
            )

        parts = list(map_in_threads(of_rows, range(0, len(rows), _THREAD_ROWS), self._threads))
        indices, distances = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return indices, distances

    def proxy_index(self, columns: int, save_memory: bool, seed: int) -> Any:
        return self._filled.proxy_index(columns, save_memory, seed)

    def candidates(self, index: Any, rows: np.ndarray, count: int, probes: int) -> np.ndarray:
        return self._filled.candidates(index, self._columns.to_manhattan(rows), count, probes)

    def _nearest_of(
        self, rows: np.ndarray, self_ids: np.ndarray | None, candidates: np.ndarray, k: int
    ) -> Found:
        """The nearest candidates of some rows; ties go to the smaller id."""
        distances = self._columns.candidate_distances(rows, self.X, candidates)
        excluded = candidates < 0
        if self_ids is not None:
            excluded |= candidates == self_ids[:, None]
        distances[excluded] = np.inf
        order = np.lexsort((candidates, distances), axis=1)[:, :k]
        ids = np.take_along_axis(candidates, order, 1)
        return ids.astype(np.int32), np.take_along_axis(distances, order, 1).astype(np.float32)
