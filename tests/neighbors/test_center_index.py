"""The few nearest of many centres (``engine.CenterIndex``), which runs over files divide rows by."""

import numpy as np
import pytest

from actup._engine import engine
from actup.neighbors._comparison import resolve


def rows_of(count, columns=6, seed=0):
    return np.random.default_rng(seed).normal(size=(count, columns)).astype(np.float32)


def nearest(centers, rows, wanted, metric="euclidean", threads=2):
    compared = resolve(metric, None, centers).for_engine()
    ids, levels = engine.CenterIndex(centers, compared, 0, threads).nearest(rows, wanted, threads)
    return ids, levels, engine.exact_neighbors(centers, rows, wanted, compared, threads)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize(("count", "share"), [(8, 1.0), (300, 0.9), (3000, 0.8)])  # 3000: in two steps
def test_most_near_centers_are_found(metric, count, share):
    ids, levels, (true, _) = nearest(rows_of(count), rows_of(2000, seed=1), 8, metric)
    found = (ids[:, :, None] == true[:, None, :]).any(axis=1).mean()
    assert found >= share
    assert (np.sort(ids, axis=1)[:, 1:] != np.sort(ids, axis=1)[:, :-1]).all()
    assert (levels[:, 0] == 0).all() and (np.diff(levels.astype(int), axis=1) >= 0).all()


def test_levels_tell_how_much_farther_centers_are():
    centers, rows = rows_of(8), rows_of(100, seed=1)
    ids, levels, _ = nearest(centers, rows, 8)
    squares = ((rows[:, None, :].astype(float) - centers[ids]) ** 2).sum(axis=2)
    expected = engine.CENTER_LEVELS * np.sqrt(np.maximum(0, 1 - squares[:, :1] / squares))
    assert np.abs(levels - np.floor(expected)).max() <= 1  # of values at a bound, rounding decides


def test_equal_centers_are_as_near_and_sorted_by_id():
    ids, levels, _ = nearest(np.ones((8, 4), np.float32), np.ones((3, 4), np.float32), 8)
    assert np.array_equal(ids, np.tile(np.arange(8), (3, 1)))
    assert not levels.any()


def test_same_bits_at_any_number_of_threads():
    one, two = (nearest(rows_of(3000), rows_of(5000, seed=1), 8, threads=threads)[:2] for threads in (1, 2))
    assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])


@pytest.mark.parametrize("wanted", [0, 4, 9])
def test_numbers_of_centers_that_cannot_be_found_are_rejected(wanted):
    with pytest.raises(ValueError, match="wanted must be"):
        nearest(rows_of(3 if wanted == 4 else 20), rows_of(5), wanted)
