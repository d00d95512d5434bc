"""Comparison of some rows with every point in float32, by ``kernels/scan.cu``."""

from __future__ import annotations

import math

import numpy as np

from actup._typing import Array
from actup.backends._cuda.compile import cupy, load_kernels, value_macros
from actup.backends._cuda.constants import SCAN_BATCH, SCAN_ROWS
from actup.backends._cuda.launch import WARP, blocks_for, launch, multiprocessors

# How scan.cu compares rows for each metric, by the names it defines; "cosine" and "correlation" compare
# squared differences of directions.
SCAN_METRICS = {
    "euclidean": "SQUARES",
    "cosine": "SQUARES",
    "correlation": "SQUARES",
    "inner_product": "INNER_PRODUCT",
    "manhattan": "MAGNITUDES",
    "chebyshev": "LARGEST_MAGNITUDE",
}
MAX_SCAN_K = 2500  # neighbours; the lists of more do not fit into a thread block's shared memory
_MIN_PART_POINTS = 2048  # few rows: their points are divided among thread blocks, at least this many each


def scan(
    X: Array,
    rows: Array,
    metric: str,
    ids: Array,
    sums: Array,
    *,
    bounded: bool,
    deficits: Array | None = None,
    points: int | None = None,
    to: Array | None = None,
) -> None:
    """Compare some rows with every point in float32, and write their neighbours.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
        The rows that ``comparable_rows`` of neighbors.py returns.
    rows : cupy.ndarray, int32
        The rows whose neighbours are wanted.
    metric : str
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are the distances before the metric's last step.
    bounded : bool
        Whether the last column of ``sums`` is an upper bound of the true one.
    deficits : cupy.ndarray of shape (n,), float32, optional
        As for ``CandidateSearch``; None: computed if the metric needs them.
    points : int, optional
        Only the first ``points`` rows of X are searched among; None: all.
    to : cupy.ndarray, int32, optional
        The rows of ``ids`` and ``sums`` that are written; None: ``rows``.
    """
    if not len(rows):
        return
    cp = cupy()
    (n, columns), k, count = X.shape, ids.shape[1], len(rows)
    n, to = n if points is None else points, rows if to is None else to
    capacity = 16 * math.ceil((k + 2 * SCAN_BATCH) / 16)
    kernels = load_kernels("scan", METRIC=SCAN_METRICS[metric], K=k, CAPACITY=capacity, **value_macros(X))
    kernel = kernels.get_function("scan_rows")
    shared_bytes = 8 * SCAN_ROWS * capacity
    kernel.max_dynamic_shared_size_bytes = shared_bytes
    blocks = blocks_for(count, SCAN_ROWS)
    idle = 2 * multiprocessors() // blocks
    parts = max(1, min(idle, n // _MIN_PART_POINTS))
    found = cp.empty((parts, count, k), cp.uint64)
    size = (np.int32(n), np.int32(columns))
    if deficits is None:
        deficits = length_deficits(X) if metric == "inner_product" else np.uintp(0)
    arguments = (X, *size, rows, np.int32(count), np.int32(bounded), sums, deficits, found)
    kernel((blocks, parts), (WARP * SCAN_ROWS,), arguments, shared_mem=shared_bytes)
    merge = kernels.get_function("merge_parts")
    merge((blocks,), (WARP * SCAN_ROWS,), (found, np.int32(parts), to, np.int32(count), ids, sums))


def length_deficits(X: Array) -> Array:
    """The largest squared length of all rows minus that of each row: (n,) float32."""
    cp = cupy()
    n, columns = X.shape
    largest, out = cp.zeros(1, cp.uint64), cp.empty(n, np.float32)
    kernels = load_kernels("rows", **value_macros(X))
    size = (np.int32(n), np.int32(columns))
    launch(kernels.get_function("largest_length"), WARP * n, X, *size, largest)
    launch(kernels.get_function("length_deficits"), WARP * n, X, *size, largest, out)
    return out
