"""The layout on the GPU beyond the contract of tests/layout, which also covers backend "cuda" on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import cuda_is_available, load_backend
from actup.graph._records import Graph
from actup.recipe._presets import preset
from actup.recipe._switches import Repulsion
from variations import graph_of, limit_travel, start_of

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU"),
]

PRESETS = (
    "umap", "tsne", "gdr_umap", "gdr_tsne",
    "sampled_umap", "sampled_gdr_umap", "sampled_gdr_tsne", "paper_gdr_tsne",
)  # fmt: skip


def run(backend: str, graph, start, recipe, until: int, seed: int = 7):
    layout = load_backend(backend).make_layout(graph, start, recipe, seed, 2)
    layout.run(until)
    return layout.embedding()


@pytest.mark.parametrize("repulsion", ["auto", "mesh"])
@pytest.mark.parametrize("name", PRESETS)
def test_equals_the_cpu_on_many_points(name, repulsion):
    """More points than thread blocks, so that sums pass through all their stages."""
    recipe, n = preset(name).but(epochs=12, n_neighbors=15, perplexity=8.0), 40_001
    if recipe.repulsion is Repulsion.AUTO:
        recipe = recipe.but(repulsion="mesh" if repulsion == "mesh" else "exact")
        n = n if repulsion == "mesh" else 5_001
    elif repulsion == "mesh":
        pytest.skip("the recipe samples its repulsion")
    graph, start = ring_graph(n), spiral(n)
    recipe = recipe.but(learning_rate=recipe.learning_rate / 20)
    expected = run("cpu", graph, start, recipe, 10)
    found = run("cuda", graph, start, recipe, 10)
    moved = np.abs(expected - start).max()
    assert moved > 0.01
    apart = np.abs(found - expected).max(axis=1) > 0.01 * moved + 2e-5 * np.ptp(start)
    assert apart.mean() < 1e-3  # the forces of close points amplify rounding errors


@pytest.mark.parametrize("unit", ["points", "one"])
def test_two_potentials_equal_all_pairs(unit):
    """The normalised Frobenius loss on the mesh, with both units of the learning rate."""
    recipe = preset("sampled_gdr_tsne").but(epochs=12, loss="frobenius", learning_rate_unit=unit)
    recipe, n = limit_travel(recipe, 300), 300
    graph, start = graph_of(n, recipe), start_of(n, 2)
    exact = run("cuda", graph, start, recipe.but(repulsion="exact"), 10)
    found = run("cuda", graph, start, recipe.but(repulsion="mesh", mesh_spacing=0.04), 10)
    assert np.abs(exact - start).max() > 0.02
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-3 * np.ptp(start))


def test_frobenius_on_the_mesh_equals_the_cpu_on_many_points():
    recipe = preset("sampled_gdr_tsne").but(epochs=12, loss="frobenius", repulsion="mesh", learning_rate=0.05)
    graph, start = ring_graph(40_001), spiral(40_001)
    expected = run("cpu", graph, start, recipe, 10)
    moved = np.abs(expected - start).max()
    assert moved > 0.01
    apart = np.abs(run("cuda", graph, start, recipe, 10) - expected).max(axis=1)
    assert (apart > 0.02 * moved + 2e-5 * np.ptp(start)).mean() < 1e-3


@pytest.mark.parametrize("kept", [True, False])
def test_a_horizon_equals_the_cpu_on_many_points(kept, monkeypatch):
    """Measured by the kernel of the small groups, and by another where their points do not fit."""
    from actup.backends._cuda import in_place

    if not kept:
        monkeypatch.setattr(in_place, "_MAX_SHARED_BYTES", 0)
    recipe = preset("sampled_umap").but(epochs=12, horizon=1.2, learning_rate=0.02)
    graph, start = ring_graph(20_001), spiral(20_001)
    found, expected, free = (
        run(backend, graph, start, recipe.but(horizon=horizon), 3)
        for backend, horizon in (("cuda", 1.2), ("cpu", 1.2), ("cpu", None))
    )
    held = np.abs(expected - free).max(axis=1) > 1e-2
    assert held.mean() > 0.02
    apart = np.abs(found - expected).max(axis=1) > 1e-3
    assert apart.mean() < 1e-3  # the forces of close points amplify rounding errors


@pytest.mark.parametrize("name", PRESETS)
def test_same_bits_on_every_run(name):
    recipe, n = preset(name).but(epochs=30), 20_001
    graph, start = ring_graph(n), spiral(n)
    first = run("cuda", graph, start, recipe, 30)
    for _ in range(2):
        np.testing.assert_array_equal(run("cuda", graph, start, recipe, 30), first)


@pytest.mark.parametrize("name", ["tsne", "gdr_umap", "classic_tsne"])
def test_reordering_the_points_changes_no_result(name, monkeypatch):
    from actup.backends._cuda import batch

    recipe, n = limit_travel(preset(name).but(epochs=12), 300), 300
    graph, start = graph_of(n, recipe), start_of(n, 2)
    once = run("cuda", graph, start, recipe, 10)
    monkeypatch.setattr(batch, "_MIN_REORDERED_POINTS", 1)
    monkeypatch.setattr(batch, "_REORDER_EPOCHS", (1, 4, 5))
    again = run("cuda", graph, start, recipe, 10)
    assert np.abs(once - start).max() > 0.02
    np.testing.assert_allclose(again, once, rtol=0, atol=1e-4 * np.ptp(start))


def test_arrays_on_the_device_stay_there():
    import cupy

    recipe = preset("gdr_umap").but(epochs=5)
    graph, start = graph_of(101, recipe), start_of(101, 2)
    on_device = Graph(*(cupy.asarray(part) for part in (graph.offsets, graph.indices, graph.weights)))
    found = run("cuda", on_device, cupy.asarray(start), recipe, 5)
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_array_equal(found.get(), run("cuda", graph, start, recipe, 5))


def test_outliers_replace_the_mesh_by_all_pairs():
    """Two points are too far away for any grid: the CPU falls back to a tree, the GPU to exact sums."""
    recipe = preset("gdr_tsne").but(epochs=12, repulsion="mesh", learning_rate=0.05)
    graph, start = graph_of(500, recipe), start_of(500, 2)
    start[:2] += [[1e4, 0], [0, -1e4]]
    expected = run("cpu", graph, start, recipe.but(repulsion="exact"), 10)
    found = run("cuda", graph, start, recipe, 10)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3)


@pytest.mark.parametrize("name", ["sampled_umap", "paper_umap"])
def test_hubs_colour_as_on_the_cpu(name):
    """Points with more edges than there are colours, and chains of dependent edges."""
    random = np.random.default_rng(0)
    n = 3_000
    W = np.zeros((n, n), np.float32)
    for hub in range(4):
        others = random.choice(n, 400, replace=False)
        W[hub, others] = W[others, hub] = 0.2 + 0.8 * random.random(400)
    i, j = random.integers(n, size=(2, 10 * n))
    W[i, j] = W[j, i] = 0.1 + 0.9 * random.random(10 * n)
    graph = Graph.from_scipy(np.maximum(W, W.T))
    recipe = preset(name).but(epochs=12, learning_rate=0.05)
    start = spiral(n)
    expected = run("cpu", graph, start, recipe, 3)
    np.testing.assert_allclose(run("cuda", graph, start, recipe, 3), expected, rtol=0, atol=1e-3)


def test_too_little_memory_raises_before_the_work(monkeypatch):
    from actup.backends._cuda import arrays

    monkeypatch.setattr(arrays, "free_bytes", lambda: 1000)
    recipe = preset("gdr_umap").but(epochs=5)
    with pytest.raises(MemoryError, match="the layout of 101 points"):
        run("cuda", graph_of(101, recipe), start_of(101, 2), recipe, 1)


def test_barnes_hut_among_few_points_is_the_exact_sum():
    recipe = limit_travel(preset("gdr_tsne").but(epochs=12, repulsion="barnes_hut", n_components=3), 160)
    graph, start = graph_of(160, recipe), start_of(160, 3)
    exact = run("cuda", graph, start, recipe.but(repulsion="exact"), 10)
    np.testing.assert_array_equal(run("cuda", graph, start, recipe, 10), exact)


@pytest.fixture
def always_tree(monkeypatch):
    from actup.backends._cuda import state

    monkeypatch.setattr(state, "TREE_MIN_POINTS", 0)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["umap", "tsne", "gdr_umap", "gdr_tsne", "frobenius", "normalised frobenius"]
)
@pytest.mark.parametrize("n", [9, 1001])
def test_a_tree_that_opens_all_nodes_equals_all_pairs(n, name, dimensions, always_tree):
    recipe = preset({"frobenius": "gdr_umap", "normalised frobenius": "gdr_tsne"}.get(name, name))
    recipe = recipe.but(n_components=dimensions, epochs=12, perplexity=2.0, n_neighbors=4)
    recipe = recipe.but(repulsion="exact", loss="frobenius" if "frobenius" in name else recipe.loss)
    recipe = recipe.but(learning_rate=recipe.learning_rate / 100)
    graph, start = ring_graph(max(n, 40)), scattered(max(n, 40), dimensions)
    expected = run("cuda", graph, start, recipe, 10)
    found = run("cuda", graph, start, recipe.but(repulsion="barnes_hut", theta=0.0), 10)
    assert np.abs(expected - start).max() > 1e-4
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.ptp(start))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize(("theta", "largest_error"), [(0.0, 1e-5), (0.3, 3e-3), (0.5, 1e-2)])
def test_forces_of_the_tree_are_near_those_of_all_pairs(theta, largest_error, dimensions):
    """Of points in groups and far apart, beside sums in double precision."""
    n = 20_001
    Y = scattered(n, dimensions)
    recipe = preset("tsne").but(n_components=dimensions, repulsion="barnes_hut", theta=theta, epochs=5)
    layout = load_backend("cuda").make_layout(ring_graph(n), Y, recipe, 0, 2)
    epochs = layout._epochs
    epochs._field.repel(epochs._repulsion, epochs._second_repulsion)
    order = layout._graph.order.get()
    sample = np.arange(0, n, 200)
    difference = Y[order[sample], None, :].astype(np.float64) - Y[None]
    q = 1 / (1 + np.square(difference).sum(axis=2))
    expected = np.einsum("ij,ijc->ic", q**2, difference)
    found = epochs._repulsion.get()[sample]
    assert np.linalg.norm(found - expected) < largest_error * np.linalg.norm(expected)
    np.testing.assert_allclose(
        epochs._field._q.get()[sample].sum(), q.sum() - len(sample), rtol=largest_error
    )


def test_points_of_a_tree_may_coincide(always_tree):
    recipe = preset("tsne").but(n_components=3, epochs=12, repulsion="barnes_hut", learning_rate=0.05)
    start = scattered(1001, 3)
    start[100:700] = start[100]
    expected = run("cuda", ring_graph(1001), start, recipe.but(repulsion="exact"), 5)
    found = run("cuda", ring_graph(1001), start, recipe.but(theta=0.2), 5)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 * np.ptp(start))


@pytest.mark.parametrize("name", ["umap", "tsne"])
def test_same_bits_on_every_run_with_the_tree(name):
    recipe = preset(name).but(epochs=30, n_components=3)
    graph, start = ring_graph(20_001), scattered(20_001, 3)
    first = run("cuda", graph, start, recipe, 30)
    for _ in range(2):
        np.testing.assert_array_equal(run("cuda", graph, start, recipe, 30), first)


def test_outliers_replace_the_mesh_by_the_tree(always_tree):
    recipe = preset("gdr_tsne").but(epochs=12, repulsion="mesh", learning_rate=0.05, theta=0.2)
    graph, start = graph_of(500, recipe), start_of(500, 2)
    start[:2] += [[1e4, 0], [0, -1e4]]
    layout = load_backend("cuda").make_layout(graph, start, recipe, 7, 2)
    layout.run(5)
    state = layout.state()
    layout.run(10)
    np.testing.assert_allclose(
        layout.embedding(), run("cpu", graph, start, recipe.but(repulsion="exact"), 10), rtol=0, atol=5e-3
    )
    again = load_backend("cuda").make_layout(graph, start, recipe, 7, 2)
    again.restore(state)
    again.run(10)
    np.testing.assert_array_equal(again.embedding(), layout.embedding())


@pytest.mark.parametrize("name", ["umap", "tsne", "gdr_umap", "sampled_umap"])
def test_quality_is_that_of_the_cpu(name):
    """The digits: the same share of a point's nearest neighbours on the map has its label."""
    from sklearn.datasets import load_digits

    from actup._pipeline import embed

    X, y = load_digits(return_X_y=True)
    recipe = preset(name) if name == "sampled_umap" else preset(name).but(repulsion="mesh")
    prepared = embed(X, recipe.but(epochs=0), seed=0)
    shares = {}
    for backend in ("cpu", "cuda"):
        layout = load_backend(backend).make_layout(prepared.graph, prepared.embedding, recipe, 0, 2)
        layout.run(layout.n_epochs)
        shares[backend] = share_of_equal_labels(layout.embedding(), y)
    assert shares["cuda"] > shares["cpu"] - 0.01


def share_of_equal_labels(Y, y, k=10) -> float:
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=k + 1).fit(Y).kneighbors(Y)[1][:, 1:]
    return float((y[found] == y[:, None]).mean())


def ring_graph(n: int) -> Graph:
    """Every point has edges to the next seven on a ring and to a random one."""
    from scipy.sparse import coo_matrix

    random = np.random.default_rng(n)
    i = np.repeat(np.arange(n), 8)
    steps = np.tile([1, 2, 3, 4, 5, 6, 7, 1], n)
    steps[7::8] = random.integers(8, n // 2, size=n)
    j = (i + steps) % n
    W = coo_matrix((0.2 + 0.8 * random.random(len(i)), (i, j)), shape=(n, n)).tocsr()
    return Graph.from_scipy(W.maximum(W.T))


def scattered(n: int, dimensions: int) -> np.ndarray:
    """Places in groups of different widths and between them, in a box of side 60: (n, dimensions) float32."""
    random = np.random.default_rng(n)
    groups = random.integers(12, size=n)
    centres, widths = random.uniform(0, 60, (12, dimensions)), np.geomspace(0.05, 20, 12)
    return np.float32(centres[groups] + widths[groups, None] * random.standard_normal((n, dimensions)))


def spiral(n: int) -> np.ndarray:
    """Places along a spiral in a box of side 20: (n, 2) float32."""
    turn = np.linspace(0.5, 12 * np.pi, n)
    jitter = 0.2 * np.random.default_rng(0).standard_normal((n, 2))
    return np.float32(10 * turn[:, None] / turn[-1] * np.stack([np.cos(turn), np.sin(turn)], axis=1) + jitter)
