"""On graphs in which few points have very many edges, no point lands far outside the map."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_matrix

from actup import embed, preset
from actup.graph._records import Graph
from actup.recipe._switches import Initialization

PRESETS = ["umap", "sampled_umap", "gdr_umap", "sampled_gdr_umap"]
NORMALIZED = ["tsne", "gdr_tsne"]
DATA = os.environ.get("ACTUP_DATA")


def graph_from(n, heads, tails, weights):
    matrix = coo_matrix((np.float32(weights), (heads, tails)), (n, n)).tocsr()
    return Graph.from_scipy(matrix.maximum(matrix.T))


def star(n):
    """One point with an edge to every other."""
    return graph_from(n, np.zeros(n - 1, int), np.arange(1, n), np.ones(n - 1))


def power_law(n, edges_per_point=10):
    """Points choose others with a probability proportional to 1/rank: the first has edges to most others."""
    random = np.random.default_rng(n)
    popularity = 1 / np.arange(1.0, n + 1)
    tails = random.choice(n, n * edges_per_point, p=popularity / popularity.sum())
    heads = np.repeat(np.arange(n), edges_per_point)
    distinct = heads != tails
    return graph_from(n, heads[distinct], tails[distinct], random.uniform(0.05, 1, distinct.sum()))


def relative_max_radius(Y):
    """The largest distance of a point from the median, relative to the 99 % quantile."""
    radius = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    return radius.max() / np.quantile(radius, 0.99)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("initialization", [Initialization.SPECTRAL, Initialization.RANDOM])
@pytest.mark.parametrize(
    "graph", [star(300), star(5000), power_law(3000)], ids=["small_star", "large_star", "power_law"]
)
def test_hubs_leave_no_point_far_outside_the_map(graph, initialization, name):
    recipe = preset(name).but(initialization=initialization)
    Y = embed(None, recipe, graph=graph, seed=0).embedding
    assert np.isfinite(Y).all()
    assert relative_max_radius(Y) < 1.5


@pytest.mark.parametrize("name", NORMALIZED)
@pytest.mark.parametrize("graph", [star(300), power_law(3000)], ids=["small_star", "power_law"])
def test_hubs_leave_no_point_far_outside_normalized_maps(graph, name):
    Y = embed(None, preset(name).but(initialization="spectral"), graph=graph, seed=0).embedding
    assert relative_max_radius(Y) < 1.5


@pytest.mark.parametrize("name", NORMALIZED)
def test_large_star_from_a_random_start_in_normalized_maps(name):
    Y = embed(None, preset(name).but(initialization="random"), graph=star(5000), seed=0).embedding
    assert relative_max_radius(Y) < 1.5


@pytest.mark.parametrize("dimensions", [1, 3])
@pytest.mark.parametrize("name", PRESETS + NORMALIZED)
def test_hubs_leave_no_point_far_outside_maps_in_one_and_three_dimensions(name, dimensions):
    Y = embed(None, preset(name).but(n_components=dimensions), graph=power_law(3000), seed=0).embedding
    assert relative_max_radius(Y) < 1.5


def points_of(name):
    """10,000 points of a data set in the folder that ACTUP_DATA names."""
    path = Path(DATA or "") / f"{name}.npz"
    if not DATA or not path.exists():
        pytest.skip(f"{name}.npz is not in the folder that ACTUP_DATA names")
    with np.load(path) as archive:
        X = archive["X"][:10_000]
    return X.reshape(len(X), -1).astype(np.float32)


@pytest.mark.parametrize("name", ["umap", "sampled_umap", "gdr_umap", *NORMALIZED])
@pytest.mark.parametrize(
    ("data", "metric"),
    [("glove_50k_100d", "cosine"), ("glove_50k_100d", "euclidean"), ("coil100_32", "euclidean")],
)
def test_hubs_of_real_data_leave_no_point_far_outside_the_map(data, metric, name):
    Y = embed(points_of(data), preset(name).but(metric=metric), seed=0).embedding
    assert relative_max_radius(Y) < 1.5
