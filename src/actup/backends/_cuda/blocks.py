"""A search in data that is too large for the device's memory: among two blocks of rows at a time.

Any two rows meet in the pair of blocks they lie in. Rows of one block meet in each of its pairs, which is
more work than there need be and nothing that a search among all rows does not already do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from actup.backends._cuda.arrays import free_bytes
from actup.backends._cuda.compile import cupy, load_kernels

_USED = 0.7  # of the free memory, by the rows of a pair and what their search needs
_MOST = 64  # blocks; more would take hours


def count_blocks(n: int, columns: int, k: int, plan) -> int:
    """How many blocks the rows are cut into; 1 if all can be searched at once, or if blocks are no help."""
    free = free_bytes()
    if plan.needed_bytes(n) <= free:
        return 1
    per_row = (plan.needed_bytes(n) - plan.needed_bytes(0)) / n + 4 * columns + 16 * k
    blocks = max(3, math.ceil(2 * n * per_row / (_USED * free)))
    return blocks if blocks <= _MOST else 1


def search_in_blocks(X, blocks: int, ids, sums, search: Callable) -> None:
    """Write the neighbours of all rows, from searches among pairs of blocks.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    blocks : int
    ids, sums : cupy.ndarray of shape (n, k)
        Written; ``sums`` are squared distances.
    search : callable
        ``search(rows, part, ids, sums)`` writes the neighbours of some rows among themselves; ``part(array)``
        takes what belongs to them from an array of n rows.
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

        def part(array, a=a, b=b):
            return cp.concatenate([array[a], array[b]])

        rows = part(X)
        found = cp.zeros((len(rows), k), cp.int32), cp.zeros((len(rows), k), cp.float32)
        search(rows, part, *found)
        cut = a.stop - a.start  # rows of the pair from here on are the second block's
        for block, begin in ((a, 0), (b, cut)):
            count = block.stop - block.start
            own = (ids[block], sums[block])
            shifts = (np.int32(cut), np.int32(a.start), np.int32(b.start - cut))
            new = (found[0][begin : begin + count], found[1][begin : begin + count])
            merge((math.ceil(count / 2),), (64,), (np.int32(count), *new, *shifts, *own))
