"""Set operations on graphs, against dense NumPy."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse import random as random_sparse

from actup.graph._set_operations import fuzzy_union, intersect, reset_local_connectivity, unite


def random_graph(seed, n=40, density=0.15, symmetric=False):
    """Weights from 0 to 1; the last two points have no edge."""
    random = np.random.default_rng(seed)
    graph = random_sparse(n, n, density, random_state=random, dtype=np.float32).tolil()
    graph.setdiag(0)
    graph[-2:], graph[:, -2:] = 0, 0
    graph = csr_matrix(graph)
    return csr_matrix(graph.maximum(graph.T)) if symmetric else graph


def assert_canonical(matrix):
    assert matrix.format == "csr" and matrix.dtype == np.float32
    assert matrix.has_canonical_format and (matrix.data > 0).all()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    assert (np.diff(rows * matrix.shape[1] + matrix.indices) > 0).all()


def assert_symmetric(matrix):
    assert (matrix != matrix.T).nnz == 0


@pytest.mark.parametrize("ratio", [0, 0.25, 1])
def test_fuzzy_union(ratio):
    graph = random_graph(0)
    p = graph.toarray().astype(float)
    result = fuzzy_union(graph, ratio)
    assert_canonical(result)
    assert_symmetric(result)
    expected = ratio * (p + p.T - p * p.T) + (1 - ratio) * p * p.T
    np.testing.assert_allclose(result.toarray(), expected, atol=1e-6)


def reset_by_loops(p, reset_local_metric):
    p = p.astype(float)
    for row in p:
        if not row.any():
            continue
        row /= row.max()
        if reset_local_metric:
            low, high, power = 0.0, np.inf, 1.0
            for _ in range(32):
                excess = (row[row > 0] ** power).sum() - np.log2(15)
                if abs(excess) < 1e-5:
                    break
                low, high = (power, high) if excess > 0 else (low, power)
                power = 2 * power if np.isinf(high) else (low + high) / 2
            row[row > 0] **= power
    return p + p.T - p * p.T


@pytest.mark.parametrize("reset_local_metric", [False, True])
@pytest.mark.parametrize("density", [0.05, 0.4])
def test_reset_local_connectivity(reset_local_metric, density):
    graph = random_graph(1, density=density)
    result = reset_local_connectivity(graph, reset_local_metric, threads=2)
    assert_canonical(result)
    assert_symmetric(result)
    np.testing.assert_allclose(
        result.toarray(), reset_by_loops(graph.toarray(), reset_local_metric), atol=2e-5
    )
    has_edges = np.diff(graph.indptr) > 0
    np.testing.assert_allclose(result.max(axis=1).toarray().ravel()[has_edges], 1, rtol=1e-6)
    one = reset_local_connectivity(graph, reset_local_metric, threads=1)
    np.testing.assert_array_equal(one.data, result.data)


def intersect_by_loops(g, h, weight):
    left, right = g.toarray().astype(float), h.toarray().astype(float)
    least_left = max(g.data.min() / 2, 1e-8)
    least_right = min(max(h.data.min() / 2, 1e-8), 1e-4)
    p, q = np.where(left > 0, left, least_left), np.where(right > 0, right, least_right)
    products = p * q ** (weight / (1 - weight)) if weight < 0.5 else p ** ((1 - weight) / weight) * q
    return np.where((left > 0) | (right > 0), products, 0)


@pytest.mark.parametrize("weight", [0, 0.2, 0.5, 0.8, 1])
def test_intersect(weight):
    g, h = random_graph(2, symmetric=True), random_graph(3, symmetric=True)
    result = intersect(g, h, weight)
    assert_canonical(result)
    assert_symmetric(result)
    np.testing.assert_allclose(result.toarray(), intersect_by_loops(g, h, weight), rtol=1e-5)


def test_intersect_with_the_complement():
    g, h = random_graph(2, symmetric=True), random_graph(3, symmetric=True)
    h.data[np.isclose(h.toarray()[h.nonzero()], h.max())] = 1
    result = intersect(g, h, 0.5, right_complement=True)
    assert_canonical(result)
    assert_symmetric(result)
    np.testing.assert_allclose(result.toarray(), g.toarray() * (1 - h.toarray()), atol=1e-6)


def test_unite():
    g, h = random_graph(4), random_graph(5)
    result = unite(g, h)
    assert_canonical(result)
    left, right = g.toarray().astype(float), h.toarray().astype(float)
    p = np.where(left > 0, left, max(g.data.min() / 2, 1e-8))
    q = np.where(right > 0, right, max(h.data.min() / 2, 1e-8))
    expected = np.where((left > 0) | (right > 0), p + q - p * q, 0)
    np.testing.assert_allclose(result.toarray(), expected, atol=1e-6)
    np.testing.assert_array_equal(unite(h, g).toarray(), result.toarray())


@pytest.mark.parametrize("operation", [intersect, unite])
def test_graphs_without_edges(operation):
    empty, g = csr_matrix((40, 40), dtype=np.float32), random_graph(6)
    assert operation(empty, empty).nnz == 0
    assert np.isfinite(operation(g, empty).data).all()
    assert operation(empty, g).nnz == g.nnz
    assert reset_local_connectivity(empty, True).nnz == 0
    assert fuzzy_union(csr_matrix((0, 0), dtype=np.float32)).shape == (0, 0)


def test_inputs_of_other_forms_are_read_and_not_changed():
    g = random_graph(7)
    shuffled = coo_matrix(g)
    order = np.random.default_rng(0).permutation(g.nnz)
    shuffled = coo_matrix(
        (shuffled.data[order].astype(float), (shuffled.row[order], shuffled.col[order])), g.shape
    )
    before = shuffled.data.copy()
    np.testing.assert_array_equal(fuzzy_union(shuffled).toarray(), fuzzy_union(g).toarray())
    np.testing.assert_array_equal(shuffled.data, before)
    kept = g.data.copy()
    for each in (fuzzy_union(g, 0.5), reset_local_connectivity(g, True), intersect(g, g), unite(g, g)):
        assert each is not g
    np.testing.assert_array_equal(g.data, kept)


def test_what_cannot_be_combined_is_rejected():
    g = random_graph(8)
    with pytest.raises(ValueError, match="40 and 5 points"):
        intersect(g, csr_matrix((5, 5), dtype=np.float32))
    with pytest.raises(ValueError, match="square"):
        fuzzy_union(csr_matrix((5, 4), dtype=np.float32))
    with pytest.raises(ValueError, match="mix_weight="):
        intersect(g, g, 1.5)
    with pytest.raises(ValueError, match="mix_ratio=-1"):
        fuzzy_union(g, -1)
