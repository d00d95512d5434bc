"""The whole pipeline on the GPU: kinds of arrays, quality compared with the CPU, and rejected input."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.neighbors import KNeighborsClassifier

import actup
from actup.backends import choose_backend, cuda_is_available, load_backend
from actup.recipe._presets import preset

needs_gpu = pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(6000, 20, centers=12, random_state=0)
    return X.astype(np.float32), y


def accuracy(Y, y) -> float:
    """The accuracy at which a third of the labels is predicted from the other points nearest on the map."""
    held = np.arange(len(Y)) % 3 == 0
    model = KNeighborsClassifier(10).fit(Y[~held], y[~held])
    return model.score(Y[held], y[held])


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("make", [actup.UMAP, actup.TSNE, actup.GDR, lambda **more: actup.GDR(True, **more)])
@pytest.mark.parametrize("data", ["digits", "blobs"])
def test_maps_are_as_good_as_those_of_the_cpu(make, data, request):
    X, y = request.getfixturevalue(data)
    mine = make(random_state=0, backend="cuda").fit(X)
    theirs = make(random_state=0, backend="cpu").fit(X)
    assert isinstance(mine.embedding_, np.ndarray) and mine.embedding_.dtype == np.float32
    assert accuracy(mine.embedding_, y) > accuracy(theirs.embedding_, y) - 0.015
    assert set(mine.stage_seconds_) == {"neighbors", "graph", "start", "layout"}
    assert abs(mine.graph_ - theirs.graph_).max() < 1e-4 or data == "blobs"


@pytest.mark.cuda
@needs_gpu
def test_the_same_bits_in_every_run(blobs):
    X, _ = blobs
    for estimator in (actup.UMAP, actup.TSNE, actup.GDR):
        first = estimator(random_state=3, backend="cuda").fit_transform(X)
        second = estimator(random_state=3, backend="cuda").fit_transform(X)
        np.testing.assert_array_equal(first, second)


@pytest.mark.cuda
@needs_gpu
def test_cupy_in_cupy_out(blobs):
    import cupy as cp

    X, _ = blobs
    given = cp.asarray(X)
    result = actup.embed(given, preset("gdr_umap").but(epochs=20), backend="cuda")
    assert isinstance(result.embedding, cp.ndarray)
    assert isinstance(result.graph.weights, cp.ndarray) and isinstance(result.neighbors.indices, cp.ndarray)
    host = actup.embed(X, preset("gdr_umap").but(epochs=20), backend="cuda")
    for array in (host.embedding, host.graph.weights, host.graph.indices, host.neighbors.distances):
        assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(result.embedding.get(), host.embedding)
    np.testing.assert_array_equal(given.get(), X)
    again = actup.embed(given, preset("gdr_umap").but(epochs=20), neighbors=result.neighbors, backend="cuda")
    np.testing.assert_array_equal(again.embedding.get(), host.embedding)
    model = actup.GDR(epochs=20, random_state=0, backend="auto").fit(given)
    assert isinstance(model.embedding_, cp.ndarray) and model.n_features_in_ == X.shape[1]
    assert model.graph_.shape == (len(X), len(X))


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("on_device", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8"])
@pytest.mark.parametrize("name", ["gdr_umap", "tsne"])
def test_narrow_values_are_not_copied_to_float32(name, dtype, on_device, blobs):
    import cupy as cp

    X = (20 + 3 * blobs[0]).clip(0, 100).round().astype(dtype)
    given = cp.asarray(X) if on_device else X
    backend = load_backend("cuda")
    rows = backend.load_rows(backend.read_rows(given, "euclidean"))
    assert rows.dtype == dtype
    assert not on_device or rows.data.ptr == given.data.ptr
    recipe = preset(name).but(epochs=20)
    narrow = actup.embed(given, recipe, backend="cuda").embedding
    wide = actup.embed(X.astype(np.float32), recipe, backend="cuda").embedding
    np.testing.assert_array_equal(cp.asnumpy(narrow), wide)


@pytest.mark.cuda
@needs_gpu
def test_narrow_values_that_are_not_finite_are_rejected():
    X = np.ones((100, 5), np.float16)
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        actup.embed(X, preset("gdr_umap").but(epochs=5), backend="cuda")


@pytest.mark.cuda
@needs_gpu
def test_float64_and_strided_arrays_on_the_device(blobs):
    import cupy as cp

    X, _ = blobs
    recipe = preset("gdr_umap").but(epochs=5)
    wide = cp.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = cp.asarray(X)
    mine = actup.embed(wide[:, ::2], recipe, backend="cuda").embedding
    np.testing.assert_array_equal(mine.get(), actup.embed(X, recipe, backend="cuda").embedding)


@pytest.mark.cuda
@needs_gpu
def test_torch_in_torch_out(blobs):
    torch = pytest.importorskip("torch")
    X, _ = blobs
    given = torch.tensor(X, device="cuda", requires_grad=True)
    Y = actup.embed(given, preset("gdr_umap").but(epochs=5), backend="cuda").embedding
    assert isinstance(Y, torch.Tensor) and Y.is_cuda


@pytest.mark.cuda
@needs_gpu
def test_a_given_graph_init_or_neighbours(blobs):
    X, _ = blobs
    recipe = preset("gdr_umap").but(epochs=5)
    whole = actup.embed(X, recipe, backend="cuda")
    from_graph = actup.embed(None, recipe.but(initialization="random"), graph=whole.graph, backend="cuda")
    assert from_graph.embedding.shape == (len(X), 2) and isinstance(from_graph.embedding, np.ndarray)
    start = np.random.default_rng(0).normal(size=(len(X), 2)).astype(np.float32)
    given = actup.embed(X, recipe.but(epochs=0), init=start, neighbors=whole.neighbors, backend="cuda")
    np.testing.assert_allclose(given.embedding, start, rtol=1e-6)
    assert given.init_used == "array"


@pytest.mark.cuda
@needs_gpu
def test_one_point_and_few():
    one = actup.embed(np.ones((1, 4)), "umap", backend="cuda").embedding
    np.testing.assert_array_equal(one, np.zeros((1, 2)))
    few = actup.embed(
        np.random.default_rng(0).normal(size=(5, 4)), preset("umap").but(n_neighbors=4), backend="cuda"
    )
    assert np.isfinite(few.embedding).all()


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e39])
def test_values_that_are_not_finite_are_rejected(wrong):
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[3, 2] = wrong
    with pytest.raises(ValueError, match="Input X contains"):
        actup.embed(X, "umap", backend="cuda")
    with pytest.raises(ValueError, match="Input X contains"):
        actup.UMAP(backend="cuda").fit(X)


@pytest.mark.cuda
@needs_gpu
def test_too_little_memory_raises_before_the_work(monkeypatch, blobs):
    from actup.backends._cuda import arrays

    monkeypatch.setattr(arrays, "free_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"needs about .* GB of the GPU's memory"):
        actup.embed(blobs[0], "umap", backend="cuda")


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("name", ["gdr_umap", "gdr_tsne"])
def test_data_too_large_for_the_device_stays_on_the_host(monkeypatch, blobs, name):
    """The map has the same bits as with data on the device."""
    from actup.backends._cuda import arrays

    recipe = preset(name).but(epochs=5)
    copied = actup.embed(blobs[0], recipe, backend="cuda").embedding
    monkeypatch.setattr(arrays, "_MAX_COPIED_SHARE", 0.0)
    np.testing.assert_array_equal(actup.embed(blobs[0], recipe, backend="cuda").embedding, copied)


@pytest.mark.cuda
@needs_gpu
def test_the_callback_gets_numpy_and_can_stop(blobs):
    seen = []

    def look(stage, fraction, embedding):
        if stage == "layout" and embedding is not None:
            seen.append(type(embedding))
            return fraction > 0
        return False

    model = actup.GDR(random_state=0, backend="cuda", callback=look).fit(blobs[0])
    assert set(seen) == {np.ndarray}
    assert model.n_epochs_ < model.recipe_.n_epochs(6000)


def test_auto_needs_enough_points_and_a_gpu():
    assert choose_backend("cpu", None, 10**6) == "cpu"
    assert choose_backend("auto", None, 100) == "cpu"
    assert choose_backend("auto", None, 10**6) == ("cuda" if cuda_is_available() else "cpu")


def test_auto_warns_once_that_a_gpu_cannot_be_used():
    """CuPy is installed, but finds no device: one warning, then the CPU."""
    code = """
import sys, types, warnings
class Broken(Exception): pass
def count(): raise Broken("no driver")
runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=Broken)
sys.modules["cupy"] = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
from actup.backends import choose_backend
with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    assert [choose_backend("auto", None, 10**6) for _ in range(3)] == ["cpu"] * 3
print(len(notes), notes[0].message)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ})
    assert done.stdout.startswith("1 backend='auto' uses the CPU"), done.stderr


@pytest.mark.skipif(cuda_is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_the_backend_raises():
    with pytest.raises((ImportError, RuntimeError), match="backend='cuda'"):
        actup.embed(np.ones((20, 3)), "umap", backend="cuda")
