"""The compiled exact search with limits: what lies beyond the limit of a query is left out."""

from __future__ import annotations

import numpy as np
import pytest

from actup._engine import engine
from actup.neighbors._comparison import resolve


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
@pytest.mark.parametrize("columns", [1, 16, 17, 50, 130])  # sums are checked after 16, 32 and 64 columns
def test_limits_cut_the_lists(metric, columns):
    random = np.random.default_rng(columns)
    scale = np.exp(-np.arange(columns) / 8)
    points = (random.normal(size=(700, columns)) * scale).astype(np.float32)
    queries = (random.normal(size=(33, columns)) * scale).astype(np.float32)
    row_metric = resolve(metric, None, points).for_engine()
    ids, distances = engine.exact_neighbors(points, queries, 9, row_metric, 2)
    limits = distances[np.arange(33), np.arange(33) % 9].copy()  # inclusive: the neighbour at the limit stays
    limits[0], limits[1] = 0, np.inf
    found, lengths = engine.exact_neighbors(points, queries, 9, row_metric, 2, None, limits)
    kept = distances <= limits[:, None]
    np.testing.assert_array_equal(found, np.where(kept, ids, -1))
    np.testing.assert_array_equal(lengths, np.where(kept, distances, np.inf))


def test_one_limit_for_each_query():
    rows = np.eye(5, dtype=np.float32)
    row_metric = resolve("euclidean", None, rows).for_engine()
    with pytest.raises(ValueError, match="one distance for each query"):
        engine.exact_neighbors(rows, rows, 2, row_metric, 1, None, np.zeros(3, np.float32))
