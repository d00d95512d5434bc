"""Stability of maps across seeds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import procrustes

from actup import quality
from plain_measures import N, ranks


def test_seed_stability_equals_plain_computations(rng, Y):
    maps = [Y, Y + rng.normal(scale=0.3, size=Y.shape), rng.normal(size=Y.shape)]
    near = [(ranks(M) >= 1) & (ranks(M) <= 6) for M in maps]
    pairs = list(itertools.combinations(range(3), 2))
    disparity = np.mean([procrustes(maps[i], maps[j])[2] for i, j in pairs])
    jaccard = np.mean([((near[i] & near[j]).sum(1) / (near[i] | near[j]).sum(1)).mean() for i, j in pairs])
    got = quality.seed_stability(maps, 6, sample=None)
    assert got.disparity == pytest.approx(disparity)
    assert got.jaccard == pytest.approx(jaccard)
    assert quality.seed_stability(maps, 6, sample=100, n_jobs=1) == quality.seed_stability(
        maps, 6, sample=100
    )


def test_a_map_moved_rotated_and_scaled_is_the_same(Y):
    turn = np.array([[0.6, -0.8], [-0.8, -0.6]])
    assert quality.seed_stability([Y, 3 * Y @ turn + 5]) == pytest.approx((0, 1), abs=1e-12)
    assert quality.seed_stability([np.zeros((20, 2)), np.ones((20, 2))]).disparity == 0
    assert quality.seed_stability([np.zeros((N, 2)), Y]).disparity == 1
