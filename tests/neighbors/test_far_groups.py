"""Neighbours within groups of rows that lie far apart, compared in extended precision with those found."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from actup import TSNE, UMAP, NeighborIndex, nearest_neighbors
from actup._reporting import reporting_to
from actup.neighbors import _precise_search, _precise_space

K = 7
NORMS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "seuclidean"]


def two_groups(n=600, columns=8, offset=1e8, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, columns))
    X[n // 2 :] += offset
    return X


def three_magnitudes():
    X = np.random.default_rng(1).normal(size=(600, 5))
    X[200:400] += 1e5
    X[400:] += 1e11
    return X


def one_far_column():
    X = np.random.default_rng(2).normal(size=(500, 6))
    X[::3, 2] -= 3e9
    return X


def few_far_rows():
    X = np.random.default_rng(3).normal(size=(700, 4))
    X[[5, 80, 81, 200, 300, 400, 450, 451, 452, 500]] += 1e9
    return X


def nested_groups():
    X = np.random.default_rng(4).normal(size=(400, 3)) * 1e-3
    X[::2] += 1e3
    X[:200] += 1e10
    return X


def nanoseconds():
    rng = np.random.default_rng(5)
    times = 1_600_000_000_000_000_000 + np.sort(rng.integers(0, 10**16, 500))
    return np.column_stack([times, rng.integers(0, 100, 500)])


def two_days_in_nanoseconds():
    rng = np.random.default_rng(6)
    times = 1_600_000_000_000_000_000 + rng.integers(0, 5000, 400)
    times[200:] += 86_400 * 10**9
    return np.column_stack([times, rng.integers(0, 1000, 400)])


def close_pairs():
    X = np.random.default_rng(7).normal(size=(60, 4))
    return np.repeat(X, 10, axis=0) + 1e-8 * np.random.default_rng(8).normal(size=(600, 4))


def dense_line():
    return np.random.default_rng(9).permutation(800)[:, None] * 1e-9 + 1.0


CASES = [
    two_groups, three_magnitudes, one_far_column, few_far_rows, nested_groups, nanoseconds,
    two_days_in_nanoseconds, close_pairs, dense_line,
]  # fmt: skip


def true_distances(metric, A, X):
    """All distances in extended precision: integers are subtracted before they are rounded."""
    differences = (A[:, None] - X[None]).astype(np.longdouble)
    if metric == "seuclidean":
        differences /= np.sqrt(np.arange(1, X.shape[1] + 1))
    sizes = np.abs(differences)
    match metric:
        case "manhattan":
            return sizes.sum(axis=2)
        case "chebyshev":
            return sizes.max(axis=2)
        case "minkowski":
            return (sizes**3).sum(axis=2) ** (1 / np.longdouble(3))
        case "canberra":
            return (sizes / (np.abs(A)[:, None] + np.abs(X)[None])).sum(axis=2)
        case "braycurtis":
            return sizes.sum(axis=2) / np.abs(A[:, None] + X[None]).sum(axis=2)
        case "cosine" | "correlation":
            A, X = (M.astype(np.longdouble) for M in (A, X))
            if metric == "correlation":
                A, X = (M - M.mean(axis=1, keepdims=True) for M in (A, X))
            A, X = (M / np.sqrt((M**2).sum(axis=1, keepdims=True)) for M in (A, X))
            return ((A[:, None] - X[None]) ** 2).sum(axis=2) / 2
    squares = (sizes**2).sum(axis=2)
    return squares if metric == "sqeuclidean" else np.sqrt(squares)


def parameters(metric, columns):
    return {
        "minkowski": {"p": 3},
        "seuclidean": {"V": np.arange(1, columns + 1)},
    }.get(metric)


def assert_true_neighbors(found, true, relative=1e-3):
    """Distances are right, and no nearer point is missed, up to a share of the k-th distance."""
    k = found.indices.shape[1]
    of_found = np.take_along_axis(true, found.indices.astype(np.int64), axis=1)
    nearest = np.sort(true, axis=1)[:, :k]
    tolerance = 2 * relative * nearest[:, -1:]
    assert (np.abs(found.distances - of_found) <= tolerance).all()
    assert (np.abs(of_found - nearest) <= tolerance).all()
    assert all(len(set(row)) == k for row in found.indices.tolist())


@pytest.mark.parametrize("metric", NORMS)
@pytest.mark.parametrize("make", CASES)
def test_neighbors_within_far_groups(make, metric):
    X = make()
    options = {"metric": metric, "metric_kwds": parameters(metric, X.shape[1])}
    true = true_distances(metric, X, X)
    if metric in ("euclidean", "minkowski"):
        queried = NeighborIndex(X, **options).query(X[::9], K)
        assert_true_neighbors(queried, true[::9])
    np.fill_diagonal(true, np.inf)
    found = nearest_neighbors(X, K, **options)
    assert found.recall == 1.0
    assert_true_neighbors(found, true)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "minkowski", "seuclidean"])
@pytest.mark.parametrize("make", [two_groups, one_far_column, nested_groups, two_days_in_nanoseconds])
def test_sparse_neighbors_within_far_groups(make, metric):
    X = make()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, 0, X)
    options = {"metric": metric, "metric_kwds": parameters(metric, X.shape[1])}
    if metric == "minkowski" and make is one_far_column:  # powers of p=3 overflow
        with pytest.raises(ValueError, match="has no form for sparse X"):
            nearest_neighbors(sparse.csr_matrix(X), K, **options)
        return
    true = true_distances(metric, X, X)
    queried = NeighborIndex(sparse.csr_matrix(X), **options).query(sparse.csr_matrix(X[::9]), K)
    assert_true_neighbors(queried, true[::9])
    np.fill_diagonal(true, np.inf)
    assert_true_neighbors(nearest_neighbors(sparse.csr_matrix(X), K, **options), true)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["canberra", "braycurtis"])
def test_relative_distances_far_from_zero(metric, form):
    X = np.random.default_rng(0).normal(size=(400, 5)) + 1e8
    true = true_distances(metric, X, X)
    np.fill_diagonal(true, np.inf)
    assert_true_neighbors(nearest_neighbors(form(X), K, metric=metric), true)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_directions_that_float32_does_not_tell_apart(metric):
    X = np.random.default_rng(0).normal(size=(400, 5)) + 1e6 * np.arange(1, 6)
    X[200:] *= -1
    true = true_distances(metric, X, X)
    np.fill_diagonal(true, np.inf)
    assert_true_neighbors(nearest_neighbors(X, K, metric=metric), true)


def test_mahalanobis_and_haversine_of_far_groups():
    X = two_groups(400, 3, 1e7)
    VI = np.diag([1.0, 4.0, 9.0])
    true = true_distances("euclidean", X * [1, 2, 3], X * [1, 2, 3])
    np.fill_diagonal(true, np.inf)
    found = nearest_neighbors(X, K, metric="mahalanobis", metric_kwds={"VI": VI})
    assert_true_neighbors(found, true)
    places = np.random.default_rng(0).normal(size=(400, 2)) * 1e-7
    places[200:] += [0.5, 2.5]
    half = (places[:, None] - places[None]).astype(np.longdouble) / 2
    cosines = np.cos(places[:, 0].astype(np.longdouble))
    inner = np.outer(cosines, cosines) * np.sin(half[..., 1]) ** 2
    true = 2 * np.arcsin(np.sqrt(np.sin(half[..., 0]) ** 2 + inner))
    np.fill_diagonal(true, np.inf)
    assert_true_neighbors(nearest_neighbors(places, K, metric="haversine"), true)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_approximate_search_of_far_groups_reports_its_true_recall(metric):
    X = two_groups(4000, 4)
    found = nearest_neighbors(X, K, metric=metric, algorithm="approximate")
    sample = np.arange(0, 4000, 20)
    true = true_distances(metric, X[sample], X)
    true[np.arange(len(sample)), sample] = np.inf
    shares = [np.isin(found.indices[row], np.argsort(true[at])[:K]).mean() for at, row in enumerate(sample)]
    assert found.method != "exact" and found.recall > 0.95
    assert abs(np.mean(shares) - found.recall) < 0.02


def test_maps_and_new_rows_of_far_groups():
    X = two_groups(400, 5)
    near = np.concatenate([X[:200], X[200:] - 1e8 + 100])
    model = UMAP(n_neighbors=8, n_epochs=5, random_state=0).fit(X)
    assert model.recall_ == 1.0
    expected = UMAP(n_neighbors=8, n_epochs=5, random_state=0).fit(near).graph_
    assert (abs(model.graph_ - expected) > 1e-2).nnz < 0.01 * expected.nnz
    np.testing.assert_array_equal(model.transform(X[::7]), model.embedding_[::7])
    assert np.isfinite(TSNE(perplexity=5, max_iter=250).fit_transform(X)).all()


def test_ordinary_rows_are_not_searched_again(monkeypatch):
    def forbidden(*_):
        raise AssertionError("searched again")

    monkeypatch.setattr(_precise_search._GroupSearch, "run", forbidden)
    rng = np.random.default_rng(0)
    ordinary = [
        rng.normal(size=(500, 6)),
        rng.integers(0, 10**6, (500, 3)).astype(np.float64) * 16,
    ]
    wide_or_shifted = [
        np.exp(rng.normal(size=(500, 4)) * 8),
        rng.normal(size=(500, 6)) + 1.6e9,
        np.repeat(rng.integers(0, 2**20, (50, 3)), 20, axis=0) + 2**40,
    ]
    for X in ordinary:
        for metric in ("euclidean", "manhattan", "canberra", "cosine"):
            nearest_neighbors(abs(X), 5, metric=metric)
    for X in [*ordinary, *wide_or_shifted]:
        for metric in ("euclidean", "manhattan", "chebyshev"):
            nearest_neighbors(X, 5, metric=metric)


def test_equal_rows_beyond_k_keep_their_lists():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 3)), 30, axis=0)
    X[:, 0] += 1e3
    found = nearest_neighbors(X, 5)
    np.testing.assert_array_equal(found.distances, 0)
    np.testing.assert_array_equal(found.indices[29], np.arange(5))


@pytest.mark.parametrize(
    "metric", ["euclidean", "canberra", "cosine", "correlation", "hellinger", "haversine"]
)
def test_an_index_of_float64_rows_can_be_pickled(metric):
    X = np.abs(two_groups(60, 2)) / 1e8
    index = NeighborIndex(X, metric=metric)
    before = index.query(X[:9], 3)
    after = pickle.loads(pickle.dumps(index)).query(X[:9], 3)
    np.testing.assert_array_equal(after.indices, before.indices)
    np.testing.assert_array_equal(after.distances, before.distances)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["canberra", "braycurtis"])
def test_relative_distances_rarely_need_all_points(metric, form, monkeypatch):
    """Neither duplicates nor rows far from 0 are compared with all points."""

    def forbidden(*_):
        raise AssertionError("compared with all points")

    monkeypatch.setattr(_precise_search._GroupSearch, "_compare_all", forbidden)
    rng = np.random.default_rng(0)
    duplicates = np.repeat(rng.uniform(size=(40, 9)), 20, axis=0)
    np.testing.assert_array_equal(nearest_neighbors(form(duplicates), K, metric=metric).distances, 0)
    X = 1e8 + rng.uniform(size=(500, 9))
    X[250:] *= 1e-3
    true = true_distances(metric, X, X)
    np.fill_diagonal(true, np.inf)
    assert_true_neighbors(nearest_neighbors(form(X), K, metric=metric), true)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "minkowski", "canberra", "braycurtis"])
def test_comparison_of_all_points_finds_true_neighbors_and_reports_progress(metric, monkeypatch):
    monkeypatch.setattr(_precise_search._GroupSearch, "_search_group", lambda self, rows, ids: rows)
    X = 1e8 + np.random.default_rng(0).uniform(size=(600, 6))
    X[300:] += 1e4
    true = true_distances(metric, X, X)
    np.fill_diagonal(true, np.inf)
    shares = []
    with reporting_to(shares.append):
        found = nearest_neighbors(X, K, metric=metric, metric_kwds=parameters(metric, 6))
    assert_true_neighbors(found, true)
    assert len(set(shares)) > 3 and shares == sorted(shares) and shares[-1] == 1


def test_rows_far_from_rounding_are_not_measured_one_by_one(monkeypatch):
    def forbidden(*_):
        raise AssertionError("measured row by row")

    monkeypatch.setattr(_precise_space, "norms", forbidden)
    X = np.random.default_rng(0).normal(size=(300, 6))
    for metric in ("euclidean", "manhattan", "chebyshev", "minkowski", "mahalanobis"):
        NeighborIndex(X, metric=metric).query(X[:9] + 1, 5)


def test_only_rows_with_near_neighbors_are_measured(monkeypatch):
    measured = []
    norms = _precise_space.norms
    monkeypatch.setattr(
        _precise_space, "norms", lambda rows, *rest: measured.append(rows.shape[0]) or norms(rows, *rest)
    )
    X = np.random.default_rng(0).normal(size=(900, 6))
    X[:6] = X[0]  # their k-th distances are 0
    found = nearest_neighbors(X, 5)
    np.testing.assert_array_equal(found.distances[:6], 0)
    assert sum(measured) <= 6 * (1 + 5)


def test_squares_that_underflow_are_rejected():
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert (nearest_neighbors(X * 1e-15, 5, metric="sqeuclidean").distances > 0).all()
    with pytest.raises(ValueError, match=r"metric='sqeuclidean'.*underflows float32: multiply X"):
        nearest_neighbors(X * 1e-30, 5, metric="sqeuclidean")


@pytest.mark.parametrize("sort", [True, False])
def test_near_neighbours_of_timestamps_in_seconds(sort):
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + rng.uniform(0, 3.15e7, 5_000)
    seconds = np.sort(seconds) if sort else seconds
    found = nearest_neighbors(seconds[:, None], 15)
    listed = np.abs(seconds[:, None] - seconds[found.indices])
    assert (np.diff(listed, axis=1) >= -1e-5 * listed[:, :1]).all()
    np.testing.assert_allclose(found.distances, listed, rtol=1e-4)
    true = np.sort(np.abs(seconds[:, None] - seconds[None, :]), axis=1)[:, 1:16]
    np.testing.assert_allclose(listed, true, rtol=3e-4)
    index = NeighborIndex(seconds[:2_500, None])
    queried = index.query(seconds[2_500:, None], 5)
    listed = np.abs(seconds[2_500:, None] - seconds[:2_500][queried.indices])
    np.testing.assert_allclose(queried.distances, listed, rtol=1e-4)
    assert (np.diff(listed, axis=1) >= -1e-5 * listed[:, :1]).all()
