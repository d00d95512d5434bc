"""The order that the CPU backend gives many points: neighbours in the graph are neighbours in memory."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import load_backend
from actup.graph._records import Graph, GraphParts
from actup.recipe._presets import preset

N = 30_000  # as few as are ordered along the edges
REACH = 3  # a point's neighbours on each side


@pytest.fixture(scope="module")
def ring() -> tuple[Graph, np.ndarray]:
    """Points on a ring that are numbered at random, each joined to the next few; and who is where on it."""
    point_at = np.random.default_rng(0).permutation(N)
    place_of = np.argsort(point_at)
    steps = np.r_[-REACH:0, 1 : REACH + 1]
    ids = point_at[(place_of[:, None] + steps) % N]
    weights = np.broadcast_to(1 / np.abs(steps), ids.shape)
    ascending = np.argsort(ids, axis=1)
    return Graph(
        np.arange(N + 1) * len(steps),
        np.take_along_axis(ids, ascending, axis=1).ravel(),
        np.take_along_axis(weights, ascending, axis=1).ravel(),
    ), point_at


def start() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(N, 2)).astype(np.float32)


@pytest.mark.parametrize("name", ["umap", "tsne"])
def test_neighbors_are_near_in_memory(ring, name):
    graph, point_at = ring
    layout = load_backend("cpu").make_layout(graph, start(), preset(name), 0, 2)
    in_memory = layout.state()["points"].reshape(N, 2)
    found = {tuple(row): place for place, row in enumerate(in_memory.tolist())}
    place = np.array([found[tuple(row)] for row in start().tolist()])
    apart = np.abs(np.diff(place[point_at]))
    assert np.median(apart) <= 2 * REACH
    assert sorted(place) == list(range(N))


def test_the_graph_in_parts_and_the_number_of_threads_change_no_bit(ring):
    graph, _ = ring
    recipe = preset("tsne").but(epochs=3)

    def read():
        for begin, end in ((0, 7_001), (7_001, N)):
            first, last = graph.offsets[begin], graph.offsets[end]
            yield graph.offsets[begin : end + 1] - first, graph.indices[first:last], graph.weights[first:last]

    def run(of: Graph | GraphParts, threads: int) -> np.ndarray:
        layout = load_backend("cpu").make_layout(of, start(), recipe, 0, threads)
        layout.run(3)
        return layout.embedding().view(np.uint32)

    whole = run(graph, 1)
    np.testing.assert_array_equal(run(graph, 3), whole)
    np.testing.assert_array_equal(run(GraphParts(N, len(graph.weights), read), 2), whole)
