"""The proxy search: recall against brute force, determinism, duplicates, queries."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from actup.neighbors import NeighborIndex, _proxy_search, nearest_neighbors
from actup.neighbors._calibration import shares_found

K = 12


@cache
def clustered(n=6000, columns=60):
    rng = np.random.default_rng(0)
    centres = rng.gamma(1, size=(60, columns)) * 3
    X = centres[rng.integers(60, size=n)] + rng.gamma(1, size=(n, columns))
    return X.astype(np.float32)


@cache
def documents(n=5000, columns=3000, words=40, topics=50):
    """Sparse rows of word counts, drawn from topics."""
    rng = np.random.default_rng(1)
    popularity = rng.dirichlet(np.full(columns, 0.02), size=topics)
    topic = rng.integers(topics, size=n)
    ids = np.stack([rng.choice(columns, words, p=popularity[t]) for t in topic])
    rows = np.repeat(np.arange(n), words)
    return sparse.csr_matrix((np.ones(n * words, np.float32), (rows, ids.ravel())), (n, columns))


def check_recall(found, exact, min_recall=0.97):
    """The recall is reached and reported, no row is its own neighbour, and no list repeats an id."""
    radii = exact.distances[:, -1:]
    recall = np.mean(found.distances <= radii * (1 + 1e-5) + 1e-6)
    assert recall >= min_recall
    assert found.recall == pytest.approx(recall, abs=0.03)
    assert (found.indices != np.arange(len(found))[:, None]).all()
    assert (np.diff(np.sort(found.indices, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize(
    "metric", ["manhattan", "chebyshev", "canberra", "braycurtis", "inner_product", "minkowski"]
)
def test_recall_and_determinism_on_dense_rows(metric):
    X, parameters = clustered(), {"p": 3.0} if metric == "minkowski" else None
    options = {"metric": metric, "metric_kwds": parameters}
    found = nearest_neighbors(X, K, algorithm="approximate", **options)
    check_recall(found, nearest_neighbors(X, K, algorithm="exact", **options))
    again = nearest_neighbors(X, K, algorithm="approximate", n_jobs=1, **options)
    np.testing.assert_array_equal(found.indices, again.indices)
    np.testing.assert_array_equal(found.distances, again.distances)


def test_manhattan_uses_the_proxy_search():
    assert nearest_neighbors(clustered(), K, metric="manhattan", algorithm="approximate").method == "proxy"


@pytest.mark.parametrize(
    "metric",
    ["euclidean", "cosine", "correlation", "inner_product", "manhattan", "jaccard", "hamming", "hellinger"],
)
def test_recall_on_sparse_rows(metric):
    X = documents()
    found = nearest_neighbors(X, K, metric=metric, algorithm="approximate")
    check_recall(found, nearest_neighbors(X, K, metric=metric, algorithm="exact"))


def test_search_is_exact_where_candidates_do_not_reach_the_recall(monkeypatch):
    monkeypatch.setattr(_proxy_search, "_MAX_CANDIDATES", K + 1)
    X = np.random.default_rng(0).integers(0, 50, (5000, 40)).astype(np.float32)
    found = nearest_neighbors(X, K, metric="hamming", algorithm="approximate")
    assert found.method == "exact" and found.recall == 1


def test_proxy_queries_do_not_depend_on_the_batch():
    X, new = clustered(), clustered(6100)[6000:]
    index = NeighborIndex(X, metric="manhattan", algorithm="approximate")
    together = index.query(new, K)
    assert together.method == "proxy"
    for row in (0, 57):
        alone = index.query(new[row : row + 1], K)
        np.testing.assert_array_equal(alone.indices[0], together.indices[row])
        np.testing.assert_array_equal(alone.distances[0], together.distances[row])
    exact = np.sort(cdist(new, X, "cityblock"), axis=1)[:, K - 1 : K]
    assert np.mean(together.distances <= exact * (1 + 1e-5)) >= 0.97


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8, bool])
def test_recall_on_small_dtypes(dtype):
    X = (clustered(5000, 40) * 4).clip(0, 100).astype(np.uint8)
    X = X > 8 if dtype is bool else X.astype(dtype)
    for metric in ("manhattan", "jaccard", "hellinger"):
        found = nearest_neighbors(X, K, metric=metric, algorithm="approximate")
        check_recall(found, nearest_neighbors(X.astype(np.float32), K, metric=metric, algorithm="exact"))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["manhattan", "jaccard", "canberra", "hamming", "inner_product"])
def test_thousands_of_duplicates(metric, form):
    rng = np.random.default_rng(0)
    X = rng.gamma(1, size=(6000, 30)).astype(np.float32)
    X[X < 0.4] = 0
    duplicates = np.sort(rng.permutation(6000)[:4000])
    X[duplicates] = X[duplicates[0]]
    for algorithm in ("exact", "approximate"):
        found = nearest_neighbors(form(X), K, metric=metric, algorithm=algorithm)
        assert (found.indices != np.arange(6000)[:, None]).all() and found.recall >= 0.97
        if metric != "inner_product":
            assert (found.distances[duplicates] == 0).all()


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "russellrao"])
def test_measured_recall_does_not_count_far_points_as_near(metric):
    """Few distances are possible: the measured recall must not count far points as near ones."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if metric == "russellrao" else 4, (6000, 14)).astype(np.uint8)
    found = nearest_neighbors(X, 15, metric=metric, algorithm="approximate")
    exact = nearest_neighbors(X, 15, metric=metric, algorithm="exact")
    nearer = exact.distances < exact.distances[:, -1:]
    excess = np.sort(found.distances, axis=1) - exact.distances  # 0 where a point as near was found
    share = np.mean(excess <= 1e-5)
    assert nearer.any() and share >= 0.95
    assert found.recall == pytest.approx(shares_found(found.distances, exact.distances).mean(), abs=0.02)
