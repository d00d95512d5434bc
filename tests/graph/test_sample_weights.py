"""Weights of samples as factors of edges."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup.backends import load_backend
from actup.graph._records import Graph
from actup.graph._sample_weights import apply_sample_weights
from actup.neighbors import nearest_neighbors
from actup.recipe._recipe import Recipe

N = 200


@pytest.fixture(scope="module")
def graph():
    return load_backend("cpu").affinity_graph(nearest_neighbors(load_digits().data[:N], 14), Recipe(), 1)


def dense(graph):
    return graph.to_scipy().toarray().astype(float)


@pytest.mark.parametrize("value", [1, 1.0, 0.1, 7])
def test_equal_weights_change_nothing(graph, value):
    assert apply_sample_weights(graph, np.full(N, value)) is graph


def test_formula_and_symmetry(graph):
    w = np.random.default_rng(0).uniform(0.2, 5, N)
    weighted = apply_sample_weights(graph, w)
    np.testing.assert_array_equal(apply_sample_weights(graph, 4 * w).weights, weighted.weights)  # relative
    W, w = dense(graph), w / w.mean()
    means = W @ w / W.sum(axis=1)
    shares = W * w / means[:, None]  # every row shares out its old total in proportion to the weights
    np.testing.assert_allclose(shares.sum(axis=1), W.sum(axis=1))
    expected = (w[:, None] * shares + (w[:, None] * shares).T) / 2
    np.testing.assert_allclose(dense(weighted), expected, rtol=1e-5)
    matrix = weighted.to_scipy()
    assert (matrix != matrix.T).nnz == 0


def test_a_whole_component_of_weight_w_counts_w_times(graph):
    n = len(graph)
    two = Graph.from_scipy(np.kron(np.eye(2), dense(graph)))
    weighted = dense(apply_sample_weights(two, np.r_[np.ones(n), 3 * np.ones(n)]))
    np.testing.assert_allclose(weighted[n:, n:], 3 * weighted[:n, :n], rtol=1e-5)
    np.testing.assert_allclose(weighted[:n, :n] * 2, dense(graph), rtol=1e-5)  # the mean weight is 2


def test_an_integer_weight_is_a_multiplicity():
    """Rows share out one unit in proportion to a kernel; repetitions of a point are not neighbours."""
    random = np.random.default_rng(1)
    kernel = random.uniform(size=(12, 12))
    kernel = kernel + kernel.T
    np.fill_diagonal(kernel, 0)
    times = random.integers(1, 4, 12)
    owner = np.repeat(np.arange(12), times)
    repeated = kernel[np.ix_(owner, owner)]

    def joint(similarities):
        shares = similarities / similarities.sum(axis=1, keepdims=True)
        return shares + shares.T

    groups = np.zeros((12, len(owner)))
    groups[owner, np.arange(len(owner))] = 1
    expected = groups @ joint(repeated) @ groups.T
    single = kernel / kernel.sum(axis=1, keepdims=True)
    found = dense(apply_sample_weights(Graph.from_scipy(single + single.T), times))
    found, expected = found / found.sum(), expected / expected.sum()
    unweighted = (single + single.T) / (single + single.T).sum()
    assert np.abs(found - expected).max() < 0.1 * np.abs(unweighted - expected).max()


def test_points_of_weight_zero_have_no_edges(graph):
    w = np.ones(N)
    w[:20] = 0
    weighted = apply_sample_weights(graph, w)
    assert (np.diff(weighted.offsets)[:20] == 0).all()
    assert not np.isin(weighted.indices, np.arange(20)).any()
    assert np.isfinite(weighted.weights).all() and (weighted.weights > 0).all()
    weighted.check_structure()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(N - 1), "shape"),
        (np.ones((N, 1)), "shape"),
        (np.r_[-1, np.ones(N - 1)], "at least 0"),
        (np.r_[np.nan, np.ones(N - 1)], "NaN"),
        (np.r_[np.inf, np.ones(N - 1)], "infinite"),
        (np.zeros(N), "zero for all"),
    ],
)
def test_unusable_weights_are_rejected(graph, weights, message):
    with pytest.raises(ValueError, match=f"sample_weight.*{message}"):
        apply_sample_weights(graph, weights)


def test_weights_that_are_no_numbers_are_rejected(graph):
    with pytest.raises(TypeError, match="sample_weight"):
        apply_sample_weights(graph, ["heavy"] * N)
