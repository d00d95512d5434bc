"""Losses, against full matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, pdist

from actup import quality
from actup._engine import engine
from actup.graph._records import Graph
from plain_measures import N, random_graph


def dense_losses(graph, Y, a, b):
    """KL, cross entropy, Frobenius loss and normalised Frobenius loss from full matrices."""
    w = graph.to_scipy().toarray().astype(np.float64)
    others = ~np.eye(len(Y), dtype=bool)
    d2 = (cdist(Y, Y) ** 2 + 1e-12)[others]
    q, rest = 1 / (1 + a * d2**b), a * d2**b / (1 + a * d2**b)
    r, p, q_sum = w[others] / w.max(), w[others] / w.sum(), q / q.sum()
    edge = p > 0
    kl = (p[edge] * np.log(p[edge] / q_sum[edge])).sum()
    attraction = (r[edge] * np.log(r[edge] / q[edge])).sum()
    below = r < 1
    repulsion = ((1 - r[below]) * np.log((1 - r[below]) / rest[below])).sum()
    return kl, attraction + repulsion, ((r - q) ** 2).sum(), ((p - q_sum) ** 2).sum()


@pytest.mark.parametrize("scale", [0.1, 10, 100])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1.577, 0.895), (0.6, 1.2)])
def test_losses_equal_full_matrices(rng, graph, dimensions, a, b, scale):
    Y = rng.normal(scale=scale, size=(N, dimensions)) + 50
    got = (
        quality.kl_divergence(graph, Y, a, b),
        quality.cross_entropy(graph, Y, a, b),
        quality.frobenius_loss(graph, Y, a, b),
        quality.frobenius_loss(graph, Y, a, b, normalized=True),
    )
    np.testing.assert_allclose(got, dense_losses(graph, Y, a, b), rtol=2e-5)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 15, 16, 17, 33, 1023, 1025, 2100])
def test_pair_sums_around_vector_and_tile_sizes(rng, n):
    Y = rng.normal(scale=3, size=(n, 2)).astype(np.float32)
    d2 = pdist(Y.astype(np.float64), "sqeuclidean") + 1e-12
    q = 1 / (1 + d2)
    expected = 2 * q.sum(), 2 * (q**2).sum(), 2 * np.log(d2 * q).sum()
    np.testing.assert_allclose(engine.pair_sums(Y, engine.Curve(1, 1), 2), expected, rtol=1e-5)


def test_a_perfect_map_has_no_divergence(rng):
    Y = rng.normal(size=(40, 2))
    q = 1 / (1 + cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(q, 0)
    graph = Graph.from_scipy(scipy.sparse.csr_matrix(q))
    assert quality.kl_divergence(graph, Y) == pytest.approx(0, abs=1e-6)
    assert quality.frobenius_loss(graph, Y, normalized=True) == pytest.approx(0, abs=1e-9)
    assert quality.kl_divergence(graph, Y[::-1]) > 0.1


def test_losses_are_finite_where_points_coincide(graph):
    Y = np.zeros((N, 2))
    pairs = N * (N - 1)
    assert quality.frobenius_loss(graph, Y) == pytest.approx(dense_losses(graph, Y, 1, 1)[2], rel=1e-5)
    assert quality.cross_entropy(graph, Y) == pytest.approx(dense_losses(graph, Y, 1, 1)[1], rel=1e-5)
    expected = np.log(pairs) + (lambda p: (p * np.log(p)).sum())(graph.weights / graph.weights.sum())
    assert quality.kl_divergence(graph, Y) == pytest.approx(expected, abs=1e-4)


def test_losses_do_not_depend_on_the_number_of_threads(rng):
    graph = random_graph(rng, 3000, 0.002)
    Y = rng.normal(size=(3000, 2))
    for loss in (quality.kl_divergence, quality.cross_entropy, quality.frobenius_loss):
        assert loss(graph, Y, 1.577, 0.895, n_jobs=1) == loss(graph, Y, 1.577, 0.895, n_jobs=4)
