"""Very many points start around the places of their landmarks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import actup
from actup import initialization, landmarks
from actup.backends import backends, cpu, load_backend
from actup.cookbook import preset

BACKENDS = [name for name in backends() if name != "reference"]


@pytest.fixture(autouse=True)
def many_is_less(monkeypatch):
    monkeypatch.setattr(landmarks, "MANY", 5_000)
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
    begin_at = getattr(engine, "make_start", partial(initialization.make_start, backend=engine))
    Y, used = begin_at(rows, graph, recipe, None, seed, threads)
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
    within = np.mean([np.linalg.norm(Y[of == blob].std(axis=0)) for blob in range(20)])
    steps = np.linalg.norm(means - np.roll(means, 1, axis=0), axis=1)
    across = np.linalg.norm(means - np.roll(means, 10, axis=0), axis=1)
    assert within < 0.4 * np.linalg.norm(Y.std(axis=0))
    assert steps.mean() < 0.4 * across.mean()


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
    # Rows are near their landmark: nearer than the mean row of a twentieth of the data is to its rows.
    assert np.square(X - means[labels]).sum(axis=1).mean() < 0.8 * 12


@pytest.mark.parametrize("metric", cpu.LANDMARK_METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
def test_every_metric_and_type_of_rows(metric, dtype):
    X, of = blobs(6_000)
    X = (8 * (X + 14)).astype(dtype)
    model = actup.UMAP(metric=metric, n_epochs=5, random_state=0).fit(X)
    assert "landmarks" in model.init_used_
    places = np.array([model.embedding_[of == blob].mean(axis=0) for blob in range(20)])
    assert np.isfinite(model.embedding_).all() and len(np.unique(places, axis=0)) == 20


def test_copies_and_constant_columns():
    """Rows of which many are the same have landmarks too, and start apart."""
    X, _ = blobs(6_000)
    X[:4_000] = X[0]
    X = np.hstack([X, np.full((6_000, 30), 7, np.float32)])
    Y, used = start_of(X, preset("umap"), "cpu")
    assert "landmarks" in used
    assert np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == len(Y)


def test_other_rows_start_at_eigenvectors():
    X, _ = blobs(6_000)
    for rows, more in ((csr_matrix(np.abs(X)), {}), (X, {"metric": "canberra"})):
        model = actup.UMAP(n_epochs=5, random_state=0, **more).fit(rows)
        assert model.init_used_ == "spectral"
    known = actup.embed(None, preset("umap").but(epochs=5), graph=actup.embed(X, "umap").graph)
    assert known.init_used == "spectral"


def test_the_map_keeps_its_groups():
    X, of = blobs(20_000)
    made = actup.embed(X, "umap", seed=0)
    assert "landmarks" in made.init_used
    assert actup.metrics.knn_accuracy(made.embedding, of) > 0.95 * actup.metrics.knn_accuracy(X[:, :2], of)
