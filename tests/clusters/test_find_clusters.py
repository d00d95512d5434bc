"""find_clusters: inputs of every kind, layers that nest, labels' places, and what is rejected."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_circles
from sklearn.metrics import adjusted_rand_score

import actup
from actup.clusters._layers import Part, nest

CENTERS = np.array([[0, 0], [30, 0], [0, 30], [30, 30]])


@pytest.fixture
def Y():
    """Four groups of two clusters each."""
    rng = np.random.default_rng(0)
    pairs = (CENTERS[:, None] + np.array([[-4, 0], [4, 0]])).reshape(-1, 2)
    return rng.normal(size=(1600, 2)) + np.repeat(pairs, 200, axis=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return actup.UMAP(random_state=0).fit(X), y


def test_clusters_of_a_map_are_its_groups(Y):
    clusters = actup.find_clusters(Y)
    expected = np.repeat(np.arange(8), 200)
    inside = clusters.labels >= 0
    assert adjusted_rand_score(expected[inside], clusters.labels[inside]) > 0.99
    assert inside.mean() > 0.9
    assert clusters.labels.dtype == np.int32 and len(clusters) == 8


def test_layers_nest_from_coarse_to_fine(Y, digits):
    for source in (Y, digits[0]):
        clusters = actup.find_clusters(source, n_layers=4)
        layers = clusters.layers
        assert [len(layer) for layer in layers] == sorted(len(layer) for layer in layers)
        assert (layers[clusters.main].codes == clusters.labels).all()
        assert (layers[0].parents == -1).all()
        for above, below in pairwise(layers):
            for cluster in range(len(below)):
                assert set(above.codes[below.codes == cluster]) == {below.parents[cluster]}


def test_a_coarse_layer_has_the_groups(Y):
    layer = actup.find_clusters(Y, min_cluster_size=60, n_layers=3).layers[-2]
    assert layer.min_cluster_size == 240 and len(layer) == 4
    assert cdist(layer.centers, CENTERS).min(axis=1).max() < 8


def test_given_sizes_and_numbers_of_layers_are_kept(Y):
    for n_layers in (1, 2, 3):
        clusters = actup.find_clusters(Y, min_cluster_size=30, n_layers=n_layers)
        assert len(clusters.layers) <= n_layers
        assert clusters.layers[-1].min_cluster_size == 30
        assert all((layer.sizes >= 30).all() for layer in clusters.layers)
    assert len(actup.find_clusters(Y, n_layers=1).layers) == 1


def test_numbers_are_by_size(digits):
    for layer in actup.find_clusters(digits[0]).layers:
        assert (np.diff(layer.sizes) <= 0).all()
        assert (layer.sizes == np.bincount(layer.codes[layer.codes >= 0])).all()


def test_labels_stand_inside_their_clusters():
    """The mean of a ring lies in the hole."""
    Y = np.concatenate([make_circles(800, factor=0.99, noise=0.02, random_state=0)[0], [[40, 0]] * 60])
    Y[800:] += np.random.default_rng(0).normal(size=(60, 2))
    layer = actup.find_clusters(Y, min_cluster_size=40).layers[-1]
    assert len(layer) == 2
    for cluster in range(2):
        members = Y[layer.codes == cluster]
        assert (members == layer.centers[cluster]).all(axis=1).any()
    assert np.linalg.norm(layer.centers[0]) > 0.8


def test_representatives_are_distinct_members(digits):
    clusters = actup.find_clusters(digits[0], n_representatives=4)
    for layer in clusters.layers:
        for cluster, rows in enumerate(layer.representatives):
            assert len(set(rows.tolist())) == len(rows) == 4
            assert (layer.codes[rows] == cluster).all()
            assert (digits[0].embedding_[rows[0]] == layer.centers[cluster].astype(np.float32)).all()


def test_all_points_can_be_assigned(Y):
    some = actup.find_clusters(Y)
    everyone = actup.find_clusters(Y, assign_all=True)
    inside = some.labels >= 0
    assert (everyone.labels >= 0).all() and not inside.all()
    assert (everyone.labels[inside] == some.labels[inside]).all()
    assert everyone.layers[everyone.main].sizes.sum() == len(Y)


def test_digits_are_found(digits):
    model, y = digits
    clusters = actup.find_clusters(model)
    assert adjusted_rand_score(y, clusters.labels) > 0.8
    same = actup.find_clusters(model.embedding_)
    assert (same.labels == clusters.labels).all()


def test_the_graph_has_the_digits_too(digits):
    model, y = digits
    clusters = actup.find_clusters(model, space="graph", assign_all=True)
    assert adjusted_rand_score(y, clusters.labels) > 0.7
    given = actup.find_clusters(model.embedding_, graph=model.graph_, assign_all=True)
    assert (given.labels == clusters.labels).all()


def test_results_of_embed_are_read():
    X = load_digits().data[:400]
    done = actup.embed(X, "umap", seed=0)
    for space in ("map", "graph"):
        assert actup.find_clusters(done, space=space).labels.shape == (400,)


def test_thread_counts_change_nothing(Y):
    one = actup.find_clusters(Y, n_jobs=1)
    for found in (actup.find_clusters(Y, n_jobs=3), actup.find_clusters(Y)):
        for first, second in zip(one.layers, found.layers, strict=True):
            assert (first.codes == second.codes).all()
            assert (first.centers == second.centers).all()
            assert (first.persistence == second.persistence).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e150, 1e300])
def test_the_scale_of_a_map_does_not_matter(Y, scale):
    assert (actup.find_clusters(Y * scale).labels == actup.find_clusters(Y * 2.0).labels).mean() > 0.999


WITHOUT_STRUCTURE = {
    "one point": np.zeros((1, 2)),
    "two points": np.eye(2),
    "equal points": np.ones((500, 2)),
    "a line": np.column_stack([np.arange(500.0), 2 * np.arange(500.0)]),
    "no places": np.full((40, 2), np.nan),
    "one dimension": np.arange(300.0),
}


@pytest.mark.parametrize("name", WITHOUT_STRUCTURE)
@pytest.mark.parametrize("assign_all", [False, True])
def test_maps_without_structure_have_no_clusters(name, assign_all):
    clusters = actup.find_clusters(WITHOUT_STRUCTURE[name], assign_all=assign_all)
    assert (clusters.labels == -1).all()
    assert len(clusters) == 0 and len(clusters.layers) == 1
    assert clusters.layers[0].centers.shape[0] == 0
    assert all(len(column) == 0 for column in clusters.to_table().values())
    assert "0 in the main layer" in repr(clusters)


def test_points_without_a_place_are_in_no_cluster(Y):
    holes = Y.copy()
    holes[::7] = np.nan
    clusters = actup.find_clusters(holes, assign_all=True)
    assert (clusters.labels[::7] == -1).all()
    assert (np.delete(clusters.labels, np.s_[::7]) >= 0).all()
    assert np.isfinite(clusters.layers[-1].centers).all()


def test_duplicates_are_clusters():
    Y = np.repeat([[0.0, 0], [1, 0], [0, 1]], 50, axis=0)
    clusters = actup.find_clusters(Y, min_cluster_size=20)
    assert clusters.layers[-1].sizes.tolist() == [50, 50, 50]
    assert [len(rows) for rows in clusters.layers[-1].representatives] == [1, 1, 1]


def test_components_of_a_graph_are_clusters():
    block = np.ones((20, 20)) - np.eye(20)
    W = csr_matrix(np.kron(np.eye(3), block))
    clusters = actup.find_clusters(np.random.default_rng(0).normal(size=(60, 2)), graph=W)
    assert clusters.layers[-1].sizes.tolist() == [20, 20, 20]
    assert adjusted_rand_score(np.repeat([0, 1, 2], 20), clusters.labels) == 1


def test_a_graph_without_edges_has_no_clusters():
    assert (actup.find_clusters(np.zeros((9, 2)), graph=csr_matrix((9, 9))).labels == -1).all()


REJECTED = [
    ({"Y": np.zeros((0, 2))}, "at least one point"),
    ({"Y": np.zeros((3, 2, 2))}, "shape"),
    ({"Y": np.full((3, 2), np.inf)}, "infinite in row 0"),
    ({"Y": np.zeros((3, 17))}, "at most 16"),
    ({"Y": np.array(["a", "b"])}, "real numbers"),
    ({"Y": actup.UMAP()}, "is a UMAP that is not fitted: call fit first"),
    ({"min_cluster_size": 1}, "min_cluster_size=1 must be at least 2"),
    ({"min_cluster_size": 2.5}, "whole number"),
    ({"min_samples": 0}, "min_samples=0 must be at least 1"),
    ({"n_layers": 0}, "n_layers=0"),
    ({"n_representatives": 0}, "n_representatives=0"),
    ({"n_representatives": None}, "n_representatives"),
    ({"selection": "best"}, "'balanced', 'eom', 'leaf'"),
    ({"space": "data"}, "'map', 'graph'"),
    ({"space": "graph"}, "needs a fitted model"),
    ({"graph": csr_matrix(np.eye(5))}, "graph has 5 points, but the map has 30"),
    ({"graph": csr_matrix(-np.ones((30, 30)))}, "at least 0"),
    ({"texts": ["a"] * 29}, "texts has 29 entries, but there are 30"),
    ({"texts": "some text"}, "one text per point"),
    ({"labels": np.arange(29)}, "labels must have the shape"),
    ({"labels": np.arange(30), "texts": ["a"] * 30}, "leave one"),
    ({"texts": ["a word"] * 30, "stop_words": "klingon"}, "'english'"),
]


@pytest.mark.parametrize(("changes", "message"), REJECTED)
def test_errors_name_the_parameter(changes, message):
    arguments = {"Y": np.random.default_rng(0).normal(size=(30, 2))} | changes
    with pytest.raises((ValueError, TypeError), match=message):
        actup.find_clusters(arguments.pop("Y"), **arguments)


def test_parts_of_two_layers_are_made_to_nest():
    def parts(*ranges):
        return [Part(begin, end, 0.5) for begin, end in ranges]

    fine = parts((0, 10), (20, 60), (70, 75))
    coarse = parts((0, 12), (20, 30), (40, 60), (80, 90))
    assert nest(fine, coarse) == parts((0, 12), (20, 60), (80, 90))
    assert nest(fine, coarse, finer_wins=False) == parts((0, 10), (20, 30), (40, 60), (70, 75))
    assert nest(fine, []) == [] and nest([], coarse) == coarse


def test_tables_have_a_row_per_cluster(digits):
    model, y = digits
    clusters = actup.find_clusters(model, labels=y)
    table, frame = clusters.to_table(), clusters.to_frame()
    count = sum(len(layer) for layer in clusters.layers)
    assert all(len(column) == count for column in table.values())
    assert list(frame.columns) == list(table) and len(frame) == count
    main = frame[frame["layer"] == clusters.main]
    assert main["size"].tolist() == clusters.layers[clusters.main].sizes.tolist()
    assert (main["label_share"] > 0.5).all()
    assert {"x", "y", "parent", "persistence", "representatives"} <= set(table)


def test_tables_of_many_dimensions_number_the_axes():
    Y = np.repeat(np.eye(5), 30, axis=0)
    assert {"center_0", "center_4"} <= set(actup.find_clusters(Y).to_table())
