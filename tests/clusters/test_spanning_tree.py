"""Spanning trees against exact ones of all pairs, and their bits at any thread count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.sparse import random as random_sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist, squareform

from actup import Graph
from actup._engine import engine


def mutual_reachability(distances: np.ndarray, min_samples: int) -> tuple[np.ndarray, np.ndarray]:
    cores = np.sort(distances, axis=1)[:, min_samples - 1]
    return np.maximum(distances, np.maximum.outer(cores, cores)), cores


def places(kind: str, n: int, dimensions: int) -> np.ndarray:
    rng = np.random.default_rng(n + 17 * dimensions)
    Y = rng.normal(size=(n, dimensions)) + 6 * rng.integers(0, 3, (n, 1))
    if kind == "lattice":  # many equal distances, and duplicates
        return np.round(Y)
    if kind == "equal":
        return np.full_like(Y, 0.3)
    if kind == "collinear":
        return np.outer(Y[:, 0], np.arange(1.0, dimensions + 1))
    return Y


@pytest.mark.parametrize("kind", ["clusters", "lattice", "equal", "collinear"])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("n", [2, 3, 9, 60, 400])
def test_the_tree_of_a_map_is_a_minimum_spanning_tree(kind, dimensions, n):
    Y = places(kind, n, dimensions)
    for min_samples in {1, 2, min(n, 5), min(n, 40)}:
        a, b, lengths, cores = engine.reachability_tree(Y, min_samples, 2)
        distances, expected_cores = mutual_reachability(cdist(Y, Y), min_samples)
        np.testing.assert_allclose(cores, expected_cores, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(lengths, distances[a, b], rtol=1e-9, atol=1e-12)
        np.fill_diagonal(distances, 0)
        expected = linkage(squareform(distances, checks=False), "single")[:, 2]
        np.testing.assert_allclose(lengths, expected, rtol=1e-9, atol=1e-12)
        edges = np.zeros((n, n))
        edges[a, b] = 1
        assert connected_components(edges, directed=False)[0] == 1


@pytest.mark.parametrize("kind", ["clusters", "lattice", "equal"])
def test_the_tree_has_the_same_bits_at_any_thread_count(kind):
    Y = places(kind, 6000, 2)
    one = engine.reachability_tree(Y, 10, 1)
    for threads in (2, 3, 8):
        for expected, found in zip(one, engine.reachability_tree(Y, 10, threads), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_many_duplicates_take_no_longer_than_other_points():
    """A search that visited all points at distance 0 would take minutes."""
    Y = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 20_000, axis=0)
    lengths = engine.reachability_tree(Y, 10, 2)[2]
    assert np.count_nonzero(lengths) == 2


def test_one_point_has_a_tree_without_edges():
    a, b, lengths, cores = engine.reachability_tree(np.zeros((1, 2)), 1, 2)
    assert len(a) == len(b) == len(lengths) == 0 and cores.tolist() == [0]


def random_graph(n: int, density: float) -> Graph:
    rng = np.random.default_rng(n)
    upper = random_sparse(n, n, density, random_state=rng, data_rvs=lambda k: rng.integers(1, 9, k) / 8)
    return Graph.from_scipy(upper.maximum(upper.T))


@pytest.mark.parametrize(("n", "density"), [(2, 0.0), (30, 0.2), (150, 0.05), (150, 0.004)])
@pytest.mark.parametrize("min_samples", [1, 3, 8])
def test_the_tree_of_a_graph_is_a_minimum_spanning_tree(n, density, min_samples):
    graph = random_graph(n, density)
    a, b, lengths, cores = engine.graph_tree(graph.offsets, graph.indices, graph.weights, min_samples, 2)
    W = graph.to_scipy().toarray().astype(np.float64)
    paths = (W + np.eye(n)) @ (W + np.eye(n))
    distances = np.where(W > 0, 1 / np.where(W > 0, paths, 1), np.inf)
    rows = [np.sort(row[np.isfinite(row)]) for row in distances]
    rank = min_samples - 2
    expected_cores = [row[min(rank, len(row) - 1)] if rank >= 0 and len(row) else 0 for row in rows]
    np.testing.assert_allclose(cores, expected_cores)
    reachable = np.maximum(distances, np.maximum.outer(expected_cores, expected_cores))
    sparse_tree = minimum_spanning_tree(np.where(np.isfinite(reachable), reachable, 0))
    finite = np.isfinite(lengths)
    np.testing.assert_allclose(lengths[finite], np.sort(sparse_tree.data))
    np.testing.assert_allclose(lengths[finite], reachable[a[finite], b[finite]])
    assert np.count_nonzero(~finite) == connected_components(W)[0] - 1
    assert len(lengths) == n - 1
