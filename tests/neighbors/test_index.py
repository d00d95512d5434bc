"""NeighborIndex: recall, answers independent of batch and threads, pickling, errors."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from actup.neighbors import NeighborIndex
from neighbor_rows import K, clustered, noise, uniform


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_query_reaches_the_recall(metric):
    X = clustered(8000, 120)
    points, queries = X[:7500], X[7500:]
    found = NeighborIndex(points, metric=metric, algorithm="approximate").query(queries, K)
    exact = pairwise_distances(queries.astype(np.float64), points.astype(np.float64), metric=metric)
    radii = np.sort(exact, axis=1)[:, K - 1 : K]
    assert np.mean(found.distances <= radii * (1 + 1e-5)) >= 0.97
    np.testing.assert_allclose(
        found.distances, np.take_along_axis(exact, found.indices, 1), rtol=1e-4, atol=1e-5
    )


def test_answer_does_not_depend_on_batch_order_or_threads():
    X = clustered(6000, 100)
    X[100:160] = X[0]  # ties
    queries = np.vstack([X[:200], clustered(300, 100, seed=9)])
    index = NeighborIndex(X, algorithm="approximate", n_jobs=2)
    together = index.query(queries, K)
    order = np.random.default_rng(0).permutation(len(queries))
    shuffled = NeighborIndex(X, algorithm="approximate", n_jobs=3).query(queries[order], K)
    np.testing.assert_array_equal(together.indices[order], shuffled.indices)
    np.testing.assert_array_equal(together.distances[order], shuffled.distances)
    for row in (0, 7, 123, 499):
        alone = index.query(queries[row : row + 1], K)
        np.testing.assert_array_equal(alone.indices[0], together.indices[row])
        np.testing.assert_array_equal(alone.distances[0], together.distances[row])


def test_answer_does_not_depend_on_earlier_queries():
    X, queries = noise(5000, 300), noise(20, 300)
    index = NeighborIndex(X, algorithm="approximate")
    first = index.query(queries, 5)
    index.query(queries, 200)
    again = index.query(queries, 5)
    np.testing.assert_array_equal(first.indices, again.indices)


def test_a_point_finds_itself():
    X = clustered(5000, 80)
    found = NeighborIndex(X, algorithm="approximate").query(X[:50], 1)
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(50))
    assert (found.distances == 0).all()


@pytest.mark.parametrize("algorithm", ["exact", "approximate"])
def test_invalid_queries_and_metrics_are_rejected(algorithm):
    index = NeighborIndex(uniform(40, 3), algorithm=algorithm)
    with pytest.raises(ValueError, match="X_new has 4 columns, but X has 3"):
        index.query(uniform(5, 4))
    with pytest.raises(ValueError, match="n_neighbors=41"):
        index.query(uniform(5, 3), 41)
    assert index.query(uniform(5, 3), 40).indices.shape == (5, 40)
    with pytest.raises(ValueError, match="metric='precomputed'"):
        NeighborIndex(uniform(40, 3), metric="precomputed")
    if algorithm == "approximate":
        with pytest.raises(ValueError, match="does not know metric='nan_euclidean'"):
            NeighborIndex(uniform(40, 3), metric="nan_euclidean", algorithm=algorithm)


@pytest.mark.parametrize("metric", ["nan_euclidean", lambda x, y: float(np.abs(x - y).max())])
def test_index_with_scikit_learn_and_callable_metrics(metric):
    X, rows = uniform(300, 5), uniform(310, 5)[300:]
    found = NeighborIndex(X, metric=metric).query(rows, 7)
    exact = pairwise_distances(rows, X, metric=metric)
    np.testing.assert_array_equal(found.indices, np.argsort(exact, axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(found.distances, np.sort(exact, axis=1)[:, :7], rtol=1e-5)


def test_concurrent_queries_of_one_index():
    X = clustered(6000, 40, seed=8)
    index = NeighborIndex(X, algorithm="approximate")
    expected = {k: NeighborIndex(X, algorithm="approximate").query(X[:50], k).indices for k in (5, 30, 90)}
    with ThreadPoolExecutor(6) as pool:
        requested = [5, 30, 90] * 6
        found = pool.map(lambda k: index.query(X[:50], k).indices, requested)
        assert all(np.array_equal(ids, expected[k]) for k, ids in zip(requested, found, strict=True))


def test_index_survives_pickling():
    X = np.random.default_rng(0).normal(size=(9000, 24)).astype(np.float32)
    for metric in ("euclidean", "manhattan"):
        index = NeighborIndex(X, metric=metric, algorithm="approximate")
        fresh = pickle.loads(pickle.dumps(index))
        expected = index.query(X[:9], 5)
        for other in (fresh, pickle.loads(pickle.dumps(index))):
            found = other.query(X[:9], 5)
            np.testing.assert_array_equal(found.indices, expected.indices)
            np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_queries_unlike_all_points_find_their_neighbors(metric):
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(60, 40))
    X = (centres[rng.integers(60, size=12_000)] + rng.normal(size=(12_000, 40))).astype(np.float32)
    index = NeighborIndex(X, metric=metric, algorithm="approximate")
    kinds = {
        "far": 50 * rng.normal(size=(60, 40)),
        "between": (X[:60] + X[60:120]) / 2,
        "zero": np.zeros((1, 40)),
    }
    for rows in kinds.values():
        rows = rows.astype(np.float32)
        found = index.query(rows, K)
        exact = pairwise_distances(rows.astype(np.float64), X.astype(np.float64), metric=metric)
        assert np.mean(found.distances <= np.sort(exact, axis=1)[:, K - 1 : K] * (1 + 1e-5)) > 0.97
        alone = index.query(rows[:1], K)
        np.testing.assert_array_equal(alone.indices[0], found.indices[0])
        np.testing.assert_array_equal(alone.distances[0], found.distances[0])


def test_approximate_search_among_few_points_is_exact():
    for seed in range(9):
        X = np.random.default_rng(seed).normal(size=(12, 40)).astype(np.float32)
        found = NeighborIndex(X, metric="manhattan", algorithm="approximate").query(X, 11)
        exact = np.sort(pairwise_distances(X, metric="manhattan"), axis=1)[:, :11]
        np.testing.assert_allclose(found.distances, exact, rtol=1e-4, atol=1e-4)
