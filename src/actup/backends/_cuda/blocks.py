"""Search in data that is too large for the device's memory: among two blocks of rows at a time.

Every pair of rows is compared in the search of the two blocks that contain them. Two rows of one block are
compared in each search of that block, which costs time but changes no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from actup._typing import Array
from actup.backends._cuda.arrays import free_bytes
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.constants import REFINE_WARPS
from actup.backends._cuda.launch import WARP, blocks_for

if TYPE_CHECKING:
    from actup.backends._cuda.candidates import Plan

# Takes what belongs to some rows from an array of n rows.
Select: TypeAlias = Callable[[Array], Array]

_MAX_MEMORY_SHARE = 0.7  # of the free memory, for the rows of two blocks and their search
_MAX_BLOCKS = 64  # more would take hours


def count_blocks(n: int, columns: int, k: int, plan: Plan) -> int:
    """Into how many blocks the rows are divided; 1 if all fit at once, or if blocks cannot help."""
    free = free_bytes()
    if plan.needed_bytes(n) <= free:
        return 1
    per_row = (plan.needed_bytes(n) - plan.needed_bytes(0)) / n + 4 * columns + 16 * k
    blocks = max(3, math.ceil(2 * n * per_row / (_MAX_MEMORY_SHARE * free)))
    return blocks if blocks <= _MAX_BLOCKS else 1


def search_in_blocks(
    X: Array, blocks: int, ids: Array, sums: Array, search: Callable[[Array, Select, Array, Array], None]
) -> None:
    """Write the neighbours of all rows, from searches among pairs of blocks.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    blocks : int
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are squared distances.
    search : callable
        ``search(rows, select, ids, sums)`` writes the neighbours of some rows among themselves;
        ``select(array)`` takes what belongs to these rows from an array of n rows.
    """
    if blocks == 1:
        search(X, lambda array: array, ids, sums)
        return
    cp = cupy()
    n, k = ids.shape
    sums.fill(np.inf)
    ids.fill(-1)
    merge = load_kernels("refine", K=k, OFFER=1).get_function("merge_lists")
    bounds = [round(n * block / blocks) for block in range(blocks + 1)]
    for first, second in combinations(range(blocks), 2):
        a, b = slice(*bounds[first : first + 2]), slice(*bounds[second : second + 2])

        def select(array: Array, a: slice = a, b: slice = b) -> Array:
            return cp.concatenate([array[a], array[b]])

        rows = select(X)
        found = cp.zeros((len(rows), k), cp.int32), cp.zeros((len(rows), k), cp.float32)
        search(rows, select, *found)
        cut = a.stop - a.start  # rows of the pair from here on belong to the second block
        for block, begin in ((a, 0), (b, cut)):
            count = block.stop - block.start
            own = (ids[block], sums[block])
            shifts = (np.int32(cut), np.int32(a.start), np.int32(b.start - cut))
            new = (found[0][begin : begin + count], found[1][begin : begin + count])
            grid, threads = (blocks_for(count, REFINE_WARPS),), (WARP * REFINE_WARPS,)
            merge(grid, threads, (np.int32(count), *new, *shifts, *own))
