"""In-place epochs on the GPU: edges of one colour at a time, then a capped repulsion, twice per epoch."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import pairwise

import numpy as np

from actup.backends._cuda.compile import cupy, load_kernels, request_kernels
from actup.backends._cuda.launch import Replay, start
from actup.backends._cuda.matchings import Matchings, make_matchings
from actup.backends._cuda.relabelled import RelabelledGraph
from actup.backends._cuda.state import LayoutState, force_macros
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Repulsion

_LANES = 8
_SMALL_THREADS = 1024  # of the thread block for small colours
_SMALL = 1024  # edges of a group that one thread block handles sooner than a launch of its own
_MOST_LAUNCHES = 64
_SHARED_BYTES = 160 * 1024  # of a multiprocessor's memory, for the points of small colours
_OTHER_BYTES = 1024  # of it, for what a kernel declares itself
_MEASURING = 64  # thread blocks that measure the map


def request_in_place(recipe: Recipe) -> Future:
    """The kernels of a recipe's in-place epochs."""
    horizon = int(recipe.horizon is not None)
    return request_kernels("layout_in_place", fast_math=True, **force_macros(recipe), HORIZON=horizon)


class InPlaceEpochs:
    """The kernels of an epoch, as one CUDA graph; ``points`` are in the graph's order."""

    def __init__(self, graph: RelabelledGraph, state: LayoutState, recipe: Recipe):
        self._state = state
        measures = recipe.horizon is not None
        self._kernels = request_in_place(recipe).result()
        # Sums over shares of the points: those of the small colours, then the others.
        sums = (1 + _MEASURING, recipe.n_components + 1)
        self._measured = cupy().empty(sums, np.float64) if measures else None
        self._matchings = make_matchings(graph)
        self._small = [_SmallGroups(self._matchings, half, graph.points) for half in (0, 1)]
        self._pull_small_colours = self._kernels.get_function("pull_small_colours")
        self._pull_small_colours.max_dynamic_shared_size_bytes = max(c.shared_bytes for c in self._small)
        self._sampled = recipe.repulsion_for(len(graph)) is Repulsion.SAMPLED
        self.points = graph.points
        self._pushed = cupy().empty_like(graph.points)  # half an epoch goes there, the other half back
        self._replay = Replay(self._launch)

    def run(self, epoch: int) -> None:
        self._replay.run()

    def _launch(self) -> None:
        self._half(0, self.points, self._pushed)
        self._half(1, self._pushed, self.points)
        self._kernels.get_function("count_epoch")((1,), (1,), (self._state.state,))

    def _half(self, half: int, points, moved) -> None:
        state = self._state
        common = (state.constants, state.state, state.schedule)
        self._pull_large(half, common, points)
        self._pull_small(half, common, points)
        measured, shares = self._measure(half, points)
        start(
            self._kernels.get_function("push"),
            _LANES * len(points),
            *common,
            state.mass,
            np.int32(self._sampled),
            np.int32(half),
            points,
            moved,
            measured,
            np.int32(shares),
        )

    def _measure(self, half: int, points) -> tuple:
        """The sums that the horizon is made of, and of how many shares; 0 without a horizon."""
        if self._measured is None:
            return np.uintp(0), 0
        if self._small[half].keeps_points:  # whose kernel has measured all
            return self._measured, 1 + _MEASURING
        arguments = (self._state.constants, points, self._measured)
        self._kernels.get_function("measure")((_MEASURING,), (_SMALL_THREADS,), arguments)
        return self._measured, _MEASURING

    def _pull_large(self, half: int, common: tuple, points) -> None:
        """The groups before the small ones, each with a launch of its own."""
        matchings, pull = self._matchings, self._kernels.get_function("pull_colour")
        stops = matchings.stops[half][: self._small[half].first + 1]
        for begin, end in pairwise(map(np.int64, stops)):
            start(pull, end - begin, *common, matchings.ends, matchings.weights, begin, end, points)

    def _pull_small(self, half: int, common: tuple, points) -> None:
        """The other groups in one launch, which with a horizon measures the map besides, if it can."""
        small = self._small[half]
        if not small.chunk_count:
            return
        measures = self._measured is not None and small.keeps_points
        self._pull_small_colours(
            (1 + _MEASURING if measures else 1,),
            (_SMALL_THREADS,),
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
            ),
            shared_mem=small.shared_bytes,
        )


class _SmallGroups:
    """The last groups of a half, as many as one thread block can keep the points of.

    Attributes
    ----------
    first : int
        The number of groups before them.
    ends, weights : cupy.ndarray
        Their edges; ends are places in ``points``.
    chunks : cupy.ndarray of shape (chunk_count + 1,), int32
        Where one stops and waits: at the end of each group, and after as many edges as there are threads.
    points, count : cupy.ndarray of int32, or 0
        The points they touch, and how many these are; 0: too many to keep, ends are the points' own numbers.
    marks : cupy.ndarray of shape (n,), int32, or 0
        1 for the points they touch.
    keeps_points : bool
        Whether there are ``points``.
    """

    def __init__(self, matchings: Matchings, half: int, points):
        row_bytes = points.dtype.itemsize * points.shape[1]
        shared = min(
            _SHARED_BYTES, cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"] - _OTHER_BYTES
        )
        room = shared // row_bytes // 2  # edges, if no two share a point
        stops = np.array(matchings.stops[half])
        sizes = np.diff(stops)
        fitting = int(np.searchsorted(-(stops[-1] - stops), -room))
        small = int(np.flatnonzero(np.append(_SMALL + 1, sizes) > _SMALL)[-1])
        # The edges without colour of a large hub are many groups, too many for launches of their own.
        self.first = small if fitting - small > _MOST_LAUNCHES else max(small, fitting)
        self.chunks, self.chunk_count = _chunks(sizes[self.first :])
        edges = slice(int(stops[self.first]), int(stops[-1]))
        self.ends, self.weights = matchings.ends[edges], matchings.weights[edges]
        self.points = self.count = self.marks = np.uintp(0)
        self.shared_bytes = 0
        self.keeps_points = 0 < len(self.weights) <= room
        if self.keeps_points:
            self._keep_points(points, row_bytes)

    def _keep_points(self, points, row_bytes: int) -> None:
        cp, kernels = cupy(), load_kernels("matchings")
        size = np.int64(self.ends.size)
        self.marks = cp.zeros(len(points), np.int32)
        start(kernels.get_function("mark_points"), size, self.ends, size, self.marks)
        number = cp.cumsum(self.marks, dtype=np.int32)
        places = cp.empty_like(self.ends)
        self.points, self.count = cp.empty(places.size, np.int32), number[-1:]
        start(kernels.get_function("place_points"), size, self.ends, size, number, places, self.points)
        self.ends = places
        self.shared_bytes = min(places.size, len(points)) * row_bytes


def _chunks(sizes: np.ndarray) -> tuple:
    """Where chunks of groups of some sizes begin and end, and how many there are."""
    stops = [0]
    for size in sizes.tolist():
        begin = stops[-1]
        stops += [
            begin + min(size, end) for end in range(_SMALL_THREADS, size + _SMALL_THREADS, _SMALL_THREADS)
        ]
    return cupy().asarray(stops, np.int32), len(stops) - 1
