"""Neighbours that are too far away to count."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from actup.backends import load_backend
from actup.graph._disconnection import disconnect, disconnection_distance, isolated_points
from actup.graph._records import Neighbors
from actup.neighbors import nearest_neighbors
from actup.recipe._recipe import Recipe


@pytest.mark.parametrize(
    ("metric", "given", "expected"),
    [
        ("euclidean", None, np.inf),
        ("cosine", None, 2),
        ("correlation", None, 2),
        ("hellinger", None, 1),
        ("jaccard", None, 1),
        ("dice", None, 1),
        ("bit_jaccard", None, 1),
        (lambda x, y: 0.0, None, np.inf),
        ("cosine", 0.5, 0.5),
        ("cosine", np.float32(3), 3),
        ("cosine", np.inf, np.inf),
    ],
)
def test_default_distances(metric, given, expected):
    assert disconnection_distance(metric, given) == expected


@pytest.mark.parametrize("wrong", ["far", True, [1.0]])
def test_distances_of_other_types_are_rejected(wrong):
    with pytest.raises(TypeError, match="disconnection_distance="):
        disconnection_distance("euclidean", wrong)


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan])
def test_distances_below_zero_are_rejected(wrong):
    with pytest.raises(ValueError, match="greater than 0"):
        disconnection_distance("euclidean", wrong)


def test_neighbors_at_or_beyond_the_distance_do_not_count():
    given = Neighbors(np.array([[1, 2], [0, 2], [1, 0]]), np.array([[1, 3.0], [1, 2], [2, 3]]), "exact", 0.9)
    lists, disconnected = disconnect(given, 2)
    assert lists.indices.tolist() == [[1, -1], [0, -1], [-1, -1]]
    assert lists.distances.tolist() == [[1, np.inf], [1, np.inf], [np.inf, np.inf]]
    assert disconnected.tolist() == [False, False, True]
    assert (lists.method, lists.recall) == ("exact", 0.9)
    assert given.indices.min() == 0  # not changed
    same, disconnected = disconnect(given, np.inf)
    assert same is given and not disconnected.any()


def test_lists_of_no_neighbors():
    given = Neighbors(np.empty((3, 0)), np.empty((3, 0)))
    assert disconnect(given, 1.0)[0] is given
    assert not disconnect(given, 1.0)[1].any()


def test_isolated_points_are_the_disconnected_rows():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:5] += 100 * np.arange(1, 6)[:, None]
    lists, disconnected = disconnect(nearest_neighbors(X, 10), 20.0)
    graph = load_backend("cpu").affinity_graph(lists, Recipe(), 2)
    np.testing.assert_array_equal(isolated_points(graph), disconnected)
    assert disconnected.tolist() == [True] * 5 + [False] * 195


def disjoint_rows(n, columns):
    """Rows of which no two have a nonzero column in common."""
    rows = np.zeros((n, n * columns))
    for row in range(n):
        rows[row, row * columns : (row + 1) * columns] = np.random.default_rng(row).exponential(size=columns)
    return rows


@pytest.mark.parametrize("columns", [1, 3, 20, 300])
@pytest.mark.parametrize("convert", [np.float32, np.float64, csr_matrix])
def test_rows_at_the_bound_of_a_metric_are_disconnected_whatever_the_rounding(columns, convert):
    disjoint = disjoint_rows(12, columns)
    ray = np.random.default_rng(0).normal(size=5 * columns)
    opposite = np.vstack([ray, -np.arange(1, 12)[:, None] * ray])
    for metric, rows in (
        ("hellinger", disjoint),
        ("jaccard", disjoint),
        ("dice", disjoint),
        ("cosine", opposite),
    ):
        found = nearest_neighbors(convert(rows), 3, metric=metric)
        disconnected = disconnect(found, disconnection_distance(metric))[1]
        assert disconnected[0], metric
        assert disconnected.all() == (metric != "cosine")


def test_rows_that_have_something_in_common_stay_connected():
    rows = np.vstack([np.ones(2000), np.zeros((3, 2000))])
    rows[1:, :2] = 1
    for metric in ("jaccard", "dice", "hellinger", "cosine"):
        found = nearest_neighbors(rows, 1, metric=metric)
        assert not disconnect(found, disconnection_distance(metric))[1].any()
