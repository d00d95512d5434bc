"""Distances keep their precision: high powers, far from 0, at every scale, beside large values."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from actup import UMAP
from actup.neighbors import NeighborIndex, nearest_neighbors

FORMS = [np.asarray, sparse.csr_matrix]


@pytest.mark.parametrize("p", [2.5, 4, 5, 10, 30])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_minkowski_of_any_power_and_scale(p, scale):
    X = (np.random.default_rng(0).random((300, 5)) * scale).astype(np.float32)
    wide = X.astype(np.float64) / scale  # otherwise SciPy's powers underflow
    expected = cdist(wide, wide, "minkowski", p=p) * scale
    np.fill_diagonal(expected, np.inf)
    for rows in (X, sparse.csr_matrix(X)) if p <= 4 else (X,):
        found = nearest_neighbors(rows, 4, metric="minkowski", metric_kwds={"p": p})
        np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :4], rtol=1e-5)
        queried = NeighborIndex(rows, metric="minkowski", metric_kwds={"p": p}).query(rows[:9], 5)
        np.testing.assert_allclose(queried.distances[:, 1:], found.distances[:9], rtol=1e-5)


@pytest.mark.parametrize("p", [3, 4, 6, 30])
@pytest.mark.parametrize("form", FORMS)
def test_minkowski_keeps_its_precision_beside_a_large_constant_column(p, form):
    """A large constant column adds nothing to a distance and must not drown the other columns."""
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


def test_high_minkowski_powers_of_small_dtypes():
    X = np.full((20, 3), -128, np.int8)
    options = {"metric": "minkowski", "metric_kwds": {"p": 10}}
    found = NeighborIndex(X, **options).query(np.zeros((1, 3), np.int8), 2)
    np.testing.assert_allclose(found.distances, 128 * 3**0.1, rtol=1e-6)
    H = (1000 + np.random.default_rng(0).integers(0, 8, size=(200, 3)) * 0.5).astype(np.float16)
    small = nearest_neighbors(H, 4, **options)
    np.testing.assert_array_equal(
        small.indices, nearest_neighbors(H.astype(np.float64), 4, **options).indices
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("algorithm", ["exact", "approximate"])
def test_inner_products_of_queries_longer_than_all_points(form, algorithm):
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


def test_minkowski_of_small_values_by_proxy_search():
    X = (np.random.default_rng(0).random((5000, 8)) * 1e-4).astype(np.float32)
    options = {"metric": "minkowski", "metric_kwds": {"p": 4}}
    found = nearest_neighbors(X, 5, algorithm="approximate", **options)
    exact = nearest_neighbors(X, 5, algorithm="exact", **options)
    assert found.method == "proxy"
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
def test_invalid_minkowski_parameters_are_rejected(parameters, error, message):
    X = np.random.default_rng(0).random((30, 5))
    with pytest.raises(error, match=re.escape(message)):
        nearest_neighbors(X, 4, metric="minkowski", metric_kwds=parameters)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "hellinger", "seuclidean", "euclidean"])
@pytest.mark.parametrize(("offset", "scale"), [(3000, 1.0), (0, 1e-25), (0, 1e15)])
def test_sparse_rows_keep_the_precision_of_dense_rows(metric, offset, scale):
    """Far from 0, where squares drown differences, and at scales whose squares overflow or underflow."""
    X = ((np.random.default_rng(0).random((600, 24)) + offset) * scale).astype(np.float32)
    options = {"metric": metric, "algorithm": "exact"}
    dense, rows = nearest_neighbors(X, 10, **options), nearest_neighbors(sparse.csr_matrix(X), 10, **options)
    same = [len(set(a) & set(b)) for a, b in zip(dense.indices, rows.indices, strict=True)]
    assert np.mean(same) > 9.95


def test_poincare_distances_of_close_points():
    X = 0.5 + np.random.default_rng(0).normal(size=(200, 2)) * 1e-7
    inside = 1 - (X**2).sum(axis=1)
    expected = 2 * cdist(X, X) / np.sqrt(np.outer(inside, inside))  # to second order
    np.fill_diagonal(expected, np.inf)
    found = nearest_neighbors(X, 5, metric="poincare")
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :5], rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("algorithm", ["exact", "approximate"])
@pytest.mark.parametrize(
    ("metric", "parameters"), [("euclidean", {}), ("cityblock", {}), ("minkowski", {"p": 3})]
)
def test_queries_are_unaffected_by_a_huge_query(metric, parameters, algorithm, form):
    """The answers of the other queries do not change, and that of the huge query is right."""
    X = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    rows = X[:3] + np.float32(0.1)
    rows[1] = 1e25
    index = NeighborIndex(form(X), metric=metric, metric_kwds=parameters, algorithm=algorithm)
    found = index.query(form(rows), 3)
    for row in (0, 2):
        alone = index.query(form(rows[row : row + 1]), 3)
        np.testing.assert_array_equal(found.distances[row], alone.distances[0])
        np.testing.assert_array_equal(found.indices[row], alone.indices[0])
    wide = rows[1:2].astype(np.float64) / 1e25
    expected = np.sort(cdist(wide, X.astype(np.float64) / 1e25, metric, **parameters))[0, :3] * 1e25
    np.testing.assert_allclose(found.distances[1], expected, rtol=1e-5)


def test_sparse_queries_may_share_the_data_array_of_the_points():
    X = sparse.random(60, 50, 0.2, format="csr", random_state=1, dtype=np.float32)
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(60, 60))
    rows = sparse.csr_matrix((X.data, X.indices + 10, X.indptr), shape=(60, 60))
    index = NeighborIndex(X)
    np.testing.assert_array_equal(index.query(rows, 3).distances, index.query(rows.copy(), 3).distances)
    more = sparse.csr_matrix((X.data, np.zeros_like(X.indices), np.arange(X.nnz + 1)), shape=(X.nnz, 60))
    expected = np.sort(cdist(more.toarray().astype(float), X.toarray().astype(float)), axis=1)[:, :2]
    np.testing.assert_allclose(index.query(more, 2).distances, expected, rtol=1e-5)


@pytest.mark.parametrize(("p", "largest"), [(4, 1e10), (4, 1e5), (3, 1e12), (3, 1e6), (1.9, 1e18)])
def test_minkowski_keeps_its_precision_beside_a_huge_row(p, largest):
    X = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    X[100] = largest
    wide = X.astype(np.float64)
    expected = cdist(wide, wide, "minkowski", p=p)
    np.fill_diagonal(expected, np.inf)
    options = {"metric": "minkowski", "metric_kwds": {"p": p}}
    found = nearest_neighbors(X, 2, **options)
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :2], rtol=2e-5)
    queried = NeighborIndex(X, **options).query(X[:9], 3)
    np.testing.assert_allclose(queried.distances[:, 1:], found.distances[:9], rtol=2e-5)


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [("euclidean", {}), ("seuclidean", {"V": np.ones(12)}), ("mahalanobis", {"VI": np.eye(12)})],
)
def test_approximate_search_beside_a_huge_row(metric, parameters):
    X = np.random.default_rng(0).normal(size=(5000, 12)).astype(np.float32)
    X[1001] = 1e20
    options = {"metric": metric, "metric_kwds": parameters}
    found = nearest_neighbors(X, 3, algorithm="approximate", **options)
    np.testing.assert_allclose(found.distances[1001], 1e20 * np.sqrt(12), rtol=1e-5)
    assert 1001 not in found.indices[1001]
    queried = NeighborIndex(X, algorithm="approximate", **options).query(X[1000:1003], 1)
    np.testing.assert_array_equal(queried.distances, 0)


def test_seuclidean_ignores_columns_constant_up_to_rounding():
    X = np.random.default_rng(0).normal(size=(3000, 6))
    X[:, 2] = 1 / 3
    varied = np.delete(X, 2, axis=1)
    expected = cdist(varied, varied, "seuclidean", V=varied.var(axis=0, ddof=1))
    np.fill_diagonal(expected, np.inf)
    for form in (np.asarray, sparse.csr_matrix):
        found = nearest_neighbors(form(X), 3, metric="seuclidean")
        np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :3], rtol=1e-5)


def test_seuclidean_factors_outside_the_range_of_float32():
    X = (np.random.default_rng(0).normal(size=(400, 4)) * 1e30).astype(np.float32)
    wide = X.astype(np.float64)
    expected = cdist(wide, wide) / 1e45
    np.fill_diagonal(expected, np.inf)
    for rows in (X, wide, sparse.csr_matrix(X)):
        found = nearest_neighbors(rows, 3, metric="seuclidean", metric_kwds={"V": np.full(4, 1e90)})
        np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :3], rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mahalanobis_keeps_its_precision_far_from_zero(dtype):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    X = (X + 1e4).astype(np.float32).astype(dtype)
    wide = X.astype(np.float64)
    VI = np.linalg.inv(np.cov(wide.T))
    expected = cdist(wide, wide, "mahalanobis", VI=VI)
    np.fill_diagonal(expected, np.inf)
    options = {"metric": "mahalanobis", "metric_kwds": {"VI": VI}}
    found = nearest_neighbors(X, 5, algorithm="exact", **options)
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :5], rtol=1e-5)
    found = nearest_neighbors(X, 5, algorithm="approximate", **options)
    true = np.take_along_axis(expected, found.indices.astype(np.int64), 1)
    np.testing.assert_allclose(found.distances, true, rtol=1e-4)


def test_dense_queries_of_a_sparse_index_keep_full_precision():
    X = np.random.default_rng(0).normal(size=(300, 4)) + 1e7
    index = NeighborIndex(sparse.csr_matrix(X), metric="seuclidean")
    np.testing.assert_array_equal(index.query(X[:3], 1).distances, 0)


def test_zero_weights_at_infinite_minkowski_power():
    X = np.array([[0, 0], [100, 1], [1, 2], [50, 3]], np.float32)
    found = nearest_neighbors(X, 3, metric="minkowski", metric_kwds={"p": np.inf, "w": [0, 1]})
    np.testing.assert_array_equal(found.distances[0], [1, 2, 3])


def test_inner_products_keep_the_precision_of_small_differences():
    X = (100 + np.random.default_rng(0).normal(size=(6000, 20))).astype(np.float32)
    exact = nearest_neighbors(X, 5, metric="inner_product", algorithm="exact")
    found = nearest_neighbors(X, 5, metric="inner_product", algorithm="approximate")
    wide = X.astype(np.float64)
    expected = (wide**2).sum(axis=1).max() - np.einsum("ij,ikj->ik", wide, wide[found.indices])
    np.testing.assert_allclose(found.distances, expected, rtol=2e-6)
    np.testing.assert_allclose(found.distances[:, 0], exact.distances[:, 0], rtol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_hamming_distinguishes_values_that_are_equal_in_float32(dtype, form):
    X = np.random.default_rng(0).integers(0, 4, (300, 6)) + 2**24
    X = X.astype(dtype)
    X[:, 2] -= 2**24
    expected = cdist(X, X, "hamming")
    queried = NeighborIndex(form(X), metric="hamming").query(form(X), 9)
    np.testing.assert_allclose(queried.distances, np.sort(expected, axis=1)[:, :9], rtol=1e-6)
    np.fill_diagonal(expected, np.inf)
    found = nearest_neighbors(form(X), 8, metric="hamming")
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :8], rtol=1e-6)
    with pytest.raises(ValueError, match="X_new has values that float32 changes"):
        NeighborIndex(form(X - 2**24), metric="hamming").query(form(X), 8)


def test_hamming_queries_with_unknown_values_equal_no_point():
    X = np.array([[0.1, 0], [0.1 + 1e-12, 1], [0.3, 2]])
    index = NeighborIndex(X, metric="hamming")
    np.testing.assert_array_equal(index.query(X, 1).distances, 0)
    np.testing.assert_array_equal(index.query(X[:1], 1).distances, 0)
    np.testing.assert_array_equal(index.query([[0.1 - 1e-12, 0], [7.7, 9]], 1).distances, [[0.5], [1]])


@pytest.mark.parametrize("form", FORMS)
def test_presence_metrics_count_values_that_underflow_float32(form):
    present = np.random.default_rng(0).random((400, 9)) < 0.5
    tiny = np.where(present, 1e-60, 0)
    expected = nearest_neighbors(present, 5, metric="jaccard")
    found = nearest_neighbors(form(tiny), 5, metric="jaccard")
    np.testing.assert_array_equal(found.indices, expected.indices)
    queried = NeighborIndex(form(tiny), metric="jaccard").query(form(tiny[:9]), 1)
    np.testing.assert_array_equal(queried.distances, 0)


@pytest.mark.parametrize("form", FORMS)
def test_queries_that_underflow_float32_are_handled_row_by_row(form):
    X = np.random.default_rng(0).normal(size=(400, 9))
    new = np.concatenate([X[:1], 1e-50 * X[1:2]])
    euclidean = NeighborIndex(form(X))
    alone, together = euclidean.query(form(new[1:]), 3), euclidean.query(form(new), 3)
    np.testing.assert_array_equal(alone.indices, together.indices[1:])
    cosine = NeighborIndex(form(X), metric="cosine")
    for rows, number in ((new, 1), (new[1:], 0)):
        with pytest.raises(ValueError, match=f"row {number} of X_new is too small.*: divide the row"):
            cosine.query(form(rows), 3)
    with pytest.raises(ValueError, match=r"row 0 of X is too small for float32.*divide X by it"):
        nearest_neighbors(form(1e-50 * X), 3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "seuclidean"])
def test_sparse_rows_keep_their_precision_beside_a_large_constant_column(metric):
    rng = np.random.default_rng(0)
    X = (rng.poisson(0.5, (800, 30)) * rng.random((800, 30))).astype(np.float32)
    for large in (1e4, 1e8, 1.6e9):
        X[:, 0] = large
        dense, found = (nearest_neighbors(form(X), 10, metric=metric) for form in FORMS)
        np.testing.assert_allclose(found.distances, dense.distances, rtol=1e-4)
        recall = np.mean([np.isin(*rows).mean() for rows in zip(found.indices, dense.indices, strict=True)])
        assert recall > 0.99


@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "chebyshev", "minkowski", "seuclidean", "mahalanobis"]
)
@pytest.mark.parametrize("offset", [1e5, 1.6e9])
def test_float64_rows_keep_their_precision_far_from_zero(metric, offset):
    X = np.random.default_rng(0).normal(size=(400, 5))
    options = {"metric": metric, "metric_kwds": {"p": 3} if metric == "minkowski" else None}
    near, far = (nearest_neighbors(rows, 9, **options) for rows in (X, X + offset))
    np.testing.assert_allclose(far.distances, near.distances, rtol=1e-4)
    queried = NeighborIndex(X + offset, **options).query(X[:50] + offset, 1)
    np.testing.assert_array_equal(queried.indices[:, 0], np.arange(50))
    graph = UMAP(n_neighbors=10, n_epochs=1, **options).fit(X + offset).graph_
    assert all(np.isin(near.indices[row], graph[row].indices).mean() > 0.9 for row in range(0, 400, 7))


def test_integers_are_compared_exactly():
    X = np.random.default_rng(0).integers(0, 256, (500, 20))
    small = nearest_neighbors(X.astype(np.uint8), 5)
    for form in (X, X.astype(np.float64), X + 10**9):
        found = nearest_neighbors(form, 5)
        np.testing.assert_array_equal(found.indices, small.indices)
        np.testing.assert_array_equal(found.distances, small.distances)


@pytest.mark.parametrize("form", FORMS)
def test_hamming_of_fractions_in_exact_and_approximate_search(form):
    X = np.random.default_rng(0).choice([0, 0.1, 0.2, 0.3], size=(300, 20))
    expected = cdist(X, X, "hamming")
    np.fill_diagonal(expected, np.inf)
    assert nearest_neighbors(form(X), 5, metric="hamming", algorithm="approximate").recall > 0.9
    found = nearest_neighbors(form(X), 5, metric="hamming")
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :5], rtol=1e-6)
    almost = np.where(X == 0.1, np.float64(np.float32(0.1)), X)
    assert nearest_neighbors(form(np.vstack([X, almost])), 1, metric="hamming").distances[3, 0] > 0


def test_nan_euclidean_keeps_the_precision_of_float32():
    X = (1e4 + np.random.default_rng(0).normal(size=(200, 6))).astype(np.float32)
    X[::7, 0] = np.nan
    found, wide = (nearest_neighbors(rows, 5, metric="nan_euclidean") for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(found.indices, wide.indices)


def test_timestamps_keep_their_precision_beside_a_zero():
    X = np.array([[1.7e9], [1.7e9 + 5], [1.7e9 + 10], [1.7e9 + 20], [0.0]])
    np.testing.assert_allclose(nearest_neighbors(X, 1).distances.ravel(), [5, 5, 5, 10, 1.7e9], rtol=1e-6)
    whole = NeighborIndex(X.astype(np.int64)).query(X[:2] + 0.5, 2)
    np.testing.assert_array_equal(whole.distances, [[0.5, 4.5], [0.5, 4.5]])
    nanoseconds = 1_700_000_000_000_000_000 + np.random.default_rng(0).permutation(10**6)[:500, None]
    found = nearest_neighbors(nanoseconds, 1)
    np.testing.assert_array_equal(
        found.distances, np.abs(nanoseconds - nanoseconds[found.indices[:, 0]]).astype(np.float32)
    )


def test_values_that_overflow_float32_are_rejected():
    X = np.random.default_rng(0).normal(size=(60, 4)) * 1e300
    for search in (nearest_neighbors, UMAP().fit):
        with pytest.raises(ValueError, match="X contains infinity or a value too large for dtype"):
            search(X)
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[7, 2] = -1e300
    message = r"the largest value of row 7 is 1e\+300: divide X by its largest value, or drop the row"
    for given in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=message):
            nearest_neighbors(given)


def nanoseconds(n=400):
    days = np.random.default_rng(0).integers(0, 2, n) * 86_400 * 10**9
    return 1_700_000_000 * 10**9 + days + np.random.default_rng(1).integers(0, 10**4, n)


@pytest.mark.parametrize("kind", ["uint64", "longdouble", "object", "Int64", "UInt64", "frame of objects"])
def test_integers_of_every_type_are_read_without_loss(kind):
    pandas = pytest.importorskip("pandas")
    column = nanoseconds()
    make = {
        "object": lambda: column.astype(object)[:, None],
        "frame of objects": lambda: pandas.DataFrame({"t": column.astype(object)}),
        "Int64": lambda: pandas.DataFrame({"t": pandas.array(column, "Int64")}),
        "UInt64": lambda: pandas.DataFrame({"t": pandas.array(column, "UInt64"), "u": column}),
    }
    X = make[kind]() if kind in make else column.astype(kind)[:, None]
    plain = np.column_stack([column] * X.shape[1])
    if kind == "longdouble" and np.finfo(np.longdouble).nmant < 63:
        pytest.skip("longdouble has no more digits than float64")
    expected, found = nearest_neighbors(plain, 5), nearest_neighbors(X, 5)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert expected.distances[:, 0].max() > 0
    if kind in ("uint64", "longdouble"):
        again = nearest_neighbors(sparse.csr_matrix(plain.astype(np.uint64)), 5)
        np.testing.assert_array_equal(again.distances, expected.distances)


def test_numbers_that_no_type_holds_are_rejected_by_name():
    pandas = pytest.importorskip("pandas")
    column = nanoseconds()
    remedy = "subtract the smallest value of each column first"
    beyond = (column.astype(np.uint64) + np.uint64(2**63))[:, None]
    with pytest.raises(ValueError, match=f"^X holds .*, which neither int64 nor float64 can hold: {remedy}"):
        nearest_neighbors(beyond, 5)
    frame = pandas.DataFrame({"t": column, "x": np.linspace(0, 1, len(column))})
    with pytest.raises(ValueError, match=f"^column 't' of X holds .* can hold: {remedy}"):
        UMAP().fit(frame)
    frame["t"] -= frame["t"].min()
    nearest_neighbors(frame, 5)
    if np.finfo(np.longdouble).nmant >= 63:
        with pytest.raises(ValueError, match=f"^X holds .* can hold: {remedy}"):
            nearest_neighbors(column.astype(np.longdouble)[:, None] + np.longdouble(0.5), 5)
    nearest_neighbors((np.arange(40, dtype=np.longdouble) / 3)[:, None], 5)
