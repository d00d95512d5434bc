"""Edge matchings on the device: the greedy colouring of docs/layout.md, equal to the CPU's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._typing import Array
from actup.backends._cuda.arrays import offsets_of
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.constants import COLOURS, THREADS
from actup.backends._cuda.launch import launch, multiprocessors
from actup.backends._cuda.relabelled import RelabelledGraph


@dataclass(frozen=True)
class Matchings:
    """Undirected edges in groups that act one after the other, those of the first half of an epoch first.

    A group is a colour. The second half ends with the edges that found no colour, in groups whose result is
    that of applying these edges one by one.

    Attributes
    ----------
    ends : cupy.ndarray of shape (edges, 2), int32
    weights : cupy.ndarray of shape (edges,), float32
    stops : tuple of two lists of int
        For each half, where its first group begins and where each group ends.
    """

    ends: Array
    weights: Array
    stops: tuple[list[int], list[int]]


def make_matchings(graph: RelabelledGraph) -> Matchings:
    """Colour the edges of a graph; waits for the device, which counts the edges of each colour."""
    cp = cupy()
    kernels = load_kernels("matchings")
    walk = _Walk(graph, kernels)
    edges = len(walk.tails)
    if not edges:
        return Matchings(cp.empty((1, 2), np.int32), cp.empty(1, np.float32), ([0], [0]))
    groups = _colour(walk, kernels)
    ends, weights = cp.empty((edges, 2), np.int32), cp.empty(edges, np.float32)
    in_walk = (walk.heads, walk.tails, walk.weights, np.int64(edges))
    launch(kernels.get_function("group_edges"), edges, cp.argsort(groups), *in_walk, ends, weights)
    counts = cp.zeros(max(COLOURS, int(groups.max()) + 1), np.int32)
    launch(kernels.get_function("count_groups"), edges, groups, np.int64(edges), counts)
    first, second = (half[half > 0] for half in np.split(counts.get(), [COLOURS // 2]))
    stops = np.cumsum([0, *first, *second]).tolist()
    return Matchings(ends, weights, (stops[: len(first) + 1], stops[len(first) :]))


class _Walk:
    """The undirected edges in the order in which they are coloured.

    Attributes
    ----------
    heads, tails, weights : cupy.ndarray of shape (edges,)
        Heads are less than tails, and ascend.
    firsts : cupy.ndarray of shape (n + 1,), int64
        Where the edges of each head begin.
    backward : cupy.ndarray of shape (n,), int32
        The number of edges whose tail is each point.
    """

    def __init__(self, graph: RelabelledGraph, kernels: Any):
        cp, n = cupy(), len(graph)
        rows = (graph.offsets, graph.edges)
        forward, self.backward = cp.empty(n, np.int32), cp.empty(n, np.int32)
        launch(kernels.get_function("count_forward"), n, *rows, np.int64(n), forward, self.backward)
        self.firsts = offsets_of(forward)
        edges = int(self.firsts[-1])
        self.heads, self.tails = cp.empty(edges, np.int32), cp.empty(edges, np.int32)
        self.weights = cp.empty(edges, np.float32)
        arrays = (self.heads, self.tails, self.weights)
        launch(kernels.get_function("walk"), n, *rows, self.firsts, np.int64(n), *arrays)


def _colour(walk: _Walk, kernels: Any) -> Array:
    """The group of each edge of the walk, as kernels/matchings.cu numbers them."""
    cp, n, edges = cupy(), len(walk.backward), len(walk.tails)
    ranks, groups = cp.empty(edges, np.int32), cp.empty(edges, np.int32)
    by_tail, backward_firsts = cp.argsort(walk.tails), offsets_of(walk.backward)
    size = np.int64(edges)
    launch(kernels.get_function("rank_edges"), edges, by_tail, walk.tails, backward_firsts, size, ranks)
    turn, depth, next_warp = cp.zeros(n, np.int32), cp.zeros(n, np.int32), cp.zeros(1, np.int32)
    used = cp.zeros((n, COLOURS // 64), np.uint64)
    kernels.get_function("colour_edges")(
        (2 * multiprocessors(),),
        (THREADS,),
        (walk.firsts, walk.tails, ranks, walk.backward, np.int64(n), turn, used, depth, next_warp, groups),
    )
    return groups
