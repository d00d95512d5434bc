"""Refinement of neighbour lists: every row is compared with the neighbours of its neighbours."""

from __future__ import annotations

import numpy as np

from actup._typing import Array
from actup.backends._cuda.compile import load_kernels, value_macros
from actup.backends._cuda.constants import REFINE_WARPS
from actup.backends._cuda.launch import WARP, blocks_for

# Comparing a value of a row with one of a neighbour's neighbour takes as long as this many products of a
# search in cells: pairs of rows times slabs of 64 columns (H200).
_PRODUCTS_PER_VALUE = 3.3
_MAX_OFFERED = 512  # neighbours of neighbours that a row looks at in one round


def refine(X: Array, order: Array, ids: Array, sums: Array) -> None:
    """Run one refinement round; no neighbour is replaced by a farther one.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
    order : cupy.ndarray of shape (positions,), int32
        The rows in an order that keeps neighbours close together, -1 for a position without a row.
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are squared distances, ascending.
    """
    columns, k = X.shape[1], ids.shape[1]
    offer = _offered(k)
    kernels = load_kernels("refine", K=k, OFFER=offer, LANES=lanes_per_distance(columns), **value_macros(X))
    positions = len(order)
    arguments = (X, np.int32(columns), order, np.int32(positions), ids.copy(), sums.copy(), ids, sums)
    blocks = blocks_for(positions, REFINE_WARPS)
    kernels.get_function("refine_rows")((blocks,), (WARP * REFINE_WARPS,), arguments)


def round_products(columns: int, k: int) -> float:
    """Products of a search in cells that take as long as a refinement round, per row."""
    return _PRODUCTS_PER_VALUE * columns * k * _offered(k)


def _offered(k: int) -> int:
    """How many of its nearest neighbours each neighbour offers."""
    return max(1, min(k, _MAX_OFFERED // k))


def lanes_per_distance(columns: int) -> int:
    """Threads that share the computation of one float32 distance."""
    return 8 if columns <= 128 else WARP
