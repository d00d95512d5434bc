"""The cluster search: recall against brute force, determinism, unusual data, errors."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from actup.neighbors import NeighborIndex, _cluster_search, nearest_neighbors
from actup.neighbors._calibration import shares_found
from actup.neighbors._comparison import Comparison
from neighbor_rows import (
    K,
    approximate,
    check_lists,
    clustered,
    duplicates,
    low_rank,
    noise,
    true_distances,
    uniform,
)

DATA = {
    "clustered": clustered,
    "low rank": low_rank,
    "uniform": uniform,
    "noise": noise,
    "duplicates": duplicates,
    "wide": lambda: clustered(5000, 2000, seed=5),
}


@pytest.mark.parametrize("name", DATA)
def test_default_recall_is_reached(name):
    X = DATA[name]()
    found = approximate(X)
    assert (
        found.method == "cluster" and found.indices.dtype == np.int32 and found.distances.dtype == np.float32
    )
    check_lists(found, X)


@pytest.mark.parametrize("recall", [0.8, 0.99])
def test_requested_recall_is_reached(recall, monkeypatch):
    monkeypatch.setattr(_cluster_search, "_ALL_CLUSTERS_MAX_ROWS", 0)
    X = clustered(20_000, 64)
    assert check_lists(approximate(X, recall=recall), X, min_recall=recall) >= recall


def test_lists_are_returned_where_every_effort_exceeds_the_time_limit(monkeypatch):
    monkeypatch.setattr(_cluster_search, "_MAX_ROW_NS", 0)
    X = clustered(3000, 60)
    found = _cluster_search.ClusterSearch(X, Comparison("euclidean"), 0, 2).neighbors(K, 0.97)
    assert found.indices.shape == (3000, K)
    assert found.recall > 0.3


def test_clustered_rows_need_few_probes(monkeypatch):
    monkeypatch.setattr(_cluster_search, "_ALL_CLUSTERS_MAX_ROWS", 0)
    X = clustered(12_000, 100)
    search = _cluster_search.ClusterSearch(X, Comparison("euclidean"), 0, 2)
    index, calibration = search._plan(K, 0.97)
    effort = _cluster_search._cheapest_effort(index, calibration, 0.97, X)
    assert effort.probes < index.clusters / 2
    check_lists(search.neighbors(K, 0.97), X)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_cosine_and_correlation_with_rows_without_direction(metric):
    X = clustered(5000, 50) + 1
    X[::100] = 0
    found = approximate(X, metric=metric)
    points = X.copy()
    rows = np.flatnonzero(~(X == 0).all(axis=1))[:300]
    exact = true_distances(points, rows, metric)
    exact[:, ::100] = 1  # rows without a direction
    exact[np.arange(len(rows)), rows] = np.inf
    radii = np.sort(exact, axis=1)[:, K - 1 : K]
    assert np.mean(found.distances[rows] <= radii + 1e-6) >= 0.97
    np.testing.assert_allclose(
        found.distances[rows], np.take_along_axis(exact, found.indices[rows], 1), atol=1e-5
    )
    assert (found.distances[::100] == 0).all() and (found.indices[::100] % 100 == 0).all()


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8])
def test_small_dtypes_give_the_bits_of_float32(dtype):
    X = low_rank(5000, 123)
    X = (X * 60 + (128 if dtype is np.uint8 else 0)).astype(dtype)
    found = approximate(X)
    check_lists(found, X)
    as_floats = approximate(X.astype(np.float32))
    np.testing.assert_array_equal(found.indices, as_floats.indices)
    np.testing.assert_array_equal(found.distances, as_floats.distances)


def test_memory_mapped_rows(tmp_path):
    X = clustered(5000, 40)
    np.save(tmp_path / "X.npy", X)
    mapped = nearest_neighbors(np.load(tmp_path / "X.npy", mmap_mode="r"), K, algorithm="approximate")
    np.testing.assert_array_equal(mapped.indices, approximate(X).indices)


def test_same_bits_at_any_number_of_threads_and_when_repeated():
    X = clustered(6000, 150)
    first = approximate(X, n_jobs=1)
    for threads in (1, 2, 3):
        again = approximate(X, n_jobs=threads)
        np.testing.assert_array_equal(first.indices, again.indices)
        np.testing.assert_array_equal(first.distances, again.distances)
        assert first.recall == again.recall


def test_many_rows_probe_only_nearby_clusters():
    X = clustered(280_000, 24)  # enough rows for grouped centres
    found = approximate(X, n_jobs=1)
    assert check_lists(found, X) < 1
    again = approximate(X, n_jobs=3)
    np.testing.assert_array_equal(found.indices, again.indices)
    np.testing.assert_array_equal(found.distances, again.distances)


def test_refinement_finds_neighbors_in_tight_groups_far_apart():
    rng = np.random.default_rng(6)
    groups = 10 * rng.normal(size=(5, 10))
    X = (groups[rng.integers(5, size=30_000)] + 1e-3 * rng.normal(size=(30_000, 10))).astype(np.float32)
    exact = nearest_neighbors(X, K, algorithm="exact")
    # All rows of a group have the same code.
    found = _cluster_search.ClusterSearch(X, Comparison("euclidean"), 0, 2).neighbors(K, 0.97)
    assert found is None or found.recall >= 0.97
    index, calibration = _cluster_search.ClusterSearch(X, Comparison("euclidean"), 0, 2)._plan(K, 0.97)
    assert calibration.lower_bound.max() < 0.9
    lists = index.neighbors(K, 4, 64, 2)
    recall_before = np.mean(lists[1] <= exact.distances[:, -1:] * (1 + 1e-5))
    for _ in range(_cluster_search._MAX_REFINEMENT_ROUNDS):
        lists = index.refine(lists[0], 2)
    assert recall_before < 0.5
    assert np.mean(lists[1] <= exact.distances[:, -1:] * (1 + 1e-5)) >= 0.97
    alone = index.neighbors(K, 4, 64, 1)
    for _ in range(_cluster_search._MAX_REFINEMENT_ROUNDS):
        alone = index.refine(alone[0], 3)
    np.testing.assert_array_equal(lists[0], alone[0])
    queried = NeighborIndex(X, algorithm="approximate").query(X[:50], K)
    assert np.mean(queried.distances[:, 1:] <= exact.distances[:50, -1:] * (1 + 1e-5)) > 0.99


def test_seed_changes_the_lists_but_not_the_recall(monkeypatch):
    monkeypatch.setattr(_cluster_search, "_ALL_CLUSTERS_MAX_ROWS", 0)
    X = low_rank(12_000, 150)
    found = [approximate(X, random_state=seed) for seed in (1, 2**64 - 1)]
    for lists in found:
        check_lists(lists, X)
    assert (found[0].indices != found[1].indices).any()


LEVEL_SCRIPT = """
import sys, numpy as np
from actup.neighbors import _cluster_search
from actup.neighbors._calibration import shares_found
from actup.neighbors._comparison import Comparison
_cluster_search._ALL_CLUSTERS_MAX_ROWS = 0
X = np.load(sys.argv[1])
search = _cluster_search.ClusterSearch(X, Comparison("euclidean"), 0, 2)
index, calibration = search._plan(15, 0.97)
effort = _cluster_search._cheapest_effort(index, calibration, 0.97, X)
assert effort.probes < index.clusters / 2, (effort, index.clusters)
found = search.neighbors(15, 0.97)
np.savez(sys.argv[2], indices=found.indices, distances=found.distances, recall=found.recall)
"""


@pytest.mark.parametrize("level", ["plain", "v2", "v3", "v4"])
def test_every_processor_level_reaches_the_recall(level, tmp_path):
    from actup import _engine
    from actup.graph._records import Neighbors

    if _engine._processor.level() < level or _engine._processor.level() == "generic":
        pytest.skip(f"this processor has no level {level}")
    if importlib.util.find_spec(f"actup._engine_{'v2' if level == 'plain' else level}") is None:
        pytest.skip(f"level {level} was not built")
    X = clustered(12_000, 150)
    np.save(tmp_path / "X.npy", X)
    subprocess.run(
        [sys.executable, "-c", LEVEL_SCRIPT, str(tmp_path / "X.npy"), str(tmp_path / "found.npz")],
        env={**os.environ, "ACTUP_CPU": level},
        check=True,
    )
    with np.load(tmp_path / "found.npz") as file:
        found = Neighbors(file["indices"], file["distances"], "cluster", float(file["recall"]))
    check_lists(found, X)


# Unusual data


def test_all_rows_equal():
    X = np.full((30_000, 20), 3.5, np.float32)
    found = approximate(X)
    assert (found.distances == 0).all() and found.recall == 1
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    assert (np.diff(np.sort(found.indices, axis=1), axis=1) > 0).all()


def test_all_rows_zero_under_cosine():
    found = approximate(np.zeros((5000, 8), np.float32), metric="cosine")
    assert (found.distances == 0).all()


@pytest.mark.parametrize("metric", ["cosine", "correlation", "hellinger"])
def test_equal_directions_are_at_distance_zero(metric):
    X = np.abs(clustered(5000, 61))
    X[1000:3000] = X[0]
    found = approximate(X, metric=metric)
    assert (found.distances[1000:3000] == 0).all()
    assert (found.distances[3000:, 0] > 0).all()


@pytest.mark.parametrize("n", [2, 3, 17, 300])
def test_few_rows_with_all_others_as_neighbors(n):
    X = np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32)
    found = approximate(X, n - 1)
    exact = nearest_neighbors(X, n - 1, algorithm="exact")
    np.testing.assert_array_equal(found.indices, exact.indices)
    np.testing.assert_allclose(found.distances, exact.distances, rtol=1e-5)


def test_more_neighbors_than_the_usual_number_of_candidates():
    X = uniform(4000, 6)
    check_lists(approximate(X, 900), X)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_very_small_and_very_large_values(factor):
    X = clustered(5000, 30).astype(np.float64) * factor
    found = approximate(X)
    exact = true_distances(X, np.arange(0, 5000, 25))
    radii = np.sort(exact, axis=1)[:, K - 1 : K]
    assert np.mean(found.distances[::25] <= radii * (1 + 1e-5)) >= 0.97


def test_recall_with_outliers():
    X = clustered(5000, 100)
    X[::1000] *= 1e6
    check_lists(approximate(X), X)


def test_low_recall_falls_back_to_exact_or_warns(monkeypatch):
    X = noise(5000, 60)
    monkeypatch.setattr(_cluster_search, "_MAX_ROW_NS", 0)
    monkeypatch.setattr(_cluster_search, "_ALL_CLUSTERS_MAX_ROWS", 0)
    assert approximate(X).method == "exact"  # cheaper than an approximate search of such low recall
    monkeypatch.setattr(_cluster_search, "_EXACT_PAIR_NS", 1e9)
    with pytest.warns(UserWarning, match="of the nearest neighbours were found"):
        refined = approximate(X)
    monkeypatch.setattr(_cluster_search, "_MAX_REFINEMENT_ROUNDS", 0)
    with pytest.warns(UserWarning, match="of the nearest neighbours were found"):
        found = approximate(X)
    assert found.recall < refined.recall < 0.9


# Choice of the search


def test_auto_is_exact_where_exact_is_cheap():
    assert nearest_neighbors(uniform(4000, 10)).method == "exact"
    assert nearest_neighbors(uniform(6000, 3)).method == "exact"
    assert nearest_neighbors(clustered(6000, 1000)).method == "exact"  # by codes
    assert nearest_neighbors(clustered(21_000, 200)).method == "cluster"
    assert nearest_neighbors(clustered(6000, 1000), algorithm="exact").method == "exact"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "fast"}, "algorithm='fast'"),
        ({"recall": 0}, "recall=0 "),
        ({"recall": 1.5}, "recall=1.5"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": 1.5}, "random_state=1.5"),
        ({"algorithm": "approximate", "metric": "precomputed"}, "metric='precomputed'"),
        ({"algorithm": "approximate", "metric": "nan_euclidean"}, "metric='nan_euclidean'"),
        ({"algorithm": "approximate", "n_neighbors": 50}, "n_neighbors=50 needs at least 51 samples"),
    ],
)
def test_errors_name_the_parameter(options, message):
    with pytest.raises(ValueError, match=message):
        nearest_neighbors(uniform(50, 50), **options)


def test_nan_is_rejected():
    X = uniform(100, 4)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        approximate(X)


def test_recall_with_900_neighbors():
    X = clustered(6000, 40, seed=7)
    check_lists(approximate(X, 900), X)


def test_shares_found_counts_true_neighbors():
    true = np.array([[1, 2, 3, 3], [1, 1, 1, 1], [0, 0, 0, 0]], np.float32)
    found = np.array([[1, 3, 3, 3], [1, 1, 1, 2], [0, 0, 0, 5]], np.float32)
    np.testing.assert_allclose(shares_found(found, true), [0.75, 0.75, 0.75])
    np.testing.assert_allclose(shares_found(true * np.float32(1 + 1e-6), true), 1)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_outliers_find_their_neighbors(metric):
    X = clustered(20_000, 60)
    outliers = np.random.default_rng(0).permutation(len(X))[:30]
    X[outliers] *= 30
    exact = nearest_neighbors(X, K, metric=metric, algorithm="exact")
    found = approximate(X, metric=metric)
    assert shares_found(found.distances, exact.distances)[outliers].mean() > 0.97


def test_choice_of_search_depends_on_n_neighbors():
    assert _cluster_search.exact_is_cheaper(20_000, 30, 15)
    assert not _cluster_search.exact_is_cheaper(20_000, 30, 1000)
