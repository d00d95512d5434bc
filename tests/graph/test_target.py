"""Supervision: the graph of X intersected with a target."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import poisson
from sklearn.datasets import load_digits

from actup.backends import load_backend
from actup.backends._reference.affinities import directed_affinities
from actup.graph._edit_distances import edit_distances
from actup.graph._set_operations import intersect, reset_local_connectivity
from actup.graph._target import intersect_with_target
from actup.neighbors import nearest_neighbors
from actup.recipe._recipe import Recipe

cpu = load_backend("cpu")
N = 400
X, Y = load_digits().data[:N], load_digits().target[:N]


@pytest.fixture(scope="module")
def graph():
    return cpu.affinity_graph(nearest_neighbors(X, 14), Recipe(), 2)


def supervised(graph, y, metric="categorical", **options):
    result = intersect_with_target(graph, y, metric=metric, backend=cpu, threads=2, **options)
    result.check_structure()
    matrix = result.to_scipy()
    assert (matrix != matrix.T).nnz == 0 and (matrix.data > 0).all() and (matrix.data <= 1).all()
    return matrix


def dense(matrix):
    return matrix.toarray().astype(float)


def reset(p):
    largest = p.max(axis=1, keepdims=True)
    p = p / np.where(largest > 0, largest, 1)
    return p + p.T - p * p.T


def weakened(graph, distances):
    return reset(dense(graph.to_scipy()) * np.exp(-distances))


# --- labels ---


@pytest.mark.parametrize("weight", [0, 0.3, 0.5, 0.9])
def test_categorical(graph, weight):
    different = Y[:, None] != Y[None]
    expected = weakened(graph, different * 2.5 / (1 - weight))
    np.testing.assert_allclose(dense(supervised(graph, Y, weight=weight)), expected, atol=1e-6)


def test_full_weight_cuts_all_edges_between_classes(graph):
    matrix = supervised(graph, Y, weight=1).tocoo()
    assert (Y[matrix.row] == Y[matrix.col]).all()


def test_labels_of_any_type_give_the_same(graph):
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[Y]
    expected = supervised(graph, Y).data
    mixed = np.array([int(v) if v < 5 else f"label {v}" for v in Y], object)
    for y in (Y.astype(float), Y.astype(np.int8), Y.tolist(), Y[:, None], names, names.tolist(), mixed):
        np.testing.assert_array_equal(supervised(graph, y).data, expected)


def test_unknown_labels(graph):
    unknown = np.random.default_rng(0).random(N) < 0.4
    known = ~unknown
    both = known[:, None] & known[None]
    different = (Y[:, None] != Y[None]) * 5.0
    expected = weakened(graph, np.where(both, different, 1.0))
    marked = np.where(unknown, -1, Y)
    as_none = np.array([None if hidden else f"n{v}" for v, hidden in zip(Y, unknown, strict=True)], object)
    mixed = as_none.copy()
    mixed[unknown] = -1
    for y in (marked, marked.astype(float), np.where(unknown, np.nan, Y), as_none, mixed):
        np.testing.assert_allclose(dense(supervised(graph, y)), expected, atol=1e-6)
    listed = [float("nan") if hidden else f"n{v}" for v, hidden in zip(Y, unknown, strict=True)]
    np.testing.assert_allclose(dense(supervised(graph, listed)), expected, atol=1e-6)
    masked = np.ma.masked_array(Y, unknown)
    np.testing.assert_allclose(dense(supervised(graph, masked)), expected, atol=1e-6)


@pytest.mark.parametrize("y", [np.full(N, -1), np.full(N, np.nan), np.array([None] * N, object)])
def test_all_unknown_is_as_without_y(graph, y):
    assert intersect_with_target(graph, y, backend=cpu, threads=1) is graph


def test_minus_one_is_a_rank_and_a_number_like_any_other(graph):
    shifted = Y - 1
    expected = weakened(graph, 5 * np.abs(Y[:, None] - Y[None]) / 4.5)
    np.testing.assert_allclose(dense(supervised(graph, shifted, "ordinal")), expected, atol=1e-6)


def test_counts(graph):
    counts = Y * 3
    surprise = np.concatenate([[0], np.cumsum(-poisson.logpmf(np.arange(28), counts.mean()))])
    distances = np.abs(surprise[counts][:, None] - surprise[counts][None]) / (surprise[27] / 2)
    np.testing.assert_allclose(
        dense(supervised(graph, counts, "count")), weakened(graph, 5 * distances), atol=1e-6
    )


def test_hierarchies(graph):
    fine = {v: v for v in range(10)}
    coarse = {v: v // 3 for v in range(10)}
    distances = np.where(Y[:, None] == Y[None], 0, np.where((Y // 3)[:, None] == (Y // 3)[None], 0.5, 1.0))
    found = supervised(graph, Y, "hierarchical_categorical", metric_kwds={"cat_hierarchy": [fine, coarse]})
    np.testing.assert_allclose(dense(found), weakened(graph, 5 * distances), atol=1e-6)
    with pytest.raises(ValueError, match="cat_hierarchy"):
        supervised(graph, Y, "hierarchical_categorical")
    with pytest.raises(ValueError, match="no category for the label 9"):
        supervised(
            graph, Y, "hierarchical_categorical", metric_kwds={"cat_hierarchy": [{v: v for v in range(9)}]}
        )


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        before, row[0] = row[0], i + 1
        for j, other in enumerate(b):
            before, row[j + 1] = row[j + 1], min(before + (letter != other), row[j] + 1, row[j + 1] + 1)
    return row[-1]


def test_edit_distances():
    random = np.random.default_rng(0)
    texts = [
        "",
        "a",
        "kitten",
        "sitting",
        "ÄÖ",
        *("".join(random.choice(list("abc"), size)) for size in range(15)),
    ]
    left, right = (at.ravel() for at in np.indices((len(texts), len(texts))))
    for most in (1, 3, 30):
        expected = [min(edit_distance(texts[i], texts[j]), most) for i, j in zip(left, right, strict=True)]
        np.testing.assert_array_equal(edit_distances(texts, left, right, most), expected)


@pytest.mark.parametrize("metric", ["string", "myers"])
def test_strings(graph, metric):
    names = np.array(["mouse", "moose", "goose", "house", "horse", "hare", "bear", "deer", "dog", "god"])[Y]
    apart = {(a, b): min(edit_distance(a, b) / (5 / 3), 1) for a in set(names) for b in set(names)}
    distances = np.array([[apart[a, b] for b in names] for a in names])
    np.testing.assert_allclose(
        dense(supervised(graph, names, metric)), weakened(graph, 5 * distances), atol=1e-6
    )


# --- numbers ---


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("columns", [1, 3])
def test_numbers_through_their_neighbors(graph, weight, columns):
    y = X[:, 20 : 20 + columns] + np.random.default_rng(1).normal(size=(N, columns))
    found = nearest_neighbors(y, 9)
    directed = np.zeros((N, N))
    np.put_along_axis(
        directed,
        found.indices.astype(int),
        directed_affinities(np.float64(found.distances), Recipe()),
        axis=1,
    )
    expected = reset_local_connectivity(intersect(graph.to_scipy(), csr_matrix(directed), weight))
    matrix = supervised(graph, y, "euclidean", weight=weight, n_neighbors=10)
    np.testing.assert_allclose(dense(matrix), dense(expected), atol=1e-4)
    if columns == 1:
        flat = supervised(graph, y[:, 0], "euclidean", weight=weight, n_neighbors=10)
        np.testing.assert_array_equal(flat.data, matrix.data)


def test_supervision_by_numbers_pulls_similar_targets_together(graph):
    y = Y + 0.1 * np.random.default_rng(2).normal(size=N)
    matrix, before = supervised(graph, y, "euclidean").tocoo(), graph.to_scipy().tocoo()

    def mean_difference(edges):
        return (edges.data * np.abs(y[edges.row] - y[edges.col])).sum() / edges.data.sum()

    assert mean_difference(matrix) < 0.5 * mean_difference(before)


def test_rows_of_unknown_number_keep_the_edges_of_x(graph):
    y = Y + 0.1 * np.random.default_rng(3).normal(size=N)
    unknown = np.random.default_rng(4).random(N) < 0.4
    matrix = supervised(graph, np.where(unknown, np.nan, y), "euclidean")
    touches = unknown[:, None] | unknown[None]
    np.testing.assert_array_equal(
        np.where(touches, dense(matrix), 0), np.where(touches, dense(graph.to_scipy()), 0)
    )
    known = dense(matrix)[np.ix_(~unknown, ~unknown)]
    np.testing.assert_allclose(known.max(axis=1), 1, rtol=1e-6)
    objects = np.array([None if hidden else float(v) for v, hidden in zip(y, unknown, strict=True)], object)
    np.testing.assert_array_equal(supervised(graph, objects, "euclidean").data, matrix.data)
    assert intersect_with_target(graph, np.full(N, np.nan), metric="l1", backend=cpu, threads=1) is graph


@pytest.mark.parametrize("metric", ["manhattan", "l2", "cosine", lambda a, b: abs(a[0] - b[0])])
def test_other_metrics(metric):
    graph = cpu.affinity_graph(nearest_neighbors(X[:50], 14), Recipe(), 1)
    y = np.random.default_rng(5).uniform(1, 2, (50, 2))
    assert supervised(graph, y, metric).nnz > 0


def test_metric_parameters_and_many_equal_targets(graph):
    supervised(graph, Y, "minkowski", metric_kwds={"p": 3})
    supervised(graph, np.zeros(N), "euclidean")
    assert supervised(graph, Y, "euclidean", n_neighbors=10_000).nnz > 0


# --- errors ---


@pytest.mark.parametrize(
    ("y", "metric", "error", "message"),
    [
        (Y[:-1], "categorical", ValueError, "y has shape .* 400 rows"),
        (Y[:-1], "euclidean", ValueError, "y has shape .* 400 rows"),
        (3, "categorical", ValueError, "y has shape"),
        (np.zeros((N, 2)), "categorical", ValueError, "one label per row"),
        (np.zeros((N, 2, 2)), "euclidean", ValueError, "y has shape"),
        (np.r_[np.inf, Y[1:]], "categorical", ValueError, "y contains infinite"),
        (np.r_[np.inf, Y[1:]], "euclidean", ValueError, "y contains infinite"),
        (np.array(["a"] * N), "euclidean", TypeError, "target_metric='euclidean' needs numbers"),
        (np.array(["a"] * N), "ordinal", TypeError, "target_metric='ordinal' needs numbers"),
        (Y - 1, "count", ValueError, "target_metric='count' needs whole numbers"),
        (Y + 0.5, "count", ValueError, "target_metric='count' needs whole numbers"),
        (Y, "eucildean", ValueError, "target_metric='eucildean'"),
        (Y, "precomputed", ValueError, "target_metric='precomputed'"),
    ],
)
def test_unusable_targets_are_rejected(graph, y, metric, error, message):
    with pytest.raises(error, match=message):
        supervised(graph, y, metric)


def test_unusable_options_are_rejected(graph):
    for weight in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="target_weight="):
            supervised(graph, Y, weight=weight)
    with pytest.raises(TypeError, match="target_weight="):
        supervised(graph, Y, weight="half")
    with pytest.raises(ValueError, match="target_n_neighbors=1"):
        supervised(graph, Y, "euclidean", n_neighbors=1)
    unhashable = np.empty(N, object)
    unhashable[:] = [[1]] * N
    with pytest.raises(TypeError, match="cannot be hashed"):
        supervised(graph, unhashable)


def test_the_target_is_not_changed(graph):
    y = Y.copy()
    supervised(graph, y)
    np.testing.assert_array_equal(y, Y)
