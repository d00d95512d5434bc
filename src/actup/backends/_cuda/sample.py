"""TruthSample: some rows whose true neighbours are known, to set and to measure the recall of a search."""

from __future__ import annotations

import math

import numpy as np

from actup._typing import Array
from actup.backends._cuda.compile import cupy
from actup.backends._cuda.scan import scan

# Rows of the sample: as many as take little time beside the search.
_MIN_ROWS, _MAX_ROWS, _COMPARED_VALUES = 256, 512, 5e9
_SEED = 0  # the same rows in every run
_ROUNDING = np.float32(1e-5)  # relative: distances of one pair that are summed in another order


class TruthSample:
    """Some rows, drawn at random, and their true neighbours.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
    k : int
    metric : str
    deficits : cupy.ndarray of shape (n,), float32, optional
        As for ``scan``.

    Attributes
    ----------
    k : int
    """

    def __init__(self, X: Array, k: int, metric: str, deficits: Array | None = None):
        cp = cupy()
        self.k = k
        affordable = int(_COMPARED_VALUES / X.size)
        count = min(len(X), max(_MIN_ROWS, min(_MAX_ROWS, affordable)))
        drawn = np.random.default_rng(_SEED).choice(len(X), count, replace=False)
        rows = cp.asarray(np.sort(drawn).astype(np.int32))
        ids, sums = cp.zeros((count, k), cp.int32), cp.zeros((count, k), cp.float32)
        every = cp.arange(count, dtype=cp.int32)
        scan(X, rows, metric, ids, sums, bounded=False, deficits=deficits, to=every)
        self._rows, self._ids = rows, ids
        self._kth_sums = sums[:, -1:] * (1 + _ROUNDING)

    def cells_needed(self, labels: Array, around: Array, share: float) -> int:
        """How many of the cells around a row contain this share of its neighbours.

        Parameters
        ----------
        labels : cupy.ndarray of shape (n,)
            The cell of every row.
        around : cupy.ndarray of shape (cells, cells)
            All cells, by ascending distance from each cell.
        share : float
        """
        cp = cupy()
        rank_of_cell = cp.argsort(around[labels[self._rows]], axis=1)
        ranks = cp.asnumpy(cp.take_along_axis(rank_of_cell, labels[self._ids], axis=1))
        return 1 + int(np.sort(ranks, axis=None)[math.ceil(share * ranks.size) - 1])

    def recall(self, sums: Array) -> float:
        """The share of found neighbours, (n, k), that are as near as the true ones."""
        return float((sums[self._rows] <= self._kth_sums).mean())
