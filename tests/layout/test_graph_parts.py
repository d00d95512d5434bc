"""Layouts of a graph that is read part by part: the bits of the layout of the whole graph."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from actup.backends import PointInputs, backends, load_backend
from actup.graph._records import Graph, GraphParts
from actup.recipe._recipe import Recipe
from variations import force_combinations, graph_of, short_presets, start_of

N = 101
RECIPES = short_presets() | force_combinations()
CUTS = {"one": [0, N], "several": [0, 0, 17, 18, 60, 60, N]}


def parts_of(graph: Graph, boundaries: list[int]) -> GraphParts:
    def read():
        for begin, end in pairwise(boundaries):
            first, last = graph.offsets[begin], graph.offsets[end]
            offsets = graph.offsets[begin : end + 1] - first
            yield offsets, graph.indices[first:last].copy(), graph.weights[first:last].copy()

    return GraphParts(len(graph), len(graph.weights), read)


def run(backend: str, graph: Graph | GraphParts, recipe: Recipe, n=N, points=None) -> np.ndarray:
    start = start_of(n, recipe.n_components)
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, 2, points)
    layout.run(6)
    return layout.embedding().view(np.uint32)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", RECIPES)
def test_parts_give_the_same_bits(name, cut):
    recipe = RECIPES[name]
    graph = graph_of(N, recipe)
    expected = run("cpu", graph, recipe)
    np.testing.assert_array_equal(run("cpu", parts_of(graph, CUTS[cut]), recipe), expected)


@pytest.mark.parametrize("backend", backends())
def test_every_backend_takes_parts(backend):
    recipe = RECIPES["umap"]
    graph = graph_of(N, recipe)
    expected = run(backend, graph, recipe)
    np.testing.assert_array_equal(run(backend, parts_of(graph, CUTS["several"]), recipe), expected)


def test_density_and_pinned_points():
    recipe = RECIPES["umap"].but(density_weight=2.0, density_share=1.0)
    random = np.random.default_rng(0)
    radii, mobility = random.normal(size=N), random.uniform(size=N)
    points = PointInputs(mobility.astype(np.float32), radii.astype(np.float32))
    graph = graph_of(N, recipe)
    expected = run("cpu", graph, recipe, points=points)
    np.testing.assert_array_equal(run("cpu", parts_of(graph, [0, 50, N]), recipe, points=points), expected)


def test_output_metrics_join_the_parts():
    recipe = RECIPES["sampled_umap"].but(output_metric="chebyshev", horizon=None)
    graph = graph_of(N, recipe)
    np.testing.assert_array_equal(run("cpu", parts_of(graph, [0, 50, N]), recipe), run("cpu", graph, recipe))


def test_loss_of_parts():
    recipe = RECIPES["umap"]
    graph = graph_of(N, recipe)
    layouts = [
        load_backend("cpu").make_layout(each, start_of(N, 2), recipe, 7, 2)
        for each in (graph, parts_of(graph, [0, 50, N]))
    ]
    assert layouts[0].loss() == layouts[1].loss()


def test_no_edges():
    graph = Graph(np.zeros(N + 1), np.empty(0, np.int32), np.empty(0, np.float32))
    for name in ("umap", "tsne"):
        expected = run("cpu", graph, RECIPES[name])
        np.testing.assert_array_equal(run("cpu", parts_of(graph, [0, 50, N]), RECIPES[name]), expected)


def test_joined_parts_are_the_graph():
    graph = graph_of(N, RECIPES["umap"])
    joined = parts_of(graph, CUTS["several"]).joined()
    for name in ("offsets", "indices", "weights"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(graph, name))


@pytest.mark.parametrize("cuts", [[[0, 50]], [[0, N], [N - 5, N]]], ids=["fewer", "more"])
def test_parts_that_do_not_fit_are_rejected(cuts):
    graph = graph_of(N, RECIPES["umap"])
    read = [parts_of(graph, boundaries).read for boundaries in cuts]
    parts = GraphParts(N, len(graph.weights), lambda: (part for each in read for part in each()))
    with pytest.raises(ValueError, match="parts of the graph must have"):
        parts.joined()
    with pytest.raises(ValueError, match=r"parts of the graph have (fewer|more) rows"):
        run("cpu", parts, RECIPES["umap"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda offsets, indices, weights: (offsets + 1, indices, weights), "offsets of a part"),
        (lambda offsets, indices, weights: (offsets[::-1].copy(), indices, weights), "offsets of a part"),
        (lambda offsets, indices, weights: (offsets, indices + N, weights), "ids of a part"),
        (lambda offsets, indices, weights: (offsets, indices - N, weights), "ids of a part"),
        (lambda offsets, indices, weights: (offsets, indices, weights[1:]), "an id for every weight"),
    ],
)
def test_damaged_parts_are_rejected(change, message):
    graph = graph_of(N, RECIPES["umap"])
    arrays = change(graph.offsets, graph.indices, graph.weights)
    parts = GraphParts(N, len(graph.weights), lambda: iter([arrays]))
    with pytest.raises(ValueError, match=message):
        run("cpu", parts, RECIPES["umap"])


def test_parts_that_change_between_reads_are_rejected():
    graph = graph_of(N, RECIPES["umap"])
    reads = iter([graph.weights, graph.weights, graph.weights * (np.arange(len(graph.weights)) % 2)])
    parts = GraphParts(N, len(graph.weights), lambda: iter([(graph.offsets, graph.indices, next(reads))]))
    with pytest.raises(ValueError, match="changed between two reads"):
        run("cpu", parts, RECIPES["umap"])
