"""Very many points start around the places of their landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import actup
from actup.backends import backends, load_backend
from actup.quality import knn_accuracy
from actup.recipe._presets import preset
from actup.start import _landmarks as landmarks
from actup.start import _start

cpu = load_backend("cpu")

BACKENDS = [name for name in backends() if name != "reference"]


@pytest.fixture(autouse=True)
def many_is_less(monkeypatch):
    monkeypatch.setattr(landmarks, "LANDMARK_MIN_POINTS", 5_000)
    monkeypatch.setattr(landmarks, "LANDMARKS", 600)


def blobs(n: int, columns: int = 12):
    """Rows around twenty centres on a circle, and the centre of each."""
    random = np.random.default_rng(9)
    of = random.integers(20, size=n)
    X = np.zeros((n, columns))
    X[:, 0], X[:, 1] = 10 * np.cos(of * np.pi / 10), 10 * np.sin(of * np.pi / 10)
    return (X + random.normal(size=X.shape)).astype(np.float32), of


def start_of(X, recipe, backend: str, threads: int = 1, seed: int = 0):
    """The start as an array on the host, and what was used."""
    engine = load_backend(backend)
    rows = X
    if backend == "cuda":
        import cupy

        rows = cupy.asarray(X)
    graph = engine.affinity_graph(engine.nearest_neighbors(rows, 14, recipe.metric, threads), recipe, threads)
    Y, used = _start.make_start(rows, graph, recipe, None, seed, threads, engine)
    return (Y.get() if backend == "cuda" else Y), used


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_neighbouring_groups_start_side_by_side(dimensions, metric, backend):
    """Points of a blob are together, blobs that are neighbours too, and a seed gives the same bits."""
    X, of = blobs(20_000)
    recipe = preset("umap").but(n_components=dimensions, metric=metric)
    Y, used = start_of(X, recipe, backend)
    assert used.startswith("spectral (of a map of ") and used.endswith(" landmarks)")
    assert 500 <= int(used.split()[-2]) <= 700
    assert Y.shape == (20_000, dimensions) and Y.dtype == np.float32
    np.testing.assert_array_equal(start_of(X, recipe, backend, threads=2)[0], Y)
    assert not np.array_equal(start_of(X, recipe, backend, seed=1)[0], Y)
    assert len(np.unique(Y, axis=0)) == len(Y)
    means = np.array([Y[of == blob].mean(axis=0) for blob in range(20)])
    steps = np.linalg.norm(means - np.roll(means, 1, axis=0), axis=1)
    across = np.linalg.norm(means - np.roll(means, 10, axis=0), axis=1)
    assert within_share(Y, of) < 0.4
    assert steps.mean() < 0.4 * across.mean()


def within_share(Y, of) -> float:
    """How widely points of one group lie, as a share of all points' width."""
    within = np.mean([np.linalg.norm(Y[of == group].std(axis=0)) for group in np.unique(of)])
    return within / np.linalg.norm(Y.std(axis=0))


def test_landmarks_are_the_means_of_their_rows():
    """In columns of codes: distances between landmarks are those of the mean rows, up to one factor."""
    X, _ = blobs(20_000)
    found, labels = cpu.find_landmarks(X, "euclidean", 600, 0, 2)
    assert labels.dtype == np.int32 and set(labels) == set(range(len(found)))
    sizes = np.bincount(labels)
    means = np.array([np.bincount(labels, column) for column in X.T]).T / sizes[:, None]
    theirs = np.linalg.norm(found[:, None] - found, axis=2)
    ours = np.linalg.norm(means[:, None] - means, axis=2)
    apart = ours > 1
    ratios = theirs[apart] / ours[apart]
    assert ratios.std() < 0.02 * ratios.mean()
    assert np.square(X - means[labels]).sum(axis=1).mean() < 0.8 * 12  # of the variance within a blob


def test_landmarks_depend_on_seed_and_metric():
    """Rows of one direction and different lengths share landmarks under cosine only."""
    random = np.random.default_rng(4)
    directions = np.repeat(random.normal(size=(20, 12)), 300, axis=0)
    X = (directions * random.uniform(1, 9, (6_000, 1))).astype(np.float32)
    assert len(cpu.find_landmarks(X, "cosine", 20, 0, 1)[0]) < 40
    of = np.repeat(np.arange(20), 300)

    def mixed(metric: str) -> float:  # landmarks over directions: how evenly lengths are spread among them
        _, labels = cpu.find_landmarks(X, metric, 100, 0, 1)
        lengths = np.linalg.norm(X, axis=1) / np.linalg.norm(directions, axis=1)
        means = np.bincount(labels, lengths) / np.bincount(labels)
        return np.square(lengths - means[labels]).mean() / lengths.var()

    assert mixed("cosine") > 0.9 > 0.3 > mixed("euclidean")
    by_direction = cpu.find_landmarks(X, "cosine", 100, 0, 1)[1]
    assert all(len(np.unique(of[by_direction == at])) == 1 for at in np.unique(by_direction))
    Z, _ = blobs(6_000)
    first, again, other = (cpu.find_landmarks(Z, "euclidean", 300, seed, 1)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_rows_lie_within_reach_of_their_landmarks_place():
    random = np.random.default_rng(2)
    places = random.normal(size=(50, 3)).astype(np.float32)
    labels = random.integers(0, 50, 20_000).astype(np.int32)
    moved = cpu.scatter_around(places, labels, 0.25, 1, 2) - places[labels]
    assert np.abs(moved).max() <= 0.25 + 1e-6
    np.testing.assert_allclose(moved.std(axis=0), 0.25 / np.sqrt(3), rtol=0.02)
    np.testing.assert_allclose(moved.mean(axis=0), 0, atol=0.005)


def test_far_groups_keep_their_own_landmarks():
    """Most rows in one clump, the others in groups far away: few landmarks hold rows of two groups."""
    random = np.random.default_rng(3)
    of = np.where(random.random(20_000) < 0.6, 20, random.integers(0, 20, 20_000))
    centers = np.vstack([100 * random.normal(size=(20, 3)), np.zeros((1, 3))])
    X = (centers[of] + random.normal(size=(20_000, 3))).astype(np.float32)
    _, labels = cpu.find_landmarks(X, "euclidean", 600, 0, 2)
    far = of < 20
    largest = [np.bincount(of[labels == at]).max() for at in np.unique(labels[far])]
    assert sum(largest) > 0.98 * np.isin(labels, labels[far]).sum()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int8])
def test_every_metric_and_type_of_rows(metric, dtype):
    X, of = blobs(6_000)
    X = (4 * (X + 14)).astype(dtype)
    Y, used = start_of(X, preset("umap").but(metric=metric), "cpu")
    assert "landmarks" in used and np.isfinite(Y).all()
    assert within_share(Y, of) < 0.5


def test_inner_products_start_at_landmarks():
    X, of = blobs(6_000)
    model = actup.UMAP(metric="inner_product", n_epochs=1, learning_rate=1e-6, random_state=0).fit(X)
    assert "landmarks" in model.init_used_
    assert within_share(model.embedding_, of) < 0.5


def test_copies_and_constant_columns():
    """Rows of which many are the same have landmarks too, and start apart."""
    X, _ = blobs(6_000)
    X[:4_000] = X[0]
    X = np.hstack([X, np.full((6_000, 30), 7, np.float32)])
    Y, used = start_of(X, preset("umap"), "cpu")
    assert "landmarks" in used
    assert np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == len(Y)


def test_who_starts_at_eigenvectors():
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


def test_the_map_keeps_its_groups():
    X, of = blobs(20_000)
    made = actup.embed(X, "umap", seed=0)
    assert "landmarks" in made.init_used
    assert within_share(made.embedding, of) < 0.3
    assert knn_accuracy(made.embedding, of) > 0.95 * knn_accuracy(X[:, :2], of)


def test_landmarks_of_doubles_far_from_zero():
    X, _ = blobs(6_000)
    rows = np.round(X.astype(np.float64) * 64) / 64  # the same after 1e9 is added
    near, far = (cpu.find_landmarks(shifted, "euclidean", 600, 0, 1) for shifted in (rows, rows + 1e9))
    assert len(far[0]) == pytest.approx(len(near[0]), rel=0.1)
