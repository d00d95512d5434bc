"""The density term of densMAP: the gradient of a correlation, equal to the oracle, and its effect."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import backends, load_backend
from actup.backends._base import PointInputs
from actup.graph._radii import edge_lengths, local_radii, map_radii, standardize
from actup.graph._records import Graph
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Optimizer, Repulsion, Sampling
from variations import graph_of, limit_travel, neighbors_of, start_of

N = 101  # not a multiple of the 16 points of a block
BACKENDS = [name for name in backends() if name != "cuda"]
BASE = preset("umap").but(epochs=12, density_weight=2.0, density_share=0.5)
RECIPES = {
    "umap": BASE,
    "gdr_umap": preset("gdr_umap").but(epochs=12, density_weight=5.0, density_share=0.5),
    "mesh": BASE.but(repulsion="mesh"),
    "barnes_hut": BASE.but(repulsion="barnes_hut"),
    "sampled": preset("sampled_gdr_umap").but(epochs=12, density_weight=2.0),
    "gains": preset("paper_gdr_umap").but(epochs=12, density_weight=2.0),
    "accelerated": preset("accelerated_gdr_umap").but(epochs=12, density_weight=2.0),
    "without shift": BASE.but(density_shift=0.0),
    "always": BASE.but(density_share=1.0),
}


def radii_of(n: int, recipe: Recipe) -> np.ndarray:
    neighbors = neighbors_of(n, recipe.neighbors_searched(n), recipe.metric)
    graph = graph_of(n, recipe)
    return standardize(local_radii(graph, edge_lengths(graph, neighbors)))


def map_of(backend, graph, start, recipe, log_radii, epochs=12, threads=1, mobility=None) -> np.ndarray:
    points = PointInputs(mobility, log_radii)
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, threads, points)
    layout.run(epochs)
    return layout.embedding()


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize("name", RECIPES)
def test_density_equals_the_oracle(name, dimensions):
    recipe = RECIPES[name]
    if recipe.repulsion in (Repulsion.MESH, Repulsion.BARNES_HUT) and dimensions > 2:
        pytest.skip("these repulsions have no more dimensions")
    plain = recipe.but(n_components=dimensions, density_weight=0.0)
    recipe = limit_travel(plain, N).but(density_weight=recipe.density_weight)
    graph, start, radii = graph_of(N, recipe), start_of(N, dimensions), radii_of(N, recipe)
    wanted = map_of("reference", graph, start, recipe, radii)
    tolerance = 1e-4 if recipe.optimizer is Optimizer.GAINS else 2e-5
    if recipe.repulsion_for(N) in (Repulsion.MESH, Repulsion.BARNES_HUT):
        tolerance = 1e-3
    found = map_of("cpu", graph, start, recipe, radii)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.ptp(wanted, axis=0).max())
    without = map_of("reference", graph, start, recipe.but(density_weight=0.0), None)
    assert np.abs(wanted - without).max() > 3e-3


def correlation(graph: Graph, Y: np.ndarray, log_radii: np.ndarray, recipe: Recipe) -> float:
    """The covariance of the radii of map and data over the deviation of the map's, in plain float64."""
    edges = graph.to_scipy().tocoo()
    squared = ((np.float64(Y)[edges.row] - Y[edges.col]) ** 2).sum(axis=1) + 1e-12
    kernels = 1 / (1 + recipe.a * squared**recipe.b)
    totals, sums = (np.bincount(edges.row, w, len(Y)) for w in (kernels, kernels * squared))
    radii = np.log(1e-8 + sums / totals)
    centred, data = radii - radii.mean(), np.float64(log_radii) - log_radii.mean(dtype=np.float64)
    return float((centred * data).mean() / np.sqrt((centred**2).mean() + recipe.density_shift))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    ("a", "b", "dimensions"), [(1.0, 1.0, 2), (1.577, 0.895, 2), (0.6, 1.3, 1), (2.5, 0.6, 3)]
)
def test_density_force_is_the_gradient_of_the_correlation(backend, a, b, dimensions, symmetric):
    n, h = 24, 2**-10
    recipe = Recipe(
        a=a,
        b=b,
        n_components=dimensions,
        symmetric_attraction=symmetric,
        repulsion="exact",
        epochs=1,
        prune=False,
        momentum=0,
        step_cap=1e9,
        density_weight=1.5,
        density_share=1.0,
        exaggeration=3.0,
        exaggeration_share=1.0,
    )
    graph, start, radii = graph_of(n, recipe), start_of(n, dimensions), radii_of(n, recipe)
    weights = graph.weights.astype(np.float64)
    factor = (2 if symmetric else 1) / 2 * recipe.density_weight * (weights / weights.max()).sum()
    expected = np.empty(start.shape)
    for i, c in np.ndindex(*start.shape):
        Y = start.astype(np.float64)
        values = []
        for step in (1, -1, 2, -2):
            Y[i, c] = start[i, c] + step * h
            values.append(correlation(graph, Y, radii, recipe))
        near, far = values[0] - values[1], values[2] - values[3]
        expected[i, c] = factor * (8 * near - far) / (12 * h)
    with_term = map_of(backend, graph, start, recipe, radii, 1).astype(np.float64)
    without = map_of(backend, graph, start, recipe.but(density_weight=0.0), None, 1)
    np.testing.assert_allclose(with_term - without, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("name", RECIPES)
def test_threads_and_pauses_change_no_bit(name):
    recipe, n = RECIPES[name], 1501
    graph, start, radii = graph_of(n, recipe), start_of(n, 2), radii_of(n, recipe)
    one = map_of("cpu", graph, start, recipe, radii)
    assert np.isfinite(one).all()
    for threads in (2, 3):
        np.testing.assert_array_equal(map_of("cpu", graph, start, recipe, radii, threads=threads), one)
    layout = load_backend("cpu").make_layout(graph, start, recipe, 7, 2, PointInputs(log_radii=radii))
    for until in (3, 7, 8, 12):
        layout.run(until)
    np.testing.assert_array_equal(layout.embedding(), one)


@pytest.mark.parametrize("name", RECIPES)
def test_radii_without_the_term_change_no_bit(name):
    recipe = RECIPES[name].but(density_weight=0.0)
    graph, start = graph_of(N, recipe), start_of(N, 2)
    radii = radii_of(N, recipe)
    np.testing.assert_array_equal(
        map_of("cpu", graph, start, recipe, radii), map_of("cpu", graph, start, recipe, None)
    )


def test_the_term_acts_in_the_last_epochs_only():
    recipe = BASE.but(density_share=0.3)
    assert recipe.density_begin(N) == 8
    graph, start, radii = graph_of(N, recipe), start_of(N, 2), radii_of(N, recipe)
    plain = recipe.but(density_weight=0.0)
    for epochs, same in ((8, True), (9, False)):
        Y = map_of("cpu", graph, start, recipe, radii, epochs)
        assert np.array_equal(Y, map_of("cpu", graph, start, plain, None, epochs)) == same


@pytest.mark.parametrize("backend", BACKENDS)
def test_unusual_graphs_stay_finite(backend):
    recipe, n = BASE.but(density_share=1.0, density_weight=10.0), 40
    start = start_of(n, 2)
    W = graph_of(n, recipe).to_scipy().toarray()
    W[:5] = W[:, :5] = 0
    equal = np.zeros(n, np.float32)
    for graph in (Graph.from_scipy(W), Graph.from_scipy(np.zeros((n, n)))):
        for places in (start, np.zeros_like(start), np.repeat(start[::2], 2, axis=0)):
            for radii in (equal, radii_of(n, recipe)):
                for shift in (0.0, 0.1):
                    Y = map_of(backend, graph, places, recipe.but(density_shift=shift), radii)
                    assert np.isfinite(Y).all()


def test_pinned_points_keep_their_bits():
    recipe, n = BASE.but(density_share=1.0), 501
    graph, start, radii = graph_of(n, recipe), start_of(n, 2), radii_of(n, recipe)
    mobility = np.float32(np.arange(n) % 2)
    Y = map_of("cpu", graph, start, recipe, radii, mobility=mobility)
    np.testing.assert_array_equal(Y[::2], start[::2])
    assert (Y[1::2] != start[1::2]).any(axis=1).all()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_radii_of_the_map_follow_those_of_the_data(dimensions):
    n = 1000
    recipe = preset("umap").but(n_components=dimensions)
    graph, radii = graph_of(n, recipe), radii_of(n, recipe)
    start = start_of(n, dimensions)
    correlations = []
    for weight in (0.0, 2.0):
        Y = map_of("cpu", graph, start, recipe.but(density_weight=weight), radii, 10_000, 2)
        correlations.append(np.corrcoef(map_radii(graph, Y, *recipe.kernel()), radii)[0, 1])
    assert correlations[1] > 0.8
    assert correlations[1] > correlations[0] + 0.2


@pytest.mark.parametrize("backend", BACKENDS)
def test_radii_are_needed(backend):
    with pytest.raises(ValueError, match=r"density_weight=2.0 needs the local radii"):
        load_backend(backend).make_layout(graph_of(N, BASE), start_of(N, 2), BASE, 0, 1)


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"normalized": True}, "needs normalized=False"),
        ({"loss": "frobenius"}, "loss='kl'"),
        (
            {"update": "in_place", "optimizer": "step", "repulsion": "sampled", "momentum": 0},
            "update='batch'",
        ),
        ({"density_weight": -1}, "at least 0"),
        ({"density_share": 1.5}, "at most 1"),
        ({"density_shift": -0.1}, "at least 0"),
    ],
)
def test_recipes_that_cannot_have_the_term_are_rejected(changes, remedy):
    with pytest.raises(ValueError, match=remedy):
        BASE.but(**changes)


def test_a_gpu_rejects_the_term():
    from actup.backends._cuda.layout import reject_unsupported

    reject_unsupported(preset("umap"))
    with pytest.raises(ValueError, match="backend='cpu'"):
        reject_unsupported(BASE)


def test_every_sampling_has_the_same_density_term():
    """All edges count in the radii, whichever of them attract."""
    recipe = BASE.but(optimizer="step", momentum=0, epochs=2, density_share=1.0, prune=False, phases=())
    graph, start, radii = graph_of(N, recipe), start_of(N, 2), radii_of(N, recipe)
    terms = [
        map_of("cpu", graph, start, changed, radii, 1)
        - map_of("cpu", graph, start, changed.but(density_weight=0.0), None, 1)
        for changed in (recipe.but(sampling=sampling, step_cap=1e6) for sampling in Sampling)
    ]
    for term in terms[1:]:
        np.testing.assert_allclose(term, terms[0], atol=1e-4 * np.abs(terms[0]).max())
