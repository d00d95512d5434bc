"""The contract of layouts over backends and switches: equal to the oracle, resumable, thread-independent."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.sparse import coo_matrix

from actup.backends import backends, load_backend
from actup.graph._records import Graph
from actup.recipe import _schedule
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Optimizer, Repulsion
from variations import (
    FAST_BACKENDS,
    clustered_points,
    force_combinations,
    graph_of,
    limit_travel,
    short_presets,
    single_switch_variations,
    start_of,
    tails_and_partitions,
)

N = 101  # not a multiple of the 16 points of a block
PRESETS = short_presets()
COMBINATIONS = force_combinations()
TAILS = tails_and_partitions()
VARIATIONS = single_switch_variations() | COMBINATIONS | TAILS
MAIN_RECIPES = PRESETS | COMBINATIONS | TAILS


def run(backend: str, graph: Graph, start: np.ndarray, recipe: Recipe, epochs, seed=7, threads=1):
    """The maps after the given epochs, reached one after the other."""
    layout = load_backend(backend).make_layout(graph, start, recipe, seed, threads)
    maps = []
    for until in epochs:
        layout.run(until)
        maps.append(layout.embedding())
    return maps


def assert_equals_oracle(backend, graph, start, recipe, oracle=None, epochs=(1, 10), tolerance=2e-5):
    """The maps equal the oracle's after the given epochs, up to ``tolerance`` times the size of the map."""
    if recipe.optimizer is Optimizer.GAINS:
        tolerance = 1e-4  # gains jump where a force changes sign
    if recipe.repulsion_for(len(graph)) in (Repulsion.MESH, Repulsion.BARNES_HUT):
        tolerance = 1e-3  # approximations of the oracle's sums; points travel 3e-2 of the map
    expected = oracle or run("reference", graph, start, recipe, epochs)
    for found, wanted in zip(run(backend, graph, start, recipe, epochs), expected, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.ptp(wanted, axis=0).max())


@cache
def oracle_of(name: str):
    recipe = limit_travel(VARIATIONS[name], N)
    return recipe, run("reference", graph_of(N, recipe), start_of(N, recipe.n_components), recipe, [1, 10])


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", VARIATIONS)
def test_equals_the_oracle(backend, name):
    recipe, oracle = oracle_of(name)
    start = start_of(N, recipe.n_components)
    assert np.abs(oracle[1] - start).max() > 0.02  # the points move, so there is something to compare
    assert_equals_oracle(backend, graph_of(N, recipe), start, recipe, oracle)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [16, 33, 160])
@pytest.mark.parametrize("name", PRESETS)
def test_equals_the_oracle_in_any_dimension(backend, name, n, dimensions):
    recipe = limit_travel(PRESETS[name].but(n_components=dimensions), n)
    assert_equals_oracle(backend, graph_of(n, recipe), start_of(n, dimensions), recipe)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", ["tsne", "gdr_tsne"])
def test_dilated_map_equals_the_oracle(backend, name, monkeypatch):
    """Maps of many points are dilated while they expand: here a map of few."""
    recipe = limit_travel(PRESETS[name], N)
    graph, start = graph_of(N, recipe), 0.1 * start_of(N, 2)  # so small that repulsion wins
    plain = run("reference", graph, start, recipe, [10])[0]
    monkeypatch.setattr(_schedule, "_LONGER_EXPANSION_ABOVE_N", N // 2)
    assert_equals_oracle(backend, graph, start, recipe)
    dilated = run(backend, graph, start, recipe, [10], threads=2)[0]
    assert np.std(dilated) > 1.05 * np.std(plain)
    np.testing.assert_array_equal(run(backend, graph, start, recipe, [5, 10])[1], dilated)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", PRESETS)
def test_equals_the_oracle_on_a_star(backend, name):
    """A hub of 200 edges, which is more than there are colours for its matchings."""
    graph, recipe = star(201), limit_travel(PRESETS[name], 201)
    assert_equals_oracle(
        backend, graph, start_of(201, 2), recipe.but(learning_rate=recipe.learning_rate / 10)
    )


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_near_horizon_equals_the_oracle_and_matters(backend, dimensions):
    without_horizon = limit_travel(PRESETS["sampled_umap"].but(n_components=dimensions, horizon=None), N)
    graph, start = graph_of(N, without_horizon), start_of(N, dimensions)
    with_horizon = without_horizon.but(horizon=1.0)
    assert_equals_oracle(backend, graph, start, with_horizon)
    (map_without,), (map_with,) = (
        run(backend, graph, start, recipe, [10]) for recipe in (without_horizon, with_horizon)
    )
    assert np.abs(map_without - map_with).max() > 1e-3


@pytest.mark.parametrize("backend", backends())
def test_repulsion_moves_no_point_beyond_the_horizon_farther_out(backend):
    heads = np.arange(N - 1)
    matrix = coo_matrix((np.ones(N - 1), (heads, heads + 1)), (N, N)).tolil()
    matrix[1, 2] = 0  # points 0 and 1 have an edge to each other only
    graph = Graph.from_scipy((matrix + matrix.T).tocsr())
    start = np.random.default_rng(0).normal(size=(N, 2)).astype(np.float32)
    start[:2] = [[30, 40], [30.5, 40]]

    def moved_outward(horizon):
        (Y,) = run(backend, graph, start, PRESETS["sampled_umap"].but(horizon=horizon), [10])
        return (Y[:2] - start[:2]).mean(axis=0) @ [0.6, 0.8]

    assert moved_outward(2.0) < 1e-4 < 1e-2 < moved_outward(None)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_horizon_does_not_depend_on_the_distance_from_the_origin(backend):
    recipe = limit_travel(PRESETS["sampled_umap"].but(horizon=1.0), N)
    graph, start = graph_of(N, recipe), start_of(N, 2)
    (near,), (far,) = (run(backend, graph, start + offset, recipe, [5]) for offset in (0, np.float32(4096)))
    np.testing.assert_allclose(far - 4096, near, atol=0.02)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", MAIN_RECIPES)
def test_run_in_steps_equals_one_run(backend, name):
    recipe = MAIN_RECIPES[name]
    graph, start = graph_of(N, recipe), start_of(N, recipe.n_components)
    at_once = run(backend, graph, start, recipe, [6])[-1]
    in_steps = run(backend, graph, start, recipe, [2, 3, 6, 1])[-1]
    again = run(backend, graph, start, recipe, [6])[-1]
    assert np.isfinite(at_once).all()
    np.testing.assert_array_equal(in_steps, at_once)
    np.testing.assert_array_equal(again, at_once)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", MAIN_RECIPES)
def test_threads_change_no_bit(backend, name):
    recipe = MAIN_RECIPES[name]
    recipe = recipe.but(n_neighbors=15, perplexity=min(recipe.perplexity, 8.0))
    n = 3001
    graph, start = graph_of(n, recipe), start_of(n, recipe.n_components)
    one = load_backend(backend).make_layout(graph, start, recipe, 7, 1)
    one.run(3)
    for threads in (2, 3):
        several = load_backend(backend).make_layout(graph, start, recipe, 7, threads)
        several.run(3)
        np.testing.assert_array_equal(several.embedding(), one.embedding())
        assert several.loss() == one.loss()


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", PRESETS)
def test_seed_changes_the_map_only_with_sampled_repulsion(backend, name):
    recipe = PRESETS[name].but(negatives=5)
    graph, start = graph_of(N, recipe), start_of(N, 2)
    first, second = (run(backend, graph, start, recipe, [10], seed)[-1] for seed in (1, 2))
    is_sampled = recipe.repulsion_for(N) is Repulsion.SAMPLED
    assert (np.abs(first - second).max() > 1e-3) == is_sampled  # other repulsions draw nothing at random


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", PRESETS)
def test_loss_equals_the_oracle_after_some_epochs(backend, name):
    recipe = PRESETS[name]
    graph, start = graph_of(N, recipe), start_of(N, 2)
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, 1)
    layout.run(4)
    # the oracle at the same points: a layout that starts there
    oracle = load_backend("reference").make_layout(graph, layout.embedding(), recipe, 7)
    assert layout.loss() == pytest.approx(oracle.loss(), rel=1e-4)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", PRESETS)
def test_layout_counts_epochs_and_does_not_modify_its_inputs(backend, name):
    recipe = PRESETS[name]
    graph, start = graph_of(N, recipe), start_of(N, 2)
    for array in (graph.offsets, graph.indices, graph.weights, start):
        array.flags.writeable = False
    before = start.copy()
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, 1)
    assert (layout.epoch, layout.n_epochs) == (0, 12)
    np.testing.assert_array_equal(layout.embedding(), start)
    layout.run(5)
    assert layout.epoch == 5
    copy = layout.embedding()
    copy[:] = np.nan
    assert np.isfinite(layout.embedding()).all()
    layout.run(100)
    assert layout.epoch == 12
    np.testing.assert_array_equal(start, before)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", MAIN_RECIPES)
def test_one_to_five_points_stay_finite(backend, name):
    recipe = MAIN_RECIPES[name]
    for n in range(1, 6):
        assert_finite(backend, graph_of(n, recipe), start_of(n, recipe.n_components), recipe)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", MAIN_RECIPES)
def test_unusual_graphs_and_starts_stay_finite(backend, name):
    recipe, n = MAIN_RECIPES[name], 40
    start = start_of(n, recipe.n_components)
    duplicates = start.copy()
    duplicates[::2] = duplicates[1]
    W = graph_of(n, recipe).to_scipy().toarray()
    W[:5] = W[:, :5] = 0
    assert_finite(backend, Graph.from_scipy(W), duplicates, recipe)
    assert_finite(backend, graph_of(n, recipe), np.zeros_like(start), recipe)
    assert_finite(backend, Graph.from_scipy(np.zeros((n, n))), start, recipe)
    assert_finite(backend, star(n), start, recipe)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", MAIN_RECIPES)
def test_isolated_and_equal_points_equal_the_oracle(backend, name):
    recipe = limit_travel(MAIN_RECIPES[name], N)
    start = start_of(N, 2)
    if recipe.repulsion is not Repulsion.MESH:  # the mesh cannot resolve distances within one of its cells
        start[::4] = start[1]
    W = graph_of(N, recipe).to_scipy().toarray()
    W[:5] = W[:, :5] = 0
    # Equal points separate in steps that magnify rounding errors by up to 1/epsilon:
    # compare after fewer epochs, with a wider tolerance.
    assert_equals_oracle(backend, Graph.from_scipy(W), start, recipe, epochs=(1, 3), tolerance=1e-4)


def assert_finite(backend, graph, start, recipe):
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, 2)
    layout.run(4)
    Y = layout.embedding()
    assert Y.shape == start.shape
    assert np.isfinite(Y).all()
    assert np.isfinite(layout.loss())


def star(n: int) -> Graph:
    """Point 0 has an edge to every other point."""
    W = np.zeros((n, n))
    W[0, 1:] = W[1:, 0] = np.linspace(0.3, 1, n - 1)
    return Graph.from_scipy(W)


def test_clustered_points_of_the_tests_are_distinct():
    assert len(np.unique(clustered_points(N), axis=0)) == N
