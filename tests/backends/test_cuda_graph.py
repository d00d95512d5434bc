"""Affinities, symmetrisation and starts on the GPU, compared with the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from actup import nearest_neighbors, preset
from actup.backends import cuda_is_available, load_backend
from actup.graph._records import Graph, Neighbors
from actup.recipe._switches import Extent
from actup.start import _coordinates

cpu = load_backend("cpu")

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU"),
]

RECIPES = {
    "umap": preset("umap"),
    "umap_plain": preset("umap").but(distance="plain"),
    "umap_mean": preset("umap").but(symmetrization="tsne"),
    "gaussian": preset("tsne").but(perplexity=10.0),
    "multiscale": preset("tsne").but(affinity="multiscale", perplexities=(5.0, 12.0)),
    "fixed_sigma": preset("gdr_umap").but(affinity="fixed_sigma", distance="plain", sigma=2.0),
    "uniform": preset("gdr_umap").but(affinity="uniform", distance="plain"),
}


def neighbors_of(X, k):
    return nearest_neighbors(np.ascontiguousarray(X, np.float32), k, algorithm="exact", n_jobs=1)


def assert_same_graph(one: Graph, other: Graph):
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("n", [40, 3000])
def test_graph_equals_that_of_the_cpu(name, n):
    from actup.backends._cuda.graph import affinity_graph

    X = np.random.default_rng(0).normal(size=(n, 8))
    X[5:9] = X[4]
    neighbors = neighbors_of(X, 36 if n > 40 else 20)
    recipe = RECIPES[name]
    assert_same_graph(affinity_graph(neighbors, recipe), cpu.affinity_graph(neighbors, recipe, 1))


def test_a_hub_that_is_everyones_neighbour():
    from actup.backends._cuda.graph import affinity_graph

    X = np.random.default_rng(1).normal(size=(5000, 30))
    neighbors = neighbors_of(X, 9)
    indices = np.hstack([np.zeros((5000, 1), np.int32), neighbors.indices[:, :8]])
    indices[0, 0] = 4999
    for row in np.flatnonzero((indices[:, 1:] == indices[:, :1]).any(axis=1)):
        indices[row] = np.setdiff1d(np.arange(20), row)[:9]
    given = Neighbors(indices, neighbors.distances)
    recipe = RECIPES["umap"]
    assert_same_graph(affinity_graph(given, recipe), cpu.affinity_graph(given, recipe, 1))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda ids, d: d.__setitem__((3, 0), np.nan), "finite, at least 0"),
        (lambda ids, d: ids.__setitem__((3, 0), 3), "other rows of the data"),
        (lambda ids, d: ids.__setitem__((3, 0), ids[3, 1]), "differ within a row"),
    ],
)
def test_wrong_neighbours_are_rejected(spoil, message):
    from actup.backends._cuda.graph import affinity_graph

    neighbors = neighbors_of(np.random.default_rng(2).normal(size=(50, 4)), 5)
    spoil(neighbors.indices, neighbors.distances)
    with pytest.raises(ValueError, match=message):
        affinity_graph(neighbors, RECIPES["umap"])


@pytest.mark.parametrize("columns", [5, 30, 120])
@pytest.mark.parametrize("n", [500, 4000])
def test_pca_start_equals_that_of_the_cpu(columns, n):
    import cupy as cp

    from actup.backends._cuda.start import pca_start

    random = np.random.default_rng(3)
    X = (random.normal(size=(n, columns)) * np.geomspace(10, 0.1, columns) + 100).astype(np.float32)
    X = X @ np.linalg.qr(random.normal(size=(columns, columns)))[0].astype(np.float32)
    mine, theirs = cp.asnumpy(pca_start(cp.asarray(X), 2, 0, 1)), _coordinates.pca_start(X, 2, 0, 1)
    np.testing.assert_allclose(mine, theirs, atol=0.02 * np.abs(theirs).max())


def test_pca_start_of_too_few_columns_adds_the_same_noise():
    import cupy as cp

    from actup.backends._cuda.start import pca_start

    X = np.random.default_rng(4).normal(size=(3000, 1)).astype(np.float32)
    mine, theirs = cp.asnumpy(pca_start(cp.asarray(X), 3, 0, 1)), _coordinates.pca_start(X, 3, 0, 1)
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def ring_graph(n: int, components: int = 1) -> tuple[np.ndarray, Graph]:
    """Points on well-separated noisy rings, and their fuzzy graph."""
    random = np.random.default_rng(5)
    angle = random.uniform(0, 2 * np.pi, n)
    component = np.arange(n) % components
    X = np.stack([2 * np.cos(angle) + 100 * component, np.sin(angle), 0.01 * random.normal(size=n)], axis=1)
    return X.astype(np.float32), cpu.affinity_graph(neighbors_of(X, 14), RECIPES["umap"], 1)


def test_spectral_coordinates_are_those_of_the_cpu():
    from actup.backends._cuda.start import spectral_coordinates

    _, graph = ring_graph(4000)
    mine, theirs = spectral_coordinates(graph, 2, 0), cpu.spectral_coordinates(graph, 2, 0, 1)
    assert isinstance(mine, np.ndarray)
    overlap = np.linalg.svd(mine.T @ theirs)[1]  # of the two planes
    assert overlap.min() > 0.99


@pytest.mark.parametrize("count", [1, 2, 7])
def test_connected_components(count):
    from actup.backends._cuda.arrays import device_graph
    from actup.backends._cuda.graph import connected_components

    _, graph = ring_graph(3000, count)
    found, labels = connected_components(device_graph(graph))
    assert found == count
    np.testing.assert_array_equal(labels.get(), np.arange(3000) % count)


def test_spectral_start_of_components_equals_that_of_the_cpu():
    import cupy as cp

    from actup.backends._cuda.arrays import device_graph
    from actup.backends._cuda.start import spectral_start

    X, graph = ring_graph(900, 3)
    mine = cp.asnumpy(spectral_start(device_graph(graph), 2, 0, 1, cp.asarray(X)))
    theirs = _coordinates.spectral_start(graph, 2, 0, 1, cpu.spectral_coordinates, X)
    np.testing.assert_allclose(mine, theirs, atol=1e-3 * np.abs(theirs).max())


@pytest.mark.parametrize("extent", Extent)
def test_scale_start_equals_that_of_the_cpu(extent, monkeypatch):
    """But for the jitter, whose numbers are its own."""
    import cupy as cp

    from actup.backends._cuda.start import scale_start

    Y = np.random.default_rng(6).normal(size=(1000, 2)).astype(np.float32)
    jittered = cp.asnumpy(scale_start(cp.asarray(Y), extent, 3.0, 1))
    other_seed = cp.asnumpy(scale_start(cp.asarray(Y), extent, 3.0, 2))
    monkeypatch.setattr(_coordinates, "JITTER", 0.0)
    mine = cp.asnumpy(scale_start(cp.asarray(Y), extent, 3.0, 1))
    np.testing.assert_allclose(mine, _coordinates.scale_start(Y, extent, 3.0, 1), rtol=1e-5, atol=1e-5)
    for moves in (jittered - mine, jittered - other_seed):
        assert 1e-4 < np.abs(moves).max() < 2e-3


def test_scale_start_separates_equal_points():
    import cupy as cp

    from actup.backends._cuda.start import scale_start

    for Y in (np.ones((50_000, 2)), np.repeat(np.random.default_rng(0).normal(size=(100, 2)), 500, axis=0)):
        places = cp.asnumpy(scale_start(cp.asarray(Y, cp.float32), Extent.BOX, 10.0, 0))
        assert np.isfinite(places).all() and np.ptp(places, axis=0).max() == pytest.approx(10.0)
        assert len(np.unique(places, axis=0)) > 0.999 * len(Y)


def test_eigenvectors_that_single_out_a_few_points_are_replaced():
    """A small cluster with one weak edge to the rest is all that the leading eigenvector separates."""
    from actup.backends._cuda import start
    from actup.backends._cuda.arrays import device_graph

    random = np.random.default_rng(8)
    X = random.normal(size=(5000, 10)).astype(np.float32)
    X[4985:] = 20 + 0.01 * random.normal(size=(15, 10))
    base = cpu.affinity_graph(neighbors_of(X, 14), RECIPES["umap"], 1).to_scipy().tolil()
    base[4985, 0] = base[0, 4985] = 1e-3
    graph = Graph.from_scipy(base.tocsr())

    def spread(Y) -> np.ndarray:
        low, high = np.quantile(Y[:4985], [0.05, 0.95], axis=0)
        return (high - low) / np.ptp(Y, axis=0)

    assert spread(start.spectral_coordinates(graph, 2, 0)).min() < 0.02
    assert spread(start.spectral_start(device_graph(graph), 2, 0, 1).get()).min() > 0.2
