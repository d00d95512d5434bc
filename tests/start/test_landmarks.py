"""Starts of very large maps: points are scattered around the map of their landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import actup
from actup.backends import backends, load_backend
from actup.quality import knn_accuracy
from actup.recipe._presets import preset
from actup.start import _coordinates, _landmarks, _start

cpu = load_backend("cpu")

BACKENDS = [name for name in backends() if name != "reference"]


@pytest.fixture(autouse=True)
def lower_landmark_threshold(monkeypatch):
    """Use landmarks at sizes that are quick to test."""
    monkeypatch.setattr(_landmarks, "LANDMARK_MIN_POINTS", 5_000)
    monkeypatch.setattr(_landmarks, "LANDMARKS", 600)


def blobs(n: int, columns: int = 12):
    """Rows around twenty centres on a circle, and the number of each row's centre."""
    random = np.random.default_rng(9)
    groups = random.integers(20, size=n)
    X = np.zeros((n, columns))
    X[:, 0], X[:, 1] = 10 * np.cos(groups * np.pi / 10), 10 * np.sin(groups * np.pi / 10)
    return (X + random.normal(size=X.shape)).astype(np.float32), groups


def start_of(X, recipe, backend_name: str, threads: int = 1, seed: int = 0):
    """The start as an array on the host, and the start's description."""
    backend = load_backend(backend_name)
    rows = X
    if backend_name == "cuda":
        import cupy

        rows = cupy.asarray(X)
    graph = backend.affinity_graph(
        backend.nearest_neighbors(rows, 14, recipe.metric, threads), recipe, threads
    )
    Y, used = _start.make_start(rows, graph, recipe, None, seed, threads, backend)
    return (Y.get() if backend_name == "cuda" else Y), used


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_neighboring_groups_start_side_by_side(dimensions, metric, backend):
    """Points of a blob start together, neighbouring blobs side by side, and a seed gives the same bits."""
    X, groups = blobs(20_000)
    recipe = preset("umap").but(n_components=dimensions, metric=metric)
    Y, used = start_of(X, recipe, backend)
    assert used.startswith("spectral (of a map of ") and used.endswith(" landmarks)")
    assert 500 <= int(used.split()[-2]) <= 700
    assert Y.shape == (20_000, dimensions) and Y.dtype == np.float32
    np.testing.assert_array_equal(start_of(X, recipe, backend, threads=2)[0], Y)
    assert not np.array_equal(start_of(X, recipe, backend, seed=1)[0], Y)
    assert len(np.unique(Y, axis=0)) == len(Y)
    means = np.array([Y[groups == blob].mean(axis=0) for blob in range(20)])
    steps = np.linalg.norm(means - np.roll(means, 1, axis=0), axis=1)
    across = np.linalg.norm(means - np.roll(means, 10, axis=0), axis=1)
    assert within_share(Y, groups) < 0.4
    assert steps.mean() < 0.4 * across.mean()


def within_share(Y, groups) -> float:
    """The mean spread of one group's points as a share of the spread of all points."""
    within = np.mean([np.linalg.norm(Y[groups == group].std(axis=0)) for group in np.unique(groups)])
    return within / np.linalg.norm(Y.std(axis=0))


def test_landmarks_replace_eigenvectors_that_tell_few_points_apart(monkeypatch):
    """Only one solve is tried for many points, and all of them for few."""
    monkeypatch.setattr(_landmarks, "LANDMARK_MIN_POINTS", 10**9)
    monkeypatch.setattr(_landmarks, "REPLACEMENT_MIN_POINTS", 5_000)
    solved = []
    solve = type(cpu).spectral_coordinates

    def recorded(backend, graph, dimensions, seed, threads):
        solved.append((len(graph) == len(X), dimensions))
        return solve(backend, graph, dimensions, seed, threads)

    monkeypatch.setattr(type(cpu), "spectral_coordinates", recorded)
    X, recipe = blobs(8_000)[0], preset("umap")
    assert start_of(X, recipe, "cpu")[1] == "spectral" and solved == [(True, 2)]
    monkeypatch.setattr(_coordinates, "MIN_CENTRAL_SHARE", 2.0)  # of the range: no vector is informative
    solved.clear()
    assert start_of(X, recipe, "cpu")[1].endswith(" landmarks)")
    assert solved == [(True, 2), (False, 2), (False, 6), (False, 14)]  # of all points, then of the landmarks
    monkeypatch.setattr(_landmarks, "REPLACEMENT_MIN_POINTS", 10**9)
    solved.clear()
    assert start_of(X, recipe, "cpu")[1] == "spectral" and solved == [(True, 2), (True, 6), (True, 14)]


def test_landmarks_are_the_means_of_their_rows():
    """Landmarks are means of codes: their distances are those of the mean rows up to a common factor."""
    X, _ = blobs(20_000)
    found, labels = cpu.find_landmarks(X, "euclidean", 600, 0, 2)
    assert labels.dtype == np.int32 and set(labels) == set(range(len(found)))
    sizes = np.bincount(labels)
    means = np.array([np.bincount(labels, column) for column in X.T]).T / sizes[:, None]
    landmark_distances = np.linalg.norm(found[:, None] - found, axis=2)
    mean_distances = np.linalg.norm(means[:, None] - means, axis=2)
    apart = mean_distances > 1
    ratios = landmark_distances[apart] / mean_distances[apart]
    assert ratios.std() < 0.02 * ratios.mean()
    assert np.square(X - means[labels]).sum(axis=1).mean() < 0.8 * 12  # of the variance within a blob


def test_landmarks_depend_on_seed_and_metric():
    """Rows of one direction and different lengths share landmarks under cosine only."""
    random = np.random.default_rng(4)
    directions = np.repeat(random.normal(size=(20, 12)), 300, axis=0)
    X = (directions * random.uniform(1, 9, (6_000, 1))).astype(np.float32)
    assert len(cpu.find_landmarks(X, "cosine", 20, 0, 1)[0]) < 40
    groups = np.repeat(np.arange(20), 300)

    def length_variance(metric: str) -> float:
        """The share of the variance of row lengths that remains within landmarks."""
        _, labels = cpu.find_landmarks(X, metric, 100, 0, 1)
        lengths = np.linalg.norm(X, axis=1) / np.linalg.norm(directions, axis=1)
        means = np.bincount(labels, lengths) / np.bincount(labels)
        return np.square(lengths - means[labels]).mean() / lengths.var()

    assert length_variance("cosine") > 0.9 > 0.3 > length_variance("euclidean")
    by_direction = cpu.find_landmarks(X, "cosine", 100, 0, 1)[1]
    assert all(len(np.unique(groups[by_direction == landmark])) == 1 for landmark in np.unique(by_direction))
    Z, _ = blobs(6_000)
    first, again, other = (cpu.find_landmarks(Z, "euclidean", 300, seed, 1)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_rows_are_scattered_within_reach_of_their_landmark():
    random = np.random.default_rng(2)
    places = random.normal(size=(50, 3)).astype(np.float32)
    labels = random.integers(0, 50, 20_000).astype(np.int32)
    offsets = cpu.scatter_around(places, labels, 0.25, 1, 2) - places[labels]
    assert np.abs(offsets).max() <= 0.25 + 1e-6
    np.testing.assert_allclose(offsets.std(axis=0), 0.25 / np.sqrt(3), rtol=0.02)
    np.testing.assert_allclose(offsets.mean(axis=0), 0, atol=0.005)


def test_far_groups_keep_their_own_landmarks():
    """Most rows in one clump, the others in groups far away: few landmarks hold rows of two groups."""
    random = np.random.default_rng(3)
    groups = np.where(random.random(20_000) < 0.6, 20, random.integers(0, 20, 20_000))
    centers = np.vstack([100 * random.normal(size=(20, 3)), np.zeros((1, 3))])
    X = (centers[groups] + random.normal(size=(20_000, 3))).astype(np.float32)
    _, labels = cpu.find_landmarks(X, "euclidean", 600, 0, 2)
    far = groups < 20
    largest = [np.bincount(groups[labels == landmark]).max() for landmark in np.unique(labels[far])]
    assert sum(largest) > 0.98 * np.isin(labels, labels[far]).sum()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int8])
def test_every_metric_and_dtype(metric, dtype):
    X, groups = blobs(6_000)
    X = (4 * (X + 14)).astype(dtype)
    Y, used = start_of(X, preset("umap").but(metric=metric), "cpu")
    assert "landmarks" in used and np.isfinite(Y).all()
    assert within_share(Y, groups) < 0.5


def test_inner_product_metric_starts_at_landmarks():
    X, groups = blobs(6_000)
    model = actup.UMAP(metric="inner_product", n_epochs=1, learning_rate=1e-6, random_state=0).fit(X)
    assert "landmarks" in model.init_used_
    assert within_share(model.embedding_, groups) < 0.5


def test_duplicates_and_constant_columns():
    """Rows with many duplicates have landmarks too, and all rows start at distinct places."""
    X, _ = blobs(6_000)
    X[:4_000] = X[0]
    X = np.hstack([X, np.full((6_000, 30), 7, np.float32)])
    Y, used = start_of(X, preset("umap"), "cpu")
    assert "landmarks" in used
    assert np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == len(Y)


def test_sparse_rows_and_unsupported_metrics_start_at_eigenvectors():
    X, _ = blobs(6_000)
    for rows, more in (
        (csr_matrix(np.abs(X)), {}),
        (X, {"metric": "canberra"}),
        (np.abs(X), {"metric": "hellinger"}),
    ):
        model = actup.UMAP(n_epochs=5, random_state=0, **more).fit(rows)
        assert model.init_used_ == "spectral"
    recipe = preset("umap").but(epochs=5)
    graph = actup.embed(X, recipe).graph
    assert actup.embed(None, recipe, graph=graph).init_used == "spectral"
    assert "landmarks" in actup.embed(X, recipe, graph=graph).init_used


def test_map_from_landmarks_keeps_groups_together():
    X, groups = blobs(20_000)
    made = actup.embed(X, "umap", seed=0)
    assert "landmarks" in made.init_used
    assert within_share(made.embedding, groups) < 0.3
    assert knn_accuracy(made.embedding, groups) > 0.95 * knn_accuracy(X[:, :2], groups)


def test_landmarks_of_float64_rows_far_from_zero():
    X, _ = blobs(6_000)
    rows = np.round(X.astype(np.float64) * 64) / 64  # exact after adding 1e9
    near, far = (cpu.find_landmarks(shifted, "euclidean", 600, 0, 1) for shifted in (rows, rows + 1e9))
    assert len(far[0]) == pytest.approx(len(near[0]), rel=0.1)
