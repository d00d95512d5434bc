"""Barnes-Hut repulsion on the GPU: distant groups of points act as one point at their centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._threads import BackgroundCall
from actup._typing import Array
from actup.backends._cuda.compile import cupy, request_kernels
from actup.backends._cuda.constants import TREE_CHILDREN, TREE_LEAF, TREE_LEVELS, TREE_WARPS
from actup.backends._cuda.launch import WARP, blocks_for, launch
from actup.backends._cuda.state import LayoutState, force_macros, potential_kinds
from actup.recipe._recipe import Recipe

_NODE_FLOATS = 11  # Node of kernels/layout_tree.cu
# Workspace of kernels/layout_tree.cu: points and sources of 16 bytes, and the stack.
_WORKSPACE_BYTES = 16 * WARP * (2 + TREE_LEAF) + 4 * WARP * (1 + (TREE_CHILDREN - 1) * TREE_LEVELS)
_MAX_TOP_NODES = WARP  # the walk begins with them, one per thread


class Tree:
    """A tree over the points, which are sorted along a Morton curve, and the repulsion that it gives.

    Parameters
    ----------
    state : LayoutState
    recipe : Recipe
    points : cupy.ndarray of shape (n, dimensions), float32
        One to three dimensions.
    """

    def __init__(self, state: LayoutState, recipe: Recipe, points: Array):
        cp, n = cupy(), len(points)
        self.points = points
        self._state, self._theta = state, np.float32(recipe.theta)
        kernels = request_tree(recipe).result()
        names = ("make_leaves", "make_parents", "walk")
        self._make_leaves, self._make_parents, self._walk = map(kernels.get_function, names)
        self._begins = _level_begins(n)
        self._level_begins = cp.asarray(np.array(self._begins, np.int32))
        self._nodes = cp.empty((self._begins[-1], _NODE_FLOATS), np.float32)
        self._q = cp.empty(n if recipe.normalized else 1, np.float32)
        two_potentials = len(potential_kinds(recipe)) == 2
        self._q_squared = cp.empty_like(self._q) if two_potentials else self._q
        self._shared_bytes = TREE_WARPS * _WORKSPACE_BYTES
        self._walk.max_dynamic_shared_size_bytes = self._shared_bytes

    def view(self) -> tuple[Any, ...]:
        """What the kernel of the forces reads in place of a mesh."""
        unused = np.uintp(0)
        return (self._q, unused, self._q_squared, unused, np.float32(0), np.int32(0), np.int32(0))

    def repel(self, repulsion: Array, second: Array) -> None:
        """Launch the kernels that write the repulsion of all points, and that of the loss's second force."""
        n, begins, nodes = len(self.points), self._begins, self._nodes
        launch(self._make_leaves, begins[1], self.points, np.int64(n), np.int32(begins[1]), nodes)
        for below, begin, end in zip(begins, begins[1:], begins[2:], strict=False):
            families, count = np.int32((begin - below) // TREE_CHILDREN), np.int32(end - begin)
            launch(self._make_parents, end - begin, nodes[below:], families, count, nodes[begin:])
        threads = WARP * TREE_WARPS
        levels = np.int32(len(begins) - 1)
        self._walk(
            (blocks_for(n, threads),),
            (threads,),
            (
                self._state.constants, self.points, nodes, self._level_begins, levels, self._theta, repulsion,
                second, self._q, self._q_squared,
            ),
            shared_mem=self._shared_bytes,
        )  # fmt: skip


def _level_begins(n: int) -> list[int]:
    """The first node of every level, leaves first, and the number of all nodes."""
    begins, count = [0], -(-n // TREE_LEAF)
    while True:
        has_parents = count > _MAX_TOP_NODES
        if has_parents:
            count = TREE_CHILDREN * -(-count // TREE_CHILDREN)
        begins.append(begins[-1] + count)
        if not has_parents:
            return begins
        count //= TREE_CHILDREN


def request_tree(recipe: Recipe) -> BackgroundCall[Any]:
    """Start to compile the kernels of a recipe's tree."""
    return request_kernels(
        "layout_tree", fast_math=True, **force_macros(recipe), NORMALIZED=int(recipe.normalized)
    )
