"""In-place epochs on the GPU: edges of one colour at a time, then a capped repulsion, twice per epoch."""

from __future__ import annotations

import numpy as np

from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.launch import Replay, start
from actup.backends.cuda.matchings import make_matchings
from actup.backends.cuda.relabelled import RelabelledGraph
from actup.backends.cuda.state import LayoutState, force_macros
from actup.recipe import Recipe, Repulsion

_LANES = 8
_SMALL = 2048  # edges of a colour that one thread block handles sooner than a launch of its own


class InPlaceEpochs:
    """The kernels of an epoch, as one CUDA graph; ``points`` are in the graph's order."""

    def __init__(self, graph: RelabelledGraph, state: LayoutState, recipe: Recipe):
        self._state = state
        self._kernels = load_kernels("layout_in_place", fast_math=True, **force_macros(recipe))
        self._matchings = make_matchings(graph)
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
        state, matchings = self._state, self._matchings
        common = (state.constants, state.state, state.schedule)
        edges = (matchings.ends, matchings.weights)
        sizes = np.diff(matchings.offsets)
        # Greedy colours grow smaller; from the first small one on, all that are left share a thread block.
        large = [c for c in range(half, matchings.colours, 2) if sizes[c] > _SMALL]
        for colour in large:
            begin, end = (np.int64(place) for place in matchings.offsets[colour : colour + 2])
            start(self._kernels.get_function("pull_colour"), end - begin, *common, *edges, begin, end, points)
        small = large[-1] + 2 if large else half
        overflow, last = matchings.offsets[-1], len(matchings.weights) if matchings.colours else 0
        if small < matchings.colours or (half == 1 and last > overflow):
            self._kernels.get_function("pull_small_colours")(
                (1,),
                (1024,),
                (
                    *common,
                    *edges,
                    self._offsets,
                    np.int32(small),
                    np.int32(matchings.colours),
                    np.int64(overflow),
                    np.int64(last if half == 1 else overflow),
                    points,
                ),
            )
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
