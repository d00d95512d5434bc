"""Measures of distances against sums over all pairs, and distances of every kind of X."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

from actup import quality
from actup._engine import engine
from actup.quality._points import MeasuredPoints


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_exact_distance_correlation_equals_spearman_of_all_pairs(X, Y, metric):
    expected = spearmanr(pdist(X - 100, metric), pdist(Y)).statistic
    got = quality.distance_correlation(X - 100, Y, metric=metric, sample=None)
    assert got == pytest.approx(expected, abs=1e-9)


def test_exact_triplet_accuracy_equals_a_loop(rng):
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    DX, DY = cdist(X, X), cdist(Y, Y)
    agree = [
        (DX[i, j] < DX[i, k]) == (DY[i, j] < DY[i, k]) for i, j, k in itertools.permutations(range(12), 3)
    ]
    assert quality.triplet_accuracy(X, Y, sample=None) == pytest.approx(np.mean(agree))


def test_correlation_is_zero_if_all_distances_are_equal():
    assert quality.distance_correlation(np.eye(6), np.arange(6.0)[:, None], sample=None) == 0


@pytest.mark.parametrize(
    ("measure", "sample"),
    [
        (quality.neighbor_recall, 250),
        (quality.trustworthiness, 250),
        (quality.continuity, 250),
        (quality.triplet_accuracy, 20_000),
        (quality.distance_correlation, 20_000),
    ],
)
def test_a_sample_is_seeded_and_close_to_the_exact_measure(rng, measure, sample):
    X = rng.normal(size=(500, 4))
    Y = X[:, :2]
    exact = measure(X, Y, sample=None)
    drawn = [measure(X, Y, sample=sample, random_state=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    np.testing.assert_allclose(drawn, exact, atol=0.03)
    assert measure(X, Y, sample=sample, n_jobs=1) == measure(X, Y, sample=sample, n_jobs=3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "kind", ["float16", "uint8", "fortran", "memmap", "csr", "coo", "pandas", "read-only"]
)
def test_every_kind_of_X_gives_the_distances_of_the_same_numbers(rng, tmp_path, kind, metric):
    plain = rng.integers(0, 40, size=(60, 9)).astype(np.float64)
    plain[3] = 0
    before = plain.copy()
    X = make_kind(kind, plain, tmp_path)
    rows = np.array([0, 3, 17])
    expected = cdist(plain[rows], plain, "cosine" if metric == "cosine" else "sqeuclidean")
    if metric == "cosine":
        expected[1] = expected[:, 3] = 1
    points = MeasuredPoints(X, metric)
    keys = points.sort_keys(rows, 2)
    own = keys == np.inf
    np.testing.assert_array_equal(np.argwhere(own), [[0, 0], [1, 3], [2, 17]])
    keys[own], expected[own] = 0, 0
    if metric == "euclidean":  # known up to a constant per row
        keys += (expected - keys)[:, 30:31]
        keys[own] = 0
    np.testing.assert_allclose(keys, expected, rtol=1e-4, atol=1e-3 if metric == "euclidean" else 1e-6)
    others = np.array([5, 6, 8])
    np.testing.assert_allclose(
        points.pair_distances(rows, others, 2), expected[range(3), others], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(plain, before)


def make_kind(kind, plain, tmp_path):
    if kind == "memmap":
        stored = np.memmap(tmp_path / "X", np.float32, "w+", shape=plain.shape)
        stored[:] = plain
        return stored
    if kind == "read-only":
        plain.setflags(write=False)
        return plain
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(plain)
    makers = {"fortran": np.asfortranarray, "csr": scipy.sparse.csr_array, "coo": scipy.sparse.coo_matrix}
    return makers.get(kind, lambda X: X.astype(kind))(plain)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_over_several_chunks(rng, metric):
    X = rng.normal(size=(5000, 20)).astype(np.float32)
    rows = rng.choice(5000, 40, replace=False)
    one, three = (MeasuredPoints(X, metric).sort_keys(rows, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    expected = cdist(X[rows], X, metric)
    expected[np.arange(40), rows] = np.inf
    order = engine.nearest_in_rows(one, 15, 2)
    np.testing.assert_array_equal(order, np.argsort(expected, axis=1)[:, :15])


def test_distances_far_from_the_origin_keep_their_digits(rng):
    near_origin = rng.normal(size=(200, 6)).astype(np.float32)
    shifted = near_origin.astype(np.float64) + 1e4
    Y = near_origin[:, :2]
    expected = quality.trustworthiness(near_origin, Y, sample=None)
    assert quality.trustworthiness(shifted.astype(np.float32), Y, sample=None) == pytest.approx(
        expected, abs=1e-3
    )
    assert quality.trustworthiness(shifted, Y, sample=None) == pytest.approx(expected, abs=1e-12)
