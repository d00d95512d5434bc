"""The search through cells: its lists, its bits, and where the cluster search uses it."""

import numpy as np
import pytest

from actup._engine import engine
from actup.neighbors import _cluster_search, nearest_neighbors
from actup.neighbors._cell_search import plan_cells
from actup.neighbors._comparison import Comparison
from neighbor_rows import K, check_lists, clustered, duplicates, low_rank, noise

EUCLIDEAN = Comparison("euclidean")


def tight_groups(n=30_000, columns=20):
    """Groups whose distances are a hundred times those within."""
    rng = np.random.default_rng(0)
    X = 100 * rng.normal(size=(60, columns))[rng.integers(60, size=n)] + rng.normal(size=(n, columns))
    return X.astype(np.float32)


def huge_column(n=30_000):
    rng = np.random.default_rng(1)
    return np.concatenate([1e6 * rng.random((n, 1)), rng.normal(size=(n, 12))], axis=1).astype(np.float32)


def places(n=30_000):
    """Places in and around towns, in degrees."""
    rng = np.random.default_rng(2)
    towns = np.array([10.0, 50.0]) + 8 * rng.normal(size=(60, 2))
    return (towns[rng.integers(60, size=n)] + 0.02 * rng.standard_t(2, size=(n, 2))).astype(np.float32)


def cell_index(X, comparison=EUCLIDEAN, threads=2):
    return engine.CellIndex(X, comparison.for_engine(), 0, threads)


def lists(X, k, looked_at, threads=2, metric="euclidean"):
    return cell_index(X, Comparison(metric), threads).neighbors(k, looked_at, threads)


@pytest.mark.parametrize("make", [tight_groups, huge_column, places])
def test_rows_that_codes_do_not_tell_apart_are_searched_through_cells(make, monkeypatch):
    X = make()
    plans = []
    monkeypatch.setattr(
        _cluster_search, "plan_cells", lambda *given: plans.append(plan_cells(*given)) or plans[-1]
    )
    monkeypatch.setattr(_cluster_search.engine, "ClusterIndex", without_neighbors(engine.ClusterIndex))
    found = nearest_neighbors(X, K, algorithm="approximate")
    assert plans[0].looked_at < len(X) / 20  # of all points, which an exact search compares with each row
    check_lists(found, X)


def without_neighbors(index_type):
    """The index of codes, which is calibrated but must not search all points."""

    class Index:
        def __init__(self, *given):
            self._index = index_type(*given)

        def __getattr__(self, name):
            assert name != "neighbors"
            return getattr(self._index, name)

    return Index


@pytest.mark.parametrize("make", [clustered, low_rank, noise])
def test_cells_are_not_tried_where_codes_tell_rows_apart(make, monkeypatch):
    monkeypatch.setattr(_cluster_search, "plan_cells", None)  # a call would fail
    check_lists(nearest_neighbors(make(12_000, 100), K, algorithm="approximate"), make(12_000, 100))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "hellinger"])
def test_looking_at_all_points_finds_the_exact_neighbors(metric):
    X = np.abs(clustered(700, 30))
    exact = nearest_neighbors(X, K, metric=metric, algorithm="exact")
    indices, distances = lists(X, K, len(X), metric=metric)
    np.testing.assert_allclose(distances, exact.distances, rtol=1e-5, atol=1e-7)
    assert (indices == exact.indices).mean() > 0.999  # distances of one pair differ by rounding


def test_same_bits_at_any_number_of_threads():
    X = clustered(9000, 40)
    first = lists(X, K, 900, threads=1)
    for threads in (2, 3):
        for one, other in zip(first, lists(X, K, 900, threads), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int8])
def test_small_types_give_the_bits_of_float32(dtype):
    X = np.clip(8 * clustered(3000, 20), 0, 120).astype(dtype)
    for one, other in zip(lists(X, K, 500), lists(X.astype(np.float32), K, 500), strict=True):
        np.testing.assert_array_equal(one, other)


def test_points_before_tells_what_is_found():
    X = tight_groups(4000)
    sample = np.arange(0, 4000, 40)
    exact = nearest_neighbors(X, K, algorithm="exact")
    before = cell_index(X).points_before(sample, np.ascontiguousarray(exact.indices[sample]), 2)
    assert before.min() == 0 and before.max() < len(X)
    found = lists(X, K, 800)[0]
    for row, shown in zip(sample, before, strict=True):
        np.testing.assert_array_equal(np.isin(exact.indices[row], found[row]), shown < 800)


@pytest.mark.parametrize("looked_at", [1, 200])
def test_duplicates_and_equal_rows_have_full_lists(looked_at):
    for X in (duplicates(3000), np.ones((1000, 3), np.float32), clustered(K + 1, 4)):
        indices, distances = lists(X, K, looked_at)
        assert all(len({*row} - {at}) == K for at, row in enumerate(indices.tolist()))
        assert (np.diff(distances, axis=1) >= 0).all()


def test_rows_whose_distances_overflow_have_no_neighbors_yet():
    X = clustered(3000, 20)
    X[[1, 701]] *= 1e30  # among those that do not choose the scale
    indices, distances = lists(X, K, 200)
    assert (indices[[1, 701]] == -1).all() and np.isinf(distances[[1, 701]]).all()
    assert (np.delete(indices, [1, 701], axis=0) >= 0).all()


def test_more_recall_is_planned_with_more_points():
    X = low_rank(12_000, 20)
    sample = np.arange(0, len(X), 60)
    plans = [plan_cells(X, EUCLIDEAN, sample, K, recall, 0, 2) for recall in (0.8, 0.97, 0.999)]
    assert plans[0].looked_at < plans[1].looked_at < plans[2].looked_at
    assert plans[0].nanoseconds < plans[1].nanoseconds < plans[2].nanoseconds
