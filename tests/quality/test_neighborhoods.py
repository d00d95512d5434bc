"""Measures of neighbourhoods, against full rankings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

from actup import quality
from actup._engine import engine
from plain_measures import N, ranks


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighborhoods_equal_full_rankings(X, Y, metric):
    X = X - 100
    rank_X, rank_Y, k = ranks(X, metric), ranks(Y), 9
    near_X, near_Y = (rank_X >= 1) & (rank_X <= k), (rank_Y >= 1) & (rank_Y <= k)
    scale = 2 / (N * k * (2 * N - 3 * k - 1))
    given = {"k": k, "metric": metric, "sample": None}
    assert quality.neighbor_recall(X, Y, **given) == pytest.approx((near_X & near_Y).sum() / (N * k))
    expected = 1 - scale * (rank_X - k)[near_Y & ~near_X].sum()
    assert quality.trustworthiness(X, Y, **given) == pytest.approx(expected, abs=1e-12)
    expected = 1 - scale * (rank_Y - k)[near_X & ~near_Y].sum()
    assert quality.continuity(X, Y, **given) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_trustworthiness_equals_sklearns(X, Y, metric):
    X = X - 100
    for k in (1, 15, N // 2 - 1):
        expected = sklearn_trustworthiness(X, Y, n_neighbors=k, metric=metric)
        assert quality.trustworthiness(X, Y, k, metric=metric, sample=None) == pytest.approx(
            expected, abs=1e-12
        )
        expected = sklearn_trustworthiness(Y, X - 0.0, n_neighbors=k)
        assert quality.continuity(X, Y, k, sample=None) == pytest.approx(expected, abs=1e-12)


def test_the_map_that_keeps_everything_scores_one(X):
    Y = 5 - 2 * X
    for measure in (quality.neighbor_recall, quality.trustworthiness, quality.continuity):
        assert measure(X, Y) == 1
    assert quality.triplet_accuracy(X, Y) == 1
    assert quality.distance_correlation(X, Y) == pytest.approx(1)


def test_a_random_map_is_near_chance(rng):
    X, Y = rng.normal(size=(2000, 5)), rng.normal(size=(2000, 2))
    assert quality.neighbor_recall(X, Y) == pytest.approx(10 / 1999, abs=0.005)
    assert quality.trustworthiness(X, Y) == pytest.approx(0.5, abs=0.02)
    assert quality.continuity(X, Y) == pytest.approx(0.5, abs=0.02)
    assert quality.triplet_accuracy(X, Y) == pytest.approx(0.5, abs=0.02)
    assert quality.distance_correlation(X, Y) == pytest.approx(0, abs=0.02)


def test_equal_distances_are_ranked_by_index():
    D = np.array([[np.inf, 2, 1, 2, 1, 0]], np.float32)
    near = engine.nearest_in_rows(D, 5, 1)
    assert near.tolist() == [[5, 2, 4, 1, 3]]
    assert engine.ranks_in_rows(D, near, 1).tolist() == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_in_rows_equals_a_stable_sort(rng, dtype):
    D = rng.integers(0, 300, size=(20, 1000)).astype(dtype)
    near = engine.nearest_in_rows(D, 37, 2)
    order = np.argsort(D, axis=1, kind="stable")
    np.testing.assert_array_equal(near, order[:, :37])
    ids = rng.integers(0, 1000, size=(20, 8)).astype(np.int32)
    expected = np.take_along_axis(np.argsort(order, axis=1), ids, axis=1) + 1
    np.testing.assert_array_equal(engine.ranks_in_rows(D, ids, 2), expected)
