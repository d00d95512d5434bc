"""Local radii of data and map, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import load_backend
from actup.graph._radii import edge_lengths, local_radii, map_radii, standardize
from actup.graph._records import Graph, Neighbors
from actup.recipe._presets import preset
from variations import clustered_points, graph_of, neighbors_of, start_of

N = 61
RECIPE = preset("umap")


def radius(weights: list[float], distances: list[float]) -> float:
    squared = np.square(distances)
    return float(np.log(1e-8 + np.dot(weights, squared) / np.sum(weights)))


def radii_of(graph: Graph, neighbors: Neighbors) -> np.ndarray:
    return local_radii(graph, edge_lengths(graph, neighbors))


def test_local_radii_equal_a_loop_over_the_edges():
    graph = graph_of(N, RECIPE)
    found = radii_of(graph, neighbors_of(N, RECIPE.neighbors_searched(N), RECIPE.metric))
    X = clustered_points(N).astype(np.float64)
    for i in range(N):
        edges = slice(graph.offsets[i], graph.offsets[i + 1])
        distances = [np.linalg.norm(X[i] - X[j]) for j in graph.indices[edges]]
        assert found[i] == pytest.approx(radius(graph.weights[edges], distances), rel=1e-4)
    assert found.dtype == np.float32


def test_an_edge_that_one_side_knows_has_the_distance_of_that_side():
    neighbors = Neighbors(np.array([[1], [0], [0]]), np.array([[1.0], [1.0], [3.0]]))
    weights = np.array([[0, 1, 0.5], [1, 0, 0], [0.5, 0, 0]])
    found = radii_of(Graph.from_scipy(weights), neighbors)
    wanted = [radius([1, 0.5], [1, 3]), radius([1], [1]), radius([0.5], [3])]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_duplicates_have_a_finite_radius_and_points_without_edges_none():
    neighbors = Neighbors(np.array([[1], [0], [0]]), np.array([[0.0], [0.0], [2.0]]))
    weights = np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    found = radii_of(Graph.from_scipy(weights), neighbors)
    np.testing.assert_allclose(found[:2], np.log(1e-8), rtol=1e-6)
    assert np.isnan(found[2])
    standardized = standardize(found)
    np.testing.assert_array_equal(standardized, 0)


def test_a_graph_of_other_neighbors_is_rejected():
    neighbors = Neighbors(np.array([[1], [0], [0]]), np.ones((3, 1)))
    with pytest.raises(ValueError, match="points 1 and 2"):
        radii_of(Graph.from_scipy(np.ones((3, 3))), neighbors)


def test_map_radii_equal_a_loop_over_the_edges():
    graph, Y, (a, b) = graph_of(N, RECIPE), start_of(N, 2), RECIPE.kernel()
    found = map_radii(graph, Y, a, b)
    for i in range(N):
        ids = graph.indices[graph.offsets[i] : graph.offsets[i + 1]]
        distances = np.linalg.norm(np.float64(Y[i]) - Y[ids], axis=1)
        assert found[i] == pytest.approx(radius(1 / (1 + a * distances ** (2 * b)), distances), rel=1e-5)


def test_standardized_radii_have_mean_0_and_deviation_1():
    radii = np.float32([1, 5, np.nan, 2, 9])
    standardized = standardize(radii)
    known = standardized[[0, 1, 3, 4]]
    assert standardized[2] == 0
    assert known.mean() == pytest.approx(0, abs=1e-6)
    assert known.std() == pytest.approx(1, rel=1e-6)
    assert standardized.dtype == np.float32


def test_radii_of_the_cpu_graph():
    X = clustered_points(200)
    cpu = load_backend("cpu")
    neighbors = cpu.nearest_neighbors(X, 14, "euclidean", 1)
    graph = cpu.affinity_graph(neighbors, RECIPE, 1)
    assert np.isfinite(radii_of(graph, neighbors)).all()
