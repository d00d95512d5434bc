"""Distances keep their digits: high powers, far from 0, at every scale, beside large values."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from actup.neighbors import NeighborIndex, nearest_neighbors


@pytest.mark.parametrize("p", [2.5, 4, 5, 10, 30])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_minkowski_of_any_power_and_scale(p, scale):
    X = (np.random.default_rng(0).random((300, 5)) * scale).astype(np.float32)
    wide = X.astype(np.float64) / scale  # or SciPy's powers would be 0
    expected = cdist(wide, wide, "minkowski", p=p) * scale
    np.fill_diagonal(expected, np.inf)
    for rows in (X, sparse.csr_matrix(X)) if p <= 4 else (X,):
        found = nearest_neighbors(rows, 4, metric="minkowski", metric_kwds={"p": p})
        np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :4], rtol=1e-5)
        asked = NeighborIndex(rows, metric="minkowski", metric_kwds={"p": p}).query(rows[:9], 5)
        np.testing.assert_allclose(asked.distances[:, 1:], found.distances[:9], rtol=1e-5)


@pytest.mark.parametrize("p", [3, 4, 6, 30])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_minkowski_beside_a_large_column(p, form):
    """Which adds nothing to a distance, and must not make others vanish."""
    X = np.random.default_rng(0).random((500, 6)).astype(np.float32)
    X[:, 0] = 9_021
    if p > 4 and form is sparse.csr_matrix:
        with pytest.raises(ValueError, match=f"metric='minkowski', p={p}, has no form for sparse X"):
            nearest_neighbors(form(X), 3, metric="minkowski", metric_kwds={"p": p})
        return
    wide = X[:, 1:].astype(np.float64)
    expected = cdist(wide, wide, "minkowski", p=p)
    np.fill_diagonal(expected, np.inf)
    found = nearest_neighbors(form(X), 3, metric="minkowski", metric_kwds={"p": p})
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :3], rtol=1e-5)


def test_high_powers_of_short_types():
    X = np.full((20, 3), -128, np.int8)
    options = {"metric": "minkowski", "metric_kwds": {"p": 10}}
    found = NeighborIndex(X, **options).query(np.zeros((1, 3), np.int8), 2)
    np.testing.assert_allclose(found.distances, 128 * 3**0.1, rtol=1e-6)
    H = (1000 + np.random.default_rng(0).integers(0, 8, size=(200, 3)) * 0.5).astype(np.float16)
    short = nearest_neighbors(H, 4, **options)
    np.testing.assert_array_equal(
        short.indices, nearest_neighbors(H.astype(np.float64), 4, **options).indices
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("algorithm", ["exact", "approximate"])
def test_products_with_rows_longer_than_all_points(form, algorithm):
    X = np.random.default_rng(0).random((600, 6)).astype(np.float32)
    rows = 5 * X[:20]
    products = rows.astype(np.float64) @ X.T.astype(np.float64)
    lengths = (rows**2).sum(axis=1, dtype=np.float64), (X**2).sum(axis=1, dtype=np.float64).max()
    expected = np.sort((np.maximum(*lengths) + lengths[1])[:, None] / 2 - products, axis=1)[:, :4]
    index = NeighborIndex(form(X), metric="inner_product", algorithm=algorithm)
    found = index.query(form(rows), 4)
    if algorithm == "exact":
        np.testing.assert_allclose(found.distances, expected, rtol=1e-4)
    assert np.mean(found.distances <= expected[:, -1:] * (1 + 1e-4)) > 0.95


def test_minkowski_of_small_rows_by_candidates():
    X = (np.random.default_rng(0).random((5000, 8)) * 1e-4).astype(np.float32)
    options = {"metric": "minkowski", "metric_kwds": {"p": 4}}
    found = nearest_neighbors(X, 5, algorithm="approximate", **options)
    exact = nearest_neighbors(X, 5, algorithm="exact", **options)
    assert found.engine == "proxy"
    assert np.mean(found.distances <= exact.distances[:, -1:] * (1 + 1e-4)) > 0.96


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"p": 10, "q": 1},
            ValueError,
            "metric_kwds has 'q', but the parameters of metric='minkowski' are: p, w",
        ),
        ({"p": 1000}, ValueError, "p=1000 leaves the range of floats: use p=inf"),
        ({"p": 0}, ValueError, "p=0 must be a number above 0"),
        ("p=3", TypeError, "metric_kwds='p=3' must be a dict"),
    ],
)
def test_wrong_powers(parameters, error, message):
    X = np.random.default_rng(0).random((30, 5))
    with pytest.raises(error, match=re.escape(message)):
        nearest_neighbors(X, 4, metric="minkowski", metric_kwds=parameters)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "hellinger", "seuclidean", "euclidean"])
@pytest.mark.parametrize(("offset", "scale"), [(3000, 1.0), (0, 1e-25), (0, 1e15)])
def test_sparse_rows_lose_no_digits(metric, offset, scale):
    """Far from 0, where squares drown differences, and at scales whose squares no float has."""
    X = ((np.random.default_rng(0).random((600, 24)) + offset) * scale).astype(np.float32)
    options = {"metric": metric, "algorithm": "exact"}
    dense, rows = nearest_neighbors(X, 10, **options), nearest_neighbors(sparse.csr_matrix(X), 10, **options)
    same = [len(set(a) & set(b)) for a, b in zip(dense.indices, rows.indices, strict=True)]
    assert np.mean(same) > 9.95


def test_hyperbolic_distances_of_near_points():
    X = 0.5 + np.random.default_rng(0).normal(size=(200, 2)) * 1e-7
    inside = 1 - (X**2).sum(axis=1)
    expected = 2 * cdist(X, X) / np.sqrt(np.outer(inside, inside))  # to second order
    np.fill_diagonal(expected, np.inf)
    found = nearest_neighbors(X, 5, metric="poincare")
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :5], rtol=1e-5)
