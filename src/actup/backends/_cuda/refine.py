"""Better neighbours from found ones: every row looks at the neighbours of its neighbours."""

from __future__ import annotations

import math

import numpy as np

from actup.backends._cuda.compile import load_kernels

_OFFERED = 512  # rows that a row meets in a round, at most
_WARPS = 2  # rows of a thread block; as in refine.cu


def refine(X, order, ids, sums) -> None:
    """Do one round; neighbours only become nearer.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    order : cupy.ndarray of shape (places,), int32
        The rows in an order that keeps neighbours near each other, -1 where a place has none.
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are squared distances, ascending.
    """
    columns, k = X.shape[1], ids.shape[1]
    offer = max(1, min(k, _OFFERED // k))
    kernels = load_kernels("refine", K=k, OFFER=offer, LANES=8 if columns <= 128 else 32)
    places = len(order)
    arguments = (X, np.int32(columns), order, np.int32(places), ids.copy(), sums.copy(), ids, sums)
    blocks = math.ceil(places / _WARPS)
    kernels.get_function("refine_rows")((blocks,), (32 * _WARPS,), arguments)
