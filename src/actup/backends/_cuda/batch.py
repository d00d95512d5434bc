"""Batch epochs on the GPU: all forces, their sums in a fixed order, then all steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actup._engine import engine
from actup._threads import BackgroundCall
from actup._typing import Array
from actup.backends._cuda.compile import cupy, request_kernels
from actup.backends._cuda.constants import BATCH_SUMS, POINT_LANES, THREADS
from actup.backends._cuda.launch import WARP, Replay, blocks_for, launch, multiprocessors
from actup.backends._cuda.mesh import Mesh, OutgrownMesh
from actup.backends._cuda.relabelled import RelabelledGraph
from actup.backends._cuda.state import (
    LayoutState,
    force_macros,
    potential_kinds,
    repulsion_on_gpu,
    tree_or_exact,
)
from actup.backends._cuda.tree import Tree
from actup.backends._layout_state import read_state
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Optimizer, Repulsion, RepulsionMass

_BLOCKS_PER_MULTIPROCESSOR = 4  # thread blocks that a multiprocessor works on at a time
# Before these epochs, points are sorted by place: gathers stay in cache, and nodes of the tree small.
_REORDER_EPOCHS = (16, 48, 128, 256)
_TREE_REORDER_EPOCHS = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320)
_MIN_REORDERED_POINTS = 20_000  # fewer points fit into the cache in any order


def request_batch(recipe: Recipe, repulsion: Repulsion, limits_moves: bool = False) -> BackgroundCall[Any]:
    """Start to compile the kernels of a recipe's batch epochs, with the repulsion that the GPU computes."""
    return request_kernels(
        "layout_batch",
        fast_math=True,
        **force_macros(recipe),
        NORMALIZED=int(recipe.normalized),
        COUNTED=int(recipe.repulsion_mass is RepulsionMass.PER_EDGE),
        MESH=int(repulsion is Repulsion.MESH),
        TREE=int(repulsion is Repulsion.BARNES_HUT),
        SAMPLED=int(repulsion is Repulsion.SAMPLED),
        BLOCKS=_BLOCKS_PER_MULTIPROCESSOR,
        OPTIMIZER=engine.Optimizer[recipe.optimizer.value].value,
        MOBILITY=int(limits_moves),
    )


class BatchEpochs:
    """Launches the kernels of batch epochs; ``points`` are in the graph's order."""

    def __init__(self, graph: RelabelledGraph, state: LayoutState, recipe: Recipe):
        cp = cupy()
        n = len(graph)
        self._graph, self._state, self._recipe = graph, state, recipe
        self.points = graph.points
        self._attraction, self._repulsion = cp.empty_like(self.points), cp.empty_like(self.points)
        two_potentials = len(potential_kinds(recipe)) == 2
        unused = cp.empty(1, np.float32)  # an argument that the kernel does not read
        self._second_repulsion = cp.empty_like(self.points) if two_potentials else unused
        self._stiffness = cp.empty(n, np.float32) if recipe.optimizer is Optimizer.STIFFNESS else unused
        counted = recipe.repulsion_mass is RepulsionMass.PER_EDGE
        self._counts = cp.empty(n, np.int32) if counted else unused
        self._steps = cp.zeros_like(self.points)
        gains = recipe.optimizer is Optimizer.GAINS
        self._gains = cp.ones_like(self.points) if gains else unused
        blocks = _BLOCKS_PER_MULTIPROCESSOR * multiprocessors()
        self._grid = min(blocks, blocks_for(n, THREADS // POINT_LANES))
        self._partials = cp.empty((BATCH_SUMS, self._grid), np.float64)
        self._repel_by(repulsion_on_gpu(recipe, n))

    def run(self, epoch: int) -> None:
        if self._is_reordered_before(epoch):
            self._reorder(lambda: self._graph.reorder(self.points))
        if isinstance(self._field, Mesh):
            try:
                if self._field.prepare(epoch):
                    self._replay = Replay(self._launch)
            except OutgrownMesh:
                self._repel_without_mesh()
        self._replay.run()

    def _is_reordered_before(self, epoch: int) -> bool:
        if isinstance(self._field, Tree):
            return epoch in _TREE_REORDER_EPOCHS
        sampled = self._repulsion_method is Repulsion.SAMPLED
        return epoch in _REORDER_EPOCHS and not sampled and len(self.points) >= _MIN_REORDERED_POINTS

    def replace_points(self, points: Array, epoch: int) -> None:
        """Continue this epoch from other places, in the graph's order."""
        self.points[...] = points  # into the array that the recorded launches read
        self._state.measure_replaced(self.points, epoch)
        if isinstance(self._field, Mesh):
            self._field.points_replaced()

    def state(self) -> dict[str, np.ndarray]:
        """What is carried from epoch to epoch, on the host; points are in the graph's order."""
        arrays = {"order": self._graph.order, "points": self.points, "steps": self._steps}
        arrays |= {"gains": self._gains, "record": self._state.state}
        mesh = self._field.state() if isinstance(self._field, Mesh) else {}
        return {name: array.get() for name, array in arrays.items()} | mesh

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from a state."""
        like = {"order": self._graph.order, "points": self.points, "steps": self._steps}
        like |= {"gains": self._gains, "record": self._state.state}
        order, *values, record = (read_state(arrays, name, array) for name, array in like.items())
        if not np.array_equal(np.sort(order), np.arange(len(order))):
            raise ValueError("state has an 'order' that is no order of the points: it was damaged")
        self._reorder(lambda: self._graph.reorder_as(order))
        cp = cupy()
        self.points[...], self._steps[...], self._gains[...] = map(cp.asarray, values)
        self._state.state[...] = cp.asarray(record)
        if isinstance(self._field, Mesh):
            if "grid" in arrays:
                self._field.restore(arrays)
            else:  # the points had outgrown it
                self._repel_without_mesh()
        self._replay = Replay(self._launch)

    def _reorder(self, reorder: Callable[[], Callable[[Array], Array]]) -> None:
        reordered = reorder()
        arrays = (self.points, self._steps, self._state.mass)
        self.points, self._steps, self._state.mass = map(reordered, arrays)
        if self._state.limits_moves:
            self._state.mobility = reordered(self._state.mobility)
        if self._recipe.optimizer is Optimizer.GAINS:
            self._gains = reordered(self._gains)
        if self._field is not None:
            self._field.points = self.points
        self._replay = Replay(self._launch)

    def _repel_without_mesh(self) -> None:
        """Go on with the tree, or exact sums among few points: outliers are too far away for any grid."""
        self._repel_by(tree_or_exact(len(self.points)))

    def _repel_by(self, method: Repulsion) -> None:
        """Make what computes the repulsion, and load the kernels that go with it."""
        self._repulsion_method = method
        fields: dict[Repulsion, type[Mesh | Tree]] = {Repulsion.MESH: Mesh, Repulsion.BARNES_HUT: Tree}
        field = fields.get(method)
        self._field = None if field is None else field(self._state, self._recipe, self.points)
        kernels = request_batch(self._recipe, method, self._state.limits_moves).result()
        self._forces, self._sum_up, self._step = map(kernels.get_function, ("forces", "sum_up", "step"))
        self._replay = Replay(self._launch)

    def _launch(self) -> None:
        graph, state = self._graph, self._state
        if isinstance(self._field, Mesh):
            self._field.convolve()
        elif self._field is not None:
            self._field.repel(self._repulsion, self._second_repulsion)
        forces = (self._attraction, self._repulsion, self._second_repulsion, self._stiffness)
        self._forces(
            (self._grid,),
            (THREADS,),
            (
                state.constants,
                state.state,
                self.points,
                graph.offsets,
                graph.edges,
                *forces,
                self._counts,
                self._partials,
                *(self._field.view() if self._field else _NO_FIELD),
            ),
        )
        self._sum_up(
            (1,),
            (WARP * BATCH_SUMS,),
            (state.constants, state.schedule, self._partials, np.int32(self._grid), state.state),
        )
        launch(
            self._step,
            len(self.points),
            state.constants,
            state.state,
            state.mass,
            graph.strength,
            self._counts,
            *forces,
            self._steps,
            self._gains,
            state.mobility,
            self.points,
        )


_NO_FIELD = (*4 * (np.uintp(0),), np.float32(0), np.int32(0), np.int32(0))  # two potentials, spacing, sides
