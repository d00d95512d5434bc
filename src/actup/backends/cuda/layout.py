"""The layout on the GPU."""

from __future__ import annotations


def make_layout(graph, start, recipe, seed, threads):
    """The recipe's descent on a graph, from a start in the graph's order."""
    raise NotImplementedError
