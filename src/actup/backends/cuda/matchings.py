"""Edge matchings on the device: the greedy colouring of docs/layout.md, the same as the CPU's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.launch import start
from actup.backends.cuda.relabelled import RelabelledGraph, offsets_of

_COLOURS = 128


@dataclass(frozen=True)
class Matchings:
    """Undirected edges grouped by colour.

    Attributes
    ----------
    ends : cupy.ndarray of shape (edges, 2), int32
    weights : cupy.ndarray of shape (edges,), float32
    offsets : list of int
        Colour c is edges ``offsets[c]`` to ``offsets[c + 1]``. From number 128 on follow the levels of the
        edges that found no colour: taken level after level, they act as if one by one in the order of the walk.
    """

    ends: object
    weights: object
    offsets: list[int]

    @property
    def colours(self) -> int:
        """How many colours there are."""
        return min(_COLOURS, len(self.offsets) - 1)

    def sizes(self, numbers: list[int]) -> list[int]:
        """How many edges each of some colours or levels has."""
        return [self.offsets[c + 1] - self.offsets[c] for c in numbers]


def make_matchings(graph: RelabelledGraph) -> Matchings:
    """Colour the edges of a graph; waits for the device once, to learn how many there are of each colour."""
    cp = cupy()
    kernels = load_kernels("matchings")
    n = len(graph)
    forward, backward = cp.empty(n, np.int32), cp.empty(n, np.int32)
    start(
        kernels.get_function("count_forward"), n, graph.offsets, graph.edges, np.int64(n), forward, backward
    )
    firsts = offsets_of(forward)
    capacity = max(1, len(graph.edges) // 2)
    heads, tails = cp.empty(capacity, np.int32), cp.empty(capacity, np.int32)
    weights = cp.empty(capacity, np.float32)
    start(
        kernels.get_function("walk"),
        n,
        graph.offsets,
        graph.edges,
        firsts,
        np.int64(n),
        heads,
        tails,
        weights,
    )
    edges = int(firsts[-1])
    if edges == 0:
        return Matchings(cp.empty((1, 2), np.int32), cp.empty(1, np.float32), [0])
    heads, tails, weights = heads[:edges], tails[:edges], weights[:edges]

    ranks = cp.empty(edges, np.int32)
    start(
        kernels.get_function("rank_edges"),
        edges,
        cp.argsort(tails),
        tails,
        offsets_of(backward),
        np.int64(edges),
        ranks,
    )
    colours = cp.empty(edges, np.int32)
    processors = cp.cuda.Device().attributes["MultiProcessorCount"]
    kernels.get_function("colour_edges")(
        (2 * processors,),
        (256,),
        (
            firsts,
            tails,
            ranks,
            backward,
            np.int64(n),
            cp.zeros(n, np.int32),
            cp.zeros((n, _COLOURS // 64), np.uint64),
            cp.zeros(n, np.int32),
            cp.zeros(1, np.int32),
            colours,
        ),
    )
    ends, grouped = cp.empty((edges, 2), np.int32), cp.empty(edges, np.float32)
    start(
        kernels.get_function("group_edges"),
        edges,
        cp.argsort(colours),
        heads,
        tails,
        weights,
        np.int64(edges),
        ends,
        grouped,
    )
    sizes = cp.bincount(colours).get()
    return Matchings(ends, grouped, [0, *np.cumsum(sizes, dtype=np.int64).tolist()])
