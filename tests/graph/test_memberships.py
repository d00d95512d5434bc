"""Similarities row by row: bandwidths, memberships, and those of new rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup.backends import load_backend
from actup.backends._reference.affinities import directed_affinities
from actup.graph._memberships import bandwidths, memberships, row_memberships
from actup.graph._records import Neighbors
from actup.neighbors import nearest_neighbors
from actup.recipe._recipe import Recipe

K = 15


@pytest.fixture(scope="module")
def found():
    return nearest_neighbors(load_digits().data[:500], K - 1)


@pytest.fixture(scope="module")
def lists(found):
    """Neighbours as umap-learn lists them: the point itself first."""
    own = np.arange(len(found), dtype=np.int32)[:, None]
    distances = np.hstack([np.zeros((len(own), 1), np.float32), found.distances])
    return np.hstack([own, found.indices]), distances


def similarities(lists, sigmas, rhos):
    rows, columns, values, _ = memberships(*lists, sigmas, rhos)
    matrix = np.zeros((len(sigmas), len(sigmas)))
    np.add.at(matrix, (rows, columns), values)
    return matrix


@pytest.mark.parametrize("connectivity", [0, 0.5, 1, 2, 3.3])
def test_they_make_the_graph_of_the_affinity(found, lists, connectivity):
    sigmas, rhos = bandwidths(lists[1], K, connectivity)
    assert sigmas.dtype == rhos.dtype == np.float32 and sigmas.shape == rhos.shape == (len(found),)
    p = similarities(lists, sigmas, rhos)
    graph = load_backend("cpu").affinity_graph(found, Recipe(local_connectivity=connectivity), 2)
    np.testing.assert_allclose(graph.to_scipy().toarray(), p + p.T - p * p.T, atol=2e-6)


@pytest.mark.parametrize("bandwidth", [0.7, 1.0, 1.2])
def test_sums_reach_the_target(lists, bandwidth):
    p = similarities(lists, *bandwidths(lists[1], K, bandwidth=bandwidth))
    np.testing.assert_allclose(p.sum(axis=1), bandwidth * np.log2(K), atol=3e-5)


def test_threads_change_no_bit(lists):
    for one, two in zip(bandwidths(lists[1], K, threads=1), bandwidths(lists[1], K, threads=3), strict=True):
        np.testing.assert_array_equal(one, two)


def test_few_steps_give_a_coarse_sigma(lists):
    coarse, fine = bandwidths(lists[1], K, n_iter=3)[0], bandwidths(lists[1], K)[0]
    np.testing.assert_array_equal(coarse * 8, np.round(coarse * 8))  # 1, doubled or halved three times
    assert not np.array_equal(coarse, fine)


def test_rows_are_sorted_first_and_infinite_distances_do_not_count():
    distances = np.array([[0, 1, 2, 4, np.inf, np.inf], [0, 4, np.inf, 2, 1, np.inf]], np.float32)
    sigmas, rhos = bandwidths(distances, 4)
    assert sigmas[0] == sigmas[1] and rhos.tolist() == [1, 1]
    finite = bandwidths(distances[:1, :4], 4)[0]
    np.testing.assert_allclose(sigmas[:1], finite)


def test_rows_without_any_neighbor_are_finite():
    for distances in ([[0, np.inf, np.inf]], [[np.inf] * 3], [[0, 0, 0]]):
        sigmas, rhos = bandwidths(np.array(distances), 3)
        assert np.isfinite(sigmas).all() and rhos.tolist() == [0]
        values = memberships(np.array([[0, -1, 2]]), np.array(distances), sigmas, rhos)[2]
        assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("distances", "k", "message"),
    [
        ([[0, -1.0]], 2, "negative"),
        ([[0, np.nan]], 2, "NaN"),
        ([0, 1.0], 2, r"\(n, columns\)"),
        ([[0, 1.0]], 1, "k=1"),
    ],
)
def test_unusable_distances_are_rejected(distances, k, message):
    with pytest.raises(ValueError, match=message):
        bandwidths(np.array(distances), k)


def test_memberships_skip_missing_neighbors_and_the_row_itself():
    indices, distances = np.array([[0, 1, -1], [1, 0, 2]]), np.array([[0, 1, 9.0], [0, 1, 3.0]])
    rows, columns, values, dists = memberships(indices, distances, [1.0, 2.0], [1.0, 1.0], return_dists=True)
    assert rows.dtype == columns.dtype == np.int32 and values.dtype == np.float32
    assert rows.tolist() == [0, 0, 0, 1, 1, 1] and columns.tolist() == [0, 1, 0, 1, 0, 2]
    np.testing.assert_allclose(values, [0, 1, 0, 0, 1, np.exp(-1)], rtol=1e-6)
    assert dists.tolist() == [0, 1, 0, 0, 1, 3]
    bipartite = memberships(indices, distances, [1.0, 2.0], [1.0, 1.0], bipartite=True)[2]
    np.testing.assert_allclose(bipartite, [1, 1, 0, 1, 1, np.exp(-1)], rtol=1e-6)
    assert memberships(indices, distances, [0.0, 2.0], [0.5, 1.0])[2][1] == 1  # sigma 0: all alike


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(),
        Recipe(local_connectivity=2.5),
        Recipe(affinity="gaussian", distance="plain", perplexity=4),
        Recipe(affinity="multiscale", distance="plain", perplexities=(3, 6)),
        Recipe(affinity="fixed_sigma", distance="plain", sigma=9.0),
        Recipe(affinity="uniform"),
    ],
    ids=lambda recipe: f"{recipe.affinity}-{recipe.local_connectivity}",
)
def test_new_rows(found, recipe):
    few = Neighbors(found.indices[:40], found.distances[:40])
    matrix = row_memberships(few, recipe, 500, 2)
    assert matrix.shape == (40, 500) and matrix.dtype == np.float32 and matrix.has_sorted_indices
    expected = np.zeros((40, 500))
    np.put_along_axis(
        expected, few.indices.astype(int), directed_affinities(np.float64(few.distances), recipe), axis=1
    )
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=2e-4, atol=1e-7)
    alone = row_memberships(Neighbors(few.indices[7:8], few.distances[7:8]), recipe, 500, 1)
    np.testing.assert_array_equal(alone.toarray()[0], matrix.toarray()[7])  # independent of other rows


def test_disconnected_new_rows_are_empty():
    lists = Neighbors(np.array([[3, -1], [-1, -1]]), np.array([[1.0, np.inf], [np.inf, np.inf]]))
    assert row_memberships(lists, Recipe(), 5, 1).toarray().tolist() == [[0, 0, 0, 1, 0], [0] * 5]
