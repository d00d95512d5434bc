"""Steered layouts: equal to the oracle, unchanged by factors of 1, and moved the way the factors say."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import PointInputs, backends, load_backend
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Optimizer, Repulsion
from variations import FAST_BACKENDS, force_combinations, graph_of, limit_travel, short_presets, start_of

N = 101  # not a multiple of the 16 points of a block
PRESETS = short_presets()
COMBINATIONS = {name: recipe for name, recipe in force_combinations().items() if "unbiased-sampled" in name}
RECIPES = PRESETS | COMBINATIONS | {"mesh": PRESETS["umap"].but(repulsion="mesh")}


def steered_map(backend: str, recipe: Recipe, exaggeration=1.0, repulsion=1.0, points=None) -> np.ndarray:
    """The map after 3 epochs as the recipe says and 5 steered ones."""
    graph, start = graph_of(N, recipe), start_of(N, recipe.n_components)
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, 1, points)
    layout.run(3)
    layout.steer(exaggeration, repulsion)
    layout.run(8)
    return layout.embedding()


def tolerance_of(recipe: Recipe) -> float:
    """How far maps may differ from the oracle's, as a share of the size of the map."""
    if recipe.repulsion_for(N) in (Repulsion.MESH, Repulsion.BARNES_HUT):
        return 1e-3
    return 1e-4 if recipe.optimizer is Optimizer.GAINS else 2e-5


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("factors", [(1.7, 1.0), (1.0, 0.4)])
@pytest.mark.parametrize("name", RECIPES)
def test_equals_the_oracle_and_matters(backend, name, factors):
    recipe = limit_travel(RECIPES[name], N)
    wanted, found = steered_map("reference", recipe, *factors), steered_map(backend, recipe, *factors)
    size = np.ptp(wanted, axis=0).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance_of(recipe) * size)
    assert np.abs(wanted - steered_map("reference", recipe)).max() > 1e-4 * size


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_equals_the_oracle_under_an_output_metric(backend):
    recipe = PRESETS["sampled_umap"].but(output_metric="chebyshev", horizon=None, learning_rate=0.02)
    if backend == "cuda":
        pytest.skip("output metrics are computed on the CPU")
    wanted = steered_map("reference", recipe, 1.7, 0.4)
    np.testing.assert_allclose(steered_map(backend, recipe, 1.7, 0.4), wanted, rtol=0, atol=1e-4)
    assert np.abs(wanted - steered_map("reference", recipe)).max() > 1e-3


def test_equals_the_oracle_with_a_density_term():
    recipe = limit_travel(PRESETS["umap"], N).but(density_weight=2.0, density_share=1.0)
    radii = PointInputs(log_radii=np.random.default_rng(0).normal(size=N).astype(np.float32))
    wanted, found = (steered_map(name, recipe, 1.7, 0.4, radii) for name in ("reference", "cpu"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5 * np.ptp(wanted, axis=0).max())


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", PRESETS)
def test_factors_of_one_change_no_bit(backend, name):
    recipe = PRESETS[name]
    graph, start = graph_of(N, recipe), start_of(N, 2)
    unsteered, back_again = (load_backend(backend).make_layout(graph, start, recipe, 7, 1) for _ in range(2))
    unsteered.run(8)
    back_again.steer(3.0, 0.1)
    back_again.steer(1.0, 1.0)
    back_again.run(8)
    np.testing.assert_array_equal(back_again.embedding(), unsteered.embedding())


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", ["umap", "tsne", "sampled_umap"])
def test_exaggeration_shortens_edges_and_repulsion_lengthens_them(backend, name):
    recipe = RECIPES[name].but(epochs=100)
    graph, start = graph_of(301, recipe), start_of(301, 2)
    edges = graph.to_scipy().tocoo()

    def edge_length(exaggeration, repulsion):
        layout = load_backend(backend).make_layout(graph, start, recipe, 7, 2)
        layout.steer(exaggeration, repulsion)
        layout.run(100)
        Y = layout.embedding()
        return np.average(np.linalg.norm(Y[edges.row] - Y[edges.col], axis=1), weights=edges.data)

    assert edge_length(4.0, 1.0) < 0.9 * edge_length(1.0, 1.0)
    assert edge_length(1.0, 4.0) > 1.1 * edge_length(1.0, 1.0)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"exaggeration": 0.0}, "exaggeration=0.0 must be a finite number above 0"),
        ({"exaggeration": np.nan}, "exaggeration=nan"),
        ({"repulsion": -1.0}, "repulsion=-1.0 must be a finite number at least 0"),
        ({"repulsion": np.inf}, "repulsion=inf"),
    ],
)
def test_unusable_factors_are_rejected(backend, factors, message):
    recipe = PRESETS["umap"]
    layout = load_backend(backend).make_layout(graph_of(N, recipe), start_of(N, 2), recipe, 7, 1)
    with pytest.raises(ValueError, match=message):
        layout.steer(**factors)
