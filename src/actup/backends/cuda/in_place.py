"""In-place epochs on the GPU: edges of one colour at a time, then a capped repulsion, twice per epoch."""

from __future__ import annotations

import numpy as np

from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.launch import Replay, start
from actup.backends.cuda.matchings import Matchings, make_matchings
from actup.backends.cuda.relabelled import RelabelledGraph
from actup.backends.cuda.state import LayoutState, force_macros
from actup.recipe import Recipe, Repulsion

_LANES = 8
_SHARED_BYTES = 160 * 1024  # of a multiprocessor's memory, for the points of small colours


class InPlaceEpochs:
    """The kernels of an epoch, as one CUDA graph; ``points`` are in the graph's order."""

    def __init__(self, graph: RelabelledGraph, state: LayoutState, recipe: Recipe):
        self._state = state
        self._kernels = load_kernels("layout_in_place", fast_math=True, **force_macros(recipe))
        self._matchings = make_matchings(graph)
        self._small = [_SmallColours(self._matchings, half, graph.points) for half in (0, 1)]
        self._pull_small_colours = self._kernels.get_function("pull_small_colours")
        self._pull_small_colours.max_dynamic_shared_size_bytes = max(c.shared_bytes for c in self._small)
        self._offsets = cupy().asarray(self._matchings.offsets, np.int64)
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
        state, small = self._state, self._small[half]
        common = (state.constants, state.state, state.schedule)
        self._pull_large(half, small.first, common, points)
        self._pull_small(half, small, common, points)
        start(
            self._kernels.get_function("push"),
            _LANES * len(points),
            *common,
            state.mass,
            np.int32(self._sampled),
            np.int32(half),
            points,
            moved,
        )

    def _pull_large(self, half: int, end: int, common: tuple, points) -> None:
        """The colours below ``end``, each with a launch of its own."""
        matchings, pull = self._matchings, self._kernels.get_function("pull_colour")
        for colour in range(half, end, 2):
            first, last = (np.int64(place) for place in matchings.offsets[colour : colour + 2])
            start(pull, last - first, *common, matchings.ends, matchings.weights, first, last, points)

    def _pull_small(self, half: int, small: _SmallColours, common: tuple, points) -> None:
        """The other colours in one launch, and in the second half the edges without colour."""
        matchings = self._matchings
        last = matchings.overflow_end if half == 1 else matchings.offsets[-1]
        if small.first >= matchings.colours and last == matchings.offsets[-1]:
            return
        self._pull_small_colours(
            (1,),
            (1024,),
            (
                *common,
                matchings.ends,
                matchings.weights,
                self._offsets,
                np.int32(small.first),
                np.int32(matchings.colours),
                small.ends,
                small.points,
                small.count,
                np.int64(matchings.offsets[-1]),
                np.int64(last),
                points,
            ),
            shared_mem=small.shared_bytes,
        )


class _SmallColours:
    """The last colours of a half, as many as one thread block can keep the points of.

    Attributes
    ----------
    first : int
        The first of these colours; every second one from there on is one of them.
    ends : cupy.ndarray of shape (edges, 2), int32
        Of their edges, colour after colour: places in ``points``.
    points, count : cupy.ndarray of int32
        The points they touch, and how many these are.
    """

    def __init__(self, matchings: Matchings, half: int, points):
        cp = cupy()
        row_bytes = points.dtype.itemsize * points.shape[1]
        shared = min(_SHARED_BYTES, cp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
        sizes = np.diff(matchings.offsets)
        colours = list(range(half, matchings.colours, 2))
        room = shared // row_bytes // 2  # edges, if no two share a point
        while colours and sizes[colours].sum() > room:
            colours.pop(0)
        self.first = colours[0] if colours else matchings.colours
        edges = int(sizes[colours].sum())
        self.shared_bytes = min(2 * edges, len(points)) * row_bytes
        parts = [matchings.ends[matchings.offsets[c] : matchings.offsets[c + 1]] for c in colours]
        if not edges:
            self.ends = self.points = self.count = cp.zeros(1, np.int32)
            return
        ends = cp.concatenate(parts)
        met = cp.zeros(len(points), np.int32)
        met[ends] = 1
        number = cp.cumsum(met, dtype=np.int32)
        self.ends = number[ends] - 1
        self.points = cp.empty(2 * edges, np.int32)
        self.points[self.ends] = ends
        self.count = number[-1:]
