"""What the start asks the engine of a graph: whether it is connected, and the weights of its rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from actup._engine import engine


def edges_of(matrix):
    matrix = sparse.csr_matrix(matrix)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


@pytest.mark.parametrize("edges", [0, 5, 20, 60, 100, 150, 300])
@pytest.mark.parametrize("seed", range(6))
def test_connected_as_in_scipy(edges, seed):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 40, (2, edges))
    matrix = sparse.coo_matrix((np.ones(edges), ends), shape=(40, 40)).tocsr()
    matrix = matrix + matrix.T
    assert engine.is_connected(*edges_of(matrix)) == (connected_components(matrix)[0] == 1)


def test_a_path_whose_first_edges_lead_elsewhere():
    """The edge that joins two halves comes after the first edges of its points."""
    matrix = np.zeros((20, 20))
    matrix[:10, :10] = matrix[10:, 10:] = 1
    np.fill_diagonal(matrix, 0)
    assert not engine.is_connected(*edges_of(matrix))
    matrix[9, 19] = matrix[19, 9] = 1
    assert engine.is_connected(*edges_of(matrix))


@pytest.mark.parametrize(("n", "connected"), [(0, True), (1, True), (2, False)])
def test_points_without_edges(n, connected):
    assert engine.is_connected(*edges_of(sparse.csr_matrix((n, n)))) == connected


def test_degrees():
    matrix = sparse.random(50, 50, 0.2, format="csr", dtype=np.float32, random_state=0)
    degrees = engine.degrees(*edges_of(matrix), matrix.data)
    np.testing.assert_allclose(degrees, matrix.sum(axis=1).A1, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 300_000])
def test_values_that_are_not_finite_are_found(dtype, threads, n):
    values = np.full(n, np.finfo(dtype).max, dtype)
    assert engine.all_finite(values, threads)
    for bad in (np.nan, np.inf, -np.inf):
        for at in {0, n // 2, n - 1} if n else ():
            values[at] = bad
            assert not engine.all_finite(values, threads)
            values[at] = 1
