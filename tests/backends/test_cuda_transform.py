"""New rows on the GPU: their neighbours, independence of each other, training rows, kinds of arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import actup
from actup.backends import cuda_is_available
from actup.neighbors import NeighborIndex

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU"),
]

KINDS = [actup.UMAP, actup.TSNE, actup.GDR, lambda **more: actup.GDR(True, **more)]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    return X[::2], X[1::2], y[::2], y[1::2]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev"])
@pytest.mark.parametrize("k", [1, 14, 40])
def test_neighbours_equal_those_of_the_cpu(metric, k):
    import cupy as cp

    from actup.backends._cuda.transform import query_neighbors

    random = np.random.default_rng(0)
    X, new = (random.standard_normal((n, 23)).astype(np.float32) for n in (5000, 700))
    found = query_neighbors(X, cp.asarray(new), k, metric)
    wanted = NeighborIndex(X, metric=metric, algorithm="exact").query(new, k)
    np.testing.assert_allclose(found.distances.get(), wanted.distances, rtol=1e-4, atol=1e-6)
    assert np.mean(found.indices.get() == wanted.indices) > 0.999
    alone = query_neighbors(X, cp.asarray(new[9:10]), k, metric)
    np.testing.assert_array_equal(alone.indices.get()[0], found.indices.get()[9])
    np.testing.assert_array_equal(alone.distances.get()[0], found.distances.get()[9])
    own = query_neighbors(X, cp.asarray(X[:300]), k, metric)
    assert (own.distances.get()[:, 0] == 0).all()
    np.testing.assert_array_equal(own.indices.get()[:, 0], np.arange(300))


def test_rows_are_searched_in_chunks(monkeypatch):
    import cupy as cp

    from actup.backends._cuda import transform

    X = np.random.default_rng(0).standard_normal((3000, 9)).astype(np.float32)
    whole = transform.query_neighbors(X[:2000], cp.asarray(X[2000:]), 5, "cosine")
    monkeypatch.setattr(transform, "_CHUNK_ROWS", 300)
    parts = transform.query_neighbors(X[:2000], cp.asarray(X[2000:]), 5, "cosine")
    for name in ("indices", "distances"):
        np.testing.assert_array_equal(getattr(whole, name).get(), getattr(parts, name).get())


@pytest.mark.parametrize("make", KINDS)
def test_placement(make, digits):
    import cupy as cp

    X, new, y, new_y = digits
    model = make(random_state=0, backend="cuda").fit(X)
    before = model.embedding_.copy()
    placed = model.transform(new)
    assert isinstance(placed, np.ndarray) and placed.dtype == np.float32
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_array_equal(model.transform(new[order]), placed[order])
    np.testing.assert_array_equal(model.transform(new[5:6])[0], placed[5])
    np.testing.assert_array_equal(model.transform(X), before)
    on_device = model.transform(cp.asarray(new))
    assert isinstance(on_device, cp.ndarray)
    np.testing.assert_array_equal(on_device.get(), placed)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), placed)
    oracle = pickle.loads(pickle.dumps(model)).set_params(backend="reference").transform(new)
    near = KNeighborsClassifier(10).fit(model.embedding_, y)
    assert abs(near.score(placed, new_y) - near.score(oracle, new_y)) < 0.01
    size = np.ptp(model.embedding_, axis=0).max()
    away = np.sqrt(((placed - oracle) ** 2).sum(axis=1))
    assert np.quantile(away, 0.9) < 0.01 * size


def test_a_model_of_arrays_on_the_device(digits):
    import cupy as cp

    X, new, _, _ = digits
    model = actup.GDR(random_state=0, backend="cuda", epochs=20).fit(cp.asarray(X))
    placed = model.transform(cp.asarray(new))
    assert isinstance(placed, cp.ndarray) and isinstance(model.embedding_, cp.ndarray)
    np.testing.assert_array_equal(model.transform(new), placed.get())
    np.testing.assert_array_equal(model.transform(cp.asarray(X)).get(), model.embedding_.get())
    with pytest.raises(ValueError, match="63 features"):
        model.transform(cp.asarray(new[:, 1:]))
    with pytest.raises(ValueError, match="NaN"):
        model.transform(cp.full((2, 64), cp.nan))


@pytest.mark.parametrize("metric", ["inner_product", "canberra", "sqeuclidean"])
def test_other_metrics_are_searched_on_the_cpu(metric, digits):
    X, new, _, _ = digits
    model = actup.UMAP(metric=metric, n_epochs=20, random_state=0, backend="cuda").fit(X[:300])
    placed = model.transform(new[:50])
    assert np.isfinite(placed).all()
    np.testing.assert_array_equal(model.transform(new[7:8])[0], placed[7])
