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
    """Undirected edges in the groups that act one after the other, those of the first half of an epoch first.

    A group is a colour. The second half ends with the edges that found no colour, in groups that act as if
    these edges were taken one by one.

    Attributes
    ----------
    ends : cupy.ndarray of shape (edges, 2), int32
    weights : cupy.ndarray of shape (edges,), float32
    stops : tuple of two lists of int
        Of each half, where its first group begins and where each group ends.
    """

    ends: object
    weights: object
    stops: tuple[list[int], list[int]]


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
        return Matchings(cp.empty((1, 2), np.int32), cp.empty(1, np.float32), ([0], [0]))
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
    groups = cp.empty(edges, np.int32)
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
            groups,
        ),
    )
    ends, grouped = cp.empty((edges, 2), np.int32), cp.empty(edges, np.float32)
    start(
        kernels.get_function("group_edges"),
        edges,
        cp.argsort(groups),
        heads,
        tails,
        weights,
        np.int64(edges),
        ends,
        grouped,
    )
    sizes = cp.bincount(groups, minlength=_COLOURS).get()
    first, second = (half[half > 0] for half in np.split(sizes, [_COLOURS // 2]))
    stops = np.cumsum([0, *first, *second]).tolist()
    return Matchings(ends, grouped, (stops[: len(first) + 1], stops[len(first) :]))
