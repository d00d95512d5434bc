"""In-place epochs on the GPU: edges of one colour at a time, then a capped repulsion, twice per epoch."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from actup._threads import BackgroundCall
from actup._typing import Array
from actup.backends._cuda.compile import cupy, load_kernels, request_kernels
from actup.backends._cuda.constants import IN_PLACE_THREADS, POINT_LANES
from actup.backends._cuda.launch import Replay, launch
from actup.backends._cuda.matchings import Matchings, make_matchings
from actup.backends._cuda.relabelled import RelabelledGraph
from actup.backends._cuda.state import LayoutState, force_macros
from actup.backends._layout_state import read_state
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Repulsion

_MAX_SMALL_EDGES = 1024  # of a group that one thread block handles faster than a launch of its own
_MAX_GROUP_LAUNCHES = 64  # launches of groups that are small, but whose points shared memory cannot hold
_MAX_SHARED_BYTES = 160 * 1024  # of shared memory, for the points of small groups
_STATIC_SHARED_BYTES = 1024  # of shared memory, for the arrays that the kernel itself declares
_MEASURE_BLOCKS = 64  # thread blocks that measure the map's middle and radius


def request_in_place(recipe: Recipe, limits_moves: bool = False) -> BackgroundCall[Any]:
    """Start to compile the kernels of a recipe's in-place epochs."""
    macros: dict[str, Any] = {"HORIZON": int(recipe.horizon is not None), "MOBILITY": int(limits_moves)}
    return request_kernels("layout_in_place", fast_math=True, **force_macros(recipe), **macros)


class InPlaceEpochs:
    """Launches the kernels of in-place epochs; ``points`` are in the graph's order."""

    def __init__(self, graph: RelabelledGraph, state: LayoutState, recipe: Recipe):
        self._state = state
        measures = recipe.horizon is not None
        self._kernels = request_in_place(recipe, state.limits_moves).result()
        # Sums over parts of the points: those of the small groups, then the others.
        sums = (1 + _MEASURE_BLOCKS, recipe.n_components + 1)
        self._measured = cupy().empty(sums, np.float64) if measures else None
        self._matchings = make_matchings(graph)
        self._small = [_SmallGroups(self._matchings, half, graph.points) for half in (0, 1)]
        self._pull_small_colours = self._kernels.get_function("pull_small_colours")
        self._pull_small_colours.max_dynamic_shared_size_bytes = max(
            small.shared_bytes for small in self._small
        )
        self._sampled = recipe.repulsion_for(len(graph)) is Repulsion.SAMPLED
        self.points = graph.points
        self._pushed = cupy().empty_like(graph.points)  # written by the first half, read by the second
        self._replay = Replay(self._launch)

    def run(self, epoch: int) -> None:
        self._replay.run()

    def replace_points(self, points: Array, epoch: int) -> None:
        """Continue this epoch from other places, in the graph's order."""
        self.points[...] = points  # into the array that the recorded launches read

    def state(self) -> dict[str, np.ndarray]:
        """What is carried from epoch to epoch, on the host."""
        return {"points": self.points.get(), "record": self._state.state.get()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from a state."""
        like = self.state()
        points, record = (read_state(arrays, name, like[name]) for name in ("points", "record"))
        self.points[...] = cupy().asarray(points)
        self._state.state[...] = cupy().asarray(record)

    def _launch(self) -> None:
        self._half(0, self.points, self._pushed)
        self._half(1, self._pushed, self.points)
        self._kernels.get_function("count_epoch")((1,), (1,), (self._state.state,))

    def _half(self, half: int, points: Array, moved: Array) -> None:
        """Launch half an epoch: edges change ``points`` in place, repulsion writes to ``moved``."""
        state = self._state
        common = (state.constants, state.state, state.schedule)
        self._pull_large(half, common, points)
        self._pull_small(half, common, points)
        measured, parts = self._measure(half, points)
        launch(
            self._kernels.get_function("push"),
            POINT_LANES * len(points),
            *common,
            state.mass,
            np.int32(self._sampled),
            np.int32(half),
            points,
            moved,
            measured,
            np.int32(parts),
            state.mobility,
        )

    def _measure(self, half: int, points: Array) -> tuple[Array, int]:
        """The sums from which the horizon follows, and their number of parts; 0 without a horizon."""
        if self._measured is None:
            return np.uintp(0), 0
        if self._small[half].keeps_points:  # the kernel of the small groups has measured all points
            return self._measured, 1 + _MEASURE_BLOCKS
        arguments = (self._state.constants, points, self._measured)
        self._kernels.get_function("measure")((_MEASURE_BLOCKS,), (IN_PLACE_THREADS,), arguments)
        return self._measured, _MEASURE_BLOCKS

    def _pull_large(self, half: int, common: tuple[Array, ...], points: Array) -> None:
        """Launch the groups before the small ones, one by one."""
        matchings, pull = self._matchings, self._kernels.get_function("pull_colour")
        stops = matchings.stops[half][: self._small[half].first + 1]
        edges = (matchings.ends, matchings.weights)
        for begin, end in pairwise(stops):
            stop = np.int64(end)
            launch(pull, end - begin, *common, *edges, np.int64(begin), stop, points, self._state.mobility)

    def _pull_small(self, half: int, common: tuple[Array, ...], points: Array) -> None:
        """Launch the small groups at once; with a horizon the same launch measures the map, if it can."""
        small = self._small[half]
        if not small.chunk_count:
            return
        measures = self._measured is not None and small.keeps_points
        self._pull_small_colours(
            (1 + _MEASURE_BLOCKS if measures else 1,),
            (IN_PLACE_THREADS,),
            (
                *common,
                small.ends,
                small.weights,
                small.chunks,
                np.int32(small.chunk_count),
                small.points,
                small.count,
                points,
                small.marks,
                self._measured if measures else np.uintp(0),
                self._state.mobility,
            ),
            shared_mem=small.shared_bytes,
        )


class _SmallGroups:
    """The last groups of a half, whose points one thread block keeps in shared memory if they fit.

    Attributes
    ----------
    first : int
        The number of groups before them.
    ends, weights : cupy.ndarray
        Their edges; ends are positions in ``points``.
    chunks : cupy.ndarray of shape (chunk_count + 1,), int32
        The edges between which the threads synchronise: where a group ends, and after one edge per thread.
    points, count : cupy.ndarray of int32, or 0
        The points they touch, and their number; 0: too many to keep, ends are ids of points.
    marks : cupy.ndarray of shape (n,), int32, or 0
        1 for the points they touch.
    keeps_points : bool
        Whether the points fit into shared memory.
    """

    def __init__(self, matchings: Matchings, half: int, points: Array):
        row_bytes = points.dtype.itemsize * points.shape[1]
        most = cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"] - _STATIC_SHARED_BYTES
        capacity = min(_MAX_SHARED_BYTES, most) // row_bytes // 2  # edges, if no two share a point
        stops = np.array(matchings.stops[half])
        sizes = np.diff(stops)
        fitting = int(np.searchsorted(-(stops[-1] - stops), -capacity))
        small = int(np.flatnonzero(np.append(_MAX_SMALL_EDGES + 1, sizes) > _MAX_SMALL_EDGES)[-1])
        # The edges of a large hub that found no colour are too many groups for launches of their own.
        self.first = small if fitting - small > _MAX_GROUP_LAUNCHES else max(small, fitting)
        self.chunks, self.chunk_count = _chunks(sizes[self.first :])
        edges = slice(int(stops[self.first]), int(stops[-1]))
        self.ends, self.weights = matchings.ends[edges], matchings.weights[edges]
        self.points: Array = np.uintp(0)
        self.count: Array = np.uintp(0)
        self.marks: Array = np.uintp(0)
        self.shared_bytes = 0
        self.keeps_points = 0 < len(self.weights) <= capacity
        if self.keeps_points:
            self._keep_points(points, row_bytes)

    def _keep_points(self, points: Array, row_bytes: int) -> None:
        """List the points of the edges, and replace the edges' ends by positions in that list."""
        cp, kernels = cupy(), load_kernels("matchings")
        count = self.ends.size
        size = np.int64(count)
        self.marks = cp.zeros(len(points), np.int32)
        launch(kernels.get_function("mark_points"), count, self.ends, size, self.marks)
        number = cp.cumsum(self.marks, dtype=np.int32)
        positions = cp.empty_like(self.ends)
        self.points, self.count = cp.empty(positions.size, np.int32), number[-1:]
        launch(kernels.get_function("place_points"), count, self.ends, size, number, positions, self.points)
        self.ends = positions
        self.shared_bytes = min(positions.size, len(points)) * row_bytes


def _chunks(sizes: np.ndarray) -> tuple[Array, int]:
    """Divide groups into chunks of an edge per thread: where the chunks begin and end, and their number."""
    stops = [0]
    for size in sizes.tolist():
        begin = stops[-1]
        ends = range(IN_PLACE_THREADS, size + IN_PLACE_THREADS, IN_PLACE_THREADS)
        stops += [begin + min(size, end) for end in ends]
    return cupy().asarray(stops, np.int32), len(stops) - 1
