"""Input rows: sparse formats, precomputed distances, rejected input, unusual data, forms of queries."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import nan_euclidean_distances

from actup import UMAP
from actup.neighbors import NeighborIndex, nearest_neighbors
from metric_oracle import COMPILED, DENSE_ONLY, SPARSE, K, points

# Sparse input


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.lil_matrix])
def test_every_sparse_format(form):
    X = points("cosine")
    given = form(X)
    before = given.copy()
    found = nearest_neighbors(given, K, metric="cosine")
    np.testing.assert_array_equal(
        found.indices, nearest_neighbors(sparse.csr_matrix(X), K, metric="cosine").indices
    )
    assert (given != before).nnz == 0


def test_sparse_entries_may_be_unsorted_and_repeated():
    X = sparse.csr_matrix(points("manhattan"))
    unsorted = sparse.csr_matrix(X.shape, dtype=np.float32)
    unsorted.indptr = X.indptr * 2
    unsorted.indices = np.concatenate([np.r_[X[i].indices, X[i].indices[::-1]] for i in range(X.shape[0])])
    unsorted.data = np.concatenate([np.r_[X[i].data - 1, np.ones_like(X[i].data)] for i in range(X.shape[0])])
    assert not unsorted.has_canonical_format and (unsorted.toarray() == X.toarray()).mean() > 0.9
    before = unsorted.data.copy()
    found = nearest_neighbors(unsorted, K, metric="manhattan")
    np.testing.assert_allclose(
        found.distances, nearest_neighbors(X, K, metric="manhattan").distances, rtol=1e-5
    )
    np.testing.assert_array_equal(unsorted.data, before)


# Precomputed sparse distances


def test_precomputed_sparse_distances():
    from sklearn.neighbors import kneighbors_graph

    X = points("euclidean")
    graph = kneighbors_graph(X, K + 3, mode="distance")
    found = nearest_neighbors(graph, K, metric="precomputed")
    np.testing.assert_allclose(found.distances, nearest_neighbors(X, K).distances, rtol=1e-5, atol=1e-5)
    whole = nearest_neighbors(sparse.csr_matrix(cdist(X, X) + 1), K, metric="precomputed")  # with a diagonal
    np.testing.assert_array_equal(
        whole.indices, nearest_neighbors(cdist(X, X) + 1, K, metric="precomputed").indices
    )
    with pytest.raises(
        ValueError, match=r"row .* has only 15 entries besides the diagonal, but 16 are needed"
    ):
        nearest_neighbors(graph, 16, metric="precomputed")


# Rejected input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "hellinger"}, "metric='hellinger' needs values of at least 0, X has -"),
        ({"metric": "haversine"}, "metric='haversine' needs 2 columns"),
        ({"metric": "minkowski", "metric_kwds": {"p": 0}}, "p=0 must be"),
        ({"metric": "minkowski", "metric_kwds": {"w": [1]}}, "w must be 37 finite"),
        (
            {"metric": "minkowski", "metric_kwds": {"q": 3}},
            "metric_kwds has 'q', but the parameters .*: p, w",
        ),
        (
            {"metric": "euclidean", "metric_kwds": {"p": 3}},
            "metric_kwds has 'p', but .*'euclidean' are: none",
        ),
        ({"metric": "seuclidean", "metric_kwds": {"V": np.zeros(37)}}, "V must hold variances above 0"),
        (
            {"metric": "mahalanobis", "metric_kwds": {"VI": np.eye(3)}},
            r"VI must be 37 x 37 finite numbers; got shape \(3, 3\)",
        ),
        ({"metric": "mahalanobis", "metric_kwds": {"VI": -np.eye(37)}}, "VI is not positive definite"),
        ({"metric": 3}, "metric=3 must be a name or a function"),
    ],
)
def test_invalid_metrics_and_parameters_are_rejected(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        nearest_neighbors(points("euclidean"), K, **options)


@pytest.mark.parametrize(
    "metric", [*sorted({*DENSE_ONLY} - {"chebyshev"}), "nan_euclidean", "poincare", "symmetric_kl"]
)
@pytest.mark.parametrize("make", [nearest_neighbors, NeighborIndex])
def test_metrics_without_a_sparse_form_name_the_remedy(metric, make):
    with pytest.raises(ValueError, match=f"metric='{metric}' has no form for sparse X: use X.toarray"):
        make(sparse.csr_matrix(points("euclidean")), metric=metric)


def test_sparse_values_must_be_finite():
    X = sparse.csr_matrix(points("euclidean"))
    X.data[7] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        nearest_neighbors(X, K)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_remedy_for_new_rows_and_places_names_no_other_metric(value):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = UMAP(n_neighbors=5, n_epochs=5, random_state=0).fit(X)
    rows, places = X[:4].copy(), model.embedding_[:4].copy()
    rows[2, 1] = places[2, 1] = value
    what = "fill it as in the data of fit" if np.isnan(value) else "replace it by a finite number"
    for use in (model.transform, model.update, NeighborIndex(X).query):
        with pytest.raises(ValueError, match=rf"in row 2, column 1: {what}, or drop its row$"):
            use(rows)
    with pytest.raises(ValueError, match=r"column 1: places on a map are finite numbers: drop the row$"):
        model.inverse_transform(places)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
@pytest.mark.parametrize("search", [nearest_neighbors, UMAP().fit])
def test_the_first_value_that_is_not_finite_is_named(search, value, word):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[[30, 20, 20], [0, 1, 2]] = value
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for given, column in ((X, "1"), (X.astype(np.float16), "1"), (sparse.csr_matrix(X), "1"), (frame, "'b'")):
        remedy = "fill it, e.g. with" if word == "NaN" else "replace it by a finite number, or by NaN, which"
        message = rf"^X contains {word} in row 20, column {column}: {remedy} .*or drop its row or column"
        with pytest.raises(ValueError, match=message) as raised:
            search(given)
        named = word == "NaN" and not sparse.issparse(given)
        assert ("metric='nan_euclidean'" in str(raised.value)) == named


# Unusual data


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 2.5])
@pytest.mark.parametrize("metric", [name for name in SPARSE if name != "seuclidean"])
def test_equal_rows_of_one_value_are_at_distance_zero(metric, value, form):
    found = nearest_neighbors(form(np.full((50, 6), value)), K, metric=metric)
    np.testing.assert_allclose(found.distances, 0, atol=1e-6)
    np.testing.assert_array_equal(found.indices[40], np.arange(K))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", COMPILED)
def test_n_neighbors_may_be_all_other_rows_but_not_more(metric, form):
    X = points(metric, 20)
    if form is sparse.csr_matrix and metric in DENSE_ONLY:
        pytest.skip("no sparse form")
    found = nearest_neighbors(form(X), 19, metric=metric)
    assert all(sorted([i, *row]) == list(range(20)) for i, row in enumerate(found.indices.tolist()))
    with pytest.raises(ValueError, match="n_neighbors=20 needs at least 21 samples, got 20"):
        nearest_neighbors(form(X), 20, metric=metric)


def test_callable_metrics_receive_floats_and_may_be_asymmetric():
    X = np.array([[200, 10], [10, 200], [201, 11], [0, 0]], np.uint8)
    found = nearest_neighbors(X, 1, metric=lambda x, y: float(abs(x - y).sum()))
    np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 1, metric="manhattan").indices)

    def asymmetric(x, y):
        return max(0, x[0] - y[0]) + 0.01 * abs(x - y).sum()

    X = np.random.default_rng(0).random((30, 4))
    distances = np.array([[asymmetric(x, y) for y in X] for x in X])
    np.fill_diagonal(distances, np.inf)
    for n_jobs in (1, 2, 3):
        found = nearest_neighbors(X, 5, metric=asymmetric, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.indices, np.argsort(distances, axis=1)[:, :5])


def test_nan_euclidean_accepts_missing_values():
    X = np.random.default_rng(0).random((40, 5))
    X[3, 1] = np.nan
    distances = nan_euclidean_distances(X)
    np.fill_diagonal(distances, np.inf)
    found = nearest_neighbors(X, 4, metric="nan_euclidean")
    np.testing.assert_array_equal(found.indices, np.argsort(distances, axis=1)[:, :4])
    queried = NeighborIndex(X, metric="nan_euclidean").query(X[:6], 1)
    np.testing.assert_array_equal(queried.indices.ravel(), np.arange(6))
    with pytest.raises(ValueError, match="NaN"):
        nearest_neighbors(X, 4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("algorithm", ["exact", "approximate"])
def test_sqeuclidean_has_the_order_of_euclidean(algorithm, dtype, form):
    X = form((np.random.default_rng(0).random((700, 6)) * 200).astype(dtype))
    options = {"algorithm": algorithm}
    plain, squared = (nearest_neighbors(X, 6, metric=m, **options) for m in ("euclidean", "sqeuclidean"))
    np.testing.assert_array_equal(squared.indices, plain.indices)
    np.testing.assert_array_equal(squared.distances, plain.distances**2)
    assert (squared.method, squared.recall) == (plain.method, plain.recall)
    queried = NeighborIndex(X, metric="sqeuclidean", **options).query(X[:9], 6)
    np.testing.assert_array_equal(
        queried.distances, NeighborIndex(X, **options).query(X[:9], 6).distances ** 2
    )


@pytest.mark.parametrize(
    ("metric", "rows", "message"),
    [
        ("hellinger", -np.ones((2, 4)), "X_new has -1"),
        ("braycurtis", sparse.csr_matrix(-np.ones((2, 4))), "X_new has -1"),
    ],
)
def test_queries_are_validated_like_rows(metric, rows, message):
    X = np.random.default_rng(0).random((30, 4))
    index = NeighborIndex(sparse.csr_matrix(X) if sparse.issparse(rows) else X, metric=metric)
    with pytest.raises(ValueError, match=message):
        index.query(rows, 3)


def test_queries_may_be_sparse_or_dense_whatever_the_points_are():
    X = np.random.default_rng(0).random((30, 4)).astype(np.float32)
    expected = NeighborIndex(X).query(X[:5], 3)
    for given in (X, sparse.csr_matrix(X)):
        for rows in (X[:5], sparse.csr_matrix(X[:5])):
            found = NeighborIndex(given).query(rows, 3)
            np.testing.assert_array_equal(found.indices, expected.indices)
            np.testing.assert_allclose(found.distances, expected.distances, atol=1e-6)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_complex_numbers_are_rejected_in_one_line(convert):
    with pytest.raises(ValueError, match=r"Complex data not supported: X .* real and imaginary") as caught:
        nearest_neighbors(convert(np.ones((50, 4)) * 1j), 3)
    assert len(str(caught.value)) < 120
