"""Saved models: loaded ones equal them to the bit."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import actup
from actup.backends import cuda_is_available
from actup.estimators._state import Derived
from actup.graph._records import Graph
from actup.recipe import Phase, Role
from saved_models import (
    GDR,
    KNN,
    NEW,
    ROWS,
    TSNE,
    UMAP,
    X,
    assert_same,
    equal,
    make,
    round_trip,
)


@pytest.mark.parametrize(("kind", "compress"), [(UMAP, False), (TSNE, True), (GDR, False)])
@pytest.mark.parametrize("rows", ROWS)
def test_every_kind_of_rows(rows, kind, compress, tmp_path):
    train, new = ROWS[rows]
    model = make(kind).fit(train)
    assert_same(round_trip(model, tmp_path, compress=compress), model, new)


@pytest.mark.parametrize("rows", ["float32", "csr_matrix"])
@pytest.mark.parametrize("preset", actup.presets())
def test_every_preset(preset, rows, tmp_path):
    train, new = ROWS[rows]
    size = {"perplexity": 4} if actup.preset(preset).scales() else {"n_neighbors": 5}
    model = GDR(preset=preset, epochs=2, random_state=0, **size).fit(train)
    assert_same(round_trip(model, tmp_path), model, new)


@pytest.mark.parametrize("n_components", range(1, 6))
@pytest.mark.parametrize("kind", [UMAP, TSNE, GDR])
def test_every_number_of_dimensions(kind, n_components, tmp_path):
    model = make(kind, n_components=n_components).fit(X)
    assert_same(round_trip(model, tmp_path), model, NEW)


POSITIVE_DEFINITE = np.cov(X.T) + np.eye(5)
METRICS = [
    ("cosine", None),
    ("mahalanobis", {"VI": POSITIVE_DEFINITE}),
    ("mahalanobis", {"V": POSITIVE_DEFINITE.tolist()}),
    ("seuclidean", {"V": np.arange(1, 6)}),
    ("seuclidean", None),
    ("minkowski", {"p": 3, "w": np.linspace(1, 2, 5, dtype=np.float32)}),
    ("minkowski", {"p": np.float64(7)}),
    ("minkowski", {"p": np.inf}),
    ("l1", {}),
    ("canberra", None),
    ("jaccard", None),
    ("poincare", None),
]


@pytest.mark.parametrize(("metric", "parameters"), METRICS)
def test_metrics_and_their_parameters(metric, parameters, tmp_path):
    train, new = (X / 10, NEW / 10) if metric == "poincare" else (X, NEW)
    model = make(metric=metric, metric_kwds=parameters).fit(train)
    assert_same(round_trip(model, tmp_path), model, new)


def test_a_large_metric_matrix_stands_outside_the_header(tmp_path):
    rows = np.random.default_rng(1).normal(size=(40, 12))
    model = make(metric="mahalanobis", metric_kwds={"VI": np.eye(12)}).fit(rows)
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model, rows[:3] + 0.1)
    assert hash(loaded.recipe_) == hash(model.recipe_)
    assert any("recipe_.metric_kwds" in name for name in np.load(tmp_path / "model.actup").files)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_precomputed_distances(form, tmp_path):
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    model = make(metric="precomputed").fit(form(distances))
    new = np.linalg.norm(NEW[:, None] - X, axis=2)
    for data in ("full", "half", None):  # there are no rows to keep
        assert_same(round_trip(model, tmp_path, data=data), model, new)


@pytest.mark.parametrize("kind", [UMAP, TSNE, GDR])
def test_one_point(kind, tmp_path):
    model = make(kind).fit(X[:1])
    assert_same(round_trip(model, tmp_path), model, NEW)


PARAMETERS = [
    (UMAP, {"init": X[:, :2]}),
    (UMAP, {"init": X[:, :2].tolist()}),
    (UMAP, {"precomputed_knn": (KNN.indices.astype(np.int64), KNN.distances)}),
    (UMAP, {"precomputed_knn": (KNN.indices, KNN.distances, None)}),
    (UMAP, {"precomputed_knn": KNN}),
    (UMAP, {"precomputed_knn": (None, None, None)}),
    (UMAP, {"random_state": None, "n_jobs": None, "transform_seed": 2**64 - 1}),
    (UMAP, {"random_state": np.random.RandomState(5)}),
    (UMAP, {"random_state": np.random.default_rng(5)}),
    (UMAP, {"min_dist": np.float32(0.1), "n_neighbors": np.int64(6), "learning_rate": 1.0}),
    (UMAP, {"backend": "reference", "verbose": 0}),
    (TSNE, {"perplexity": [2, 5.5], "exaggeration": 2}),
    (TSNE, {"perplexity": np.array([2.0, 5.0]), "learning_rate": 20.0}),
    (TSNE, {"dof": 0.7, "early_exaggeration": 1}),
    (GDR, {"normalized": True, "loss": "frobenius"}),
    (GDR, {"phases": (Phase(Role.SETTLE, 5, 0.5), Phase(Role.EXPAND, 5, 0.5, 1.0, 0.1))}),
    (GDR, {"a": 1.5, "b": 0.9, "gradient_clip": None}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters"), PARAMETERS)
def test_parameters(kind, parameters, tmp_path):
    model = make(kind, **parameters).fit(X)
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model, NEW)
    again = clone(loaded).fit(X)
    if kind(**loaded.get_params()).random_state is not None:
        assert equal(again.embedding_, clone(model).fit(X).embedding_)


def test_random_generators_continue(tmp_path):
    state = np.random.RandomState(3)
    state.normal()  # keeps a second number for the next call
    loaded = round_trip(make(random_state=state).fit(X), tmp_path)
    assert loaded.random_state.normal() == state.normal()


def test_enum_members_become_their_text(tmp_path):
    loaded = round_trip(make(GDR, loss=actup.recipe.Loss.KL).fit(X), tmp_path)
    assert loaded.loss == "kl"


def test_feature_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = pandas.Index(["a", "é \ud800", "日本", "", "/../e"], dtype=object)  # Arrow has no lone surrogates
    frame = pandas.DataFrame(X, columns=names)
    model = make().fit(frame)
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model, frame[:3])
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.iloc[:, [1, 0, 2, 3, 4]])


def test_set_output(tmp_path):
    pandas = pytest.importorskip("pandas")
    loaded = round_trip(make().set_output(transform="pandas").fit(X), tmp_path)
    assert isinstance(loaded.transform(NEW), pandas.DataFrame)


def test_divergence(tmp_path):
    model = make(TSNE).fit(X)
    assert round_trip(model, tmp_path).kl_divergence_ == model.kl_divergence_  # measured after loading
    loaded = round_trip(model, tmp_path)  # measured before
    assert loaded._derived.divergence == model._derived.divergence
    assert loaded.kl_divergence_method_ == model.kl_divergence_method_
    loaded.embedding_ = loaded.embedding_ * 2
    assert loaded.kl_divergence_ != model.kl_divergence_


def test_a_graph_that_was_read_stays_a_graph(tmp_path):
    model = make().fit(X)
    graph = model.graph_
    assert_same(round_trip(model, tmp_path), model, NEW)
    assert model.graph_ is graph


def test_an_assigned_map(tmp_path):
    model = make().fit(X)
    model.embedding_ = np.arange(80.0).reshape(40, 2)
    assert_same(round_trip(model, tmp_path), model, NEW)


def test_saving_again_gives_the_same_file(tmp_path):
    model = make(TSNE).fit(X)
    model.save(tmp_path / "first")
    actup.load(tmp_path / "first").save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_loaded_model_is_like_any_other(tmp_path):
    loaded = round_trip(make(TSNE).fit(X), tmp_path)
    for other in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded), copy.copy(loaded)):
        assert_same(other, loaded, NEW)
    joblib = pytest.importorskip("joblib")
    joblib.dump(loaded, tmp_path / "model.joblib")
    assert_same(joblib.load(tmp_path / "model.joblib"), loaded, NEW)
    with pytest.raises(NotFittedError):
        clone(loaded).transform(NEW)
    assert clone(loaded).get_params() == loaded.get_params()
    assert equal(clone(loaded).fit(X).embedding_, loaded.embedding_)
    other = loaded.fit(NEW)
    assert other.embedding_.shape == (7, 2) and other.n_features_in_ == 5


def test_arrays_are_the_models_own(tmp_path):
    loaded = round_trip(make().fit(X.astype(np.float32)), tmp_path)
    os.remove(tmp_path / "model.actup")
    loaded.embedding_[0] = 0
    assert loaded.transform(NEW).shape == (7, 2)


def test_another_process_reads_the_same_bits(tmp_path):
    model = make().fit(X)
    model.save(tmp_path / "model.actup")
    transform = "actup.load(sys.argv[1]).transform(numpy.load(sys.argv[2]))"
    code = f"import sys, numpy, actup; print({transform}.tobytes().hex())"
    np.save(tmp_path / "new.npy", NEW)
    call = [sys.executable, "-c", code, str(tmp_path / "model.actup"), str(tmp_path / "new.npy")]
    printed = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    assert printed.strip() == model.transform(NEW).tobytes().hex()


class OnGpu:
    """Stands for an array on a GPU, where there is none."""

    __cuda_array_interface__ = None

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def get(self):
        return self.array


def test_arrays_on_a_gpu_are_brought_to_the_host(tmp_path, monkeypatch):
    model = make(init=X[:, :2]).fit(X)
    there = copy.copy(model)
    monkeypatch.setattr("actup._device.as_cupy", lambda array: array)
    graph = model._derived.graph
    there.embedding_, there.init = OnGpu(model.embedding_), OnGpu(model.init)
    there._derived = Derived(Graph(*map(OnGpu, (graph.offsets, graph.indices, graph.weights))))
    there._training = copy.copy(model._training)
    there._training.rows = OnGpu(X)
    assert_same(round_trip(there, tmp_path), model, NEW)


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU")
@pytest.mark.parametrize("kind", [UMAP, TSNE, GDR])
def test_a_model_of_the_gpu(kind, tmp_path):
    import cupy

    rows = X.astype(np.float32)
    model = make(kind, backend="cuda").fit(cupy.asarray(rows))
    loaded = round_trip(model, tmp_path)
    assert equal(loaded.embedding_, model.embedding_.get())
    assert equal(loaded.graph_, model.graph_)
    assert equal(loaded.transform(NEW.astype(np.float32)), model.transform(NEW.astype(np.float32)))


# What only some models have


def lonely_bits():
    bits = np.random.default_rng(1).random((40, 12)) < 0.5
    return np.vstack([np.hstack([bits, np.zeros((40, 2), bool)]), np.eye(2, 14, 12, dtype=bool)])


SPECIAL = {
    "unique": (lambda: make(unique=True), lambda: (np.repeat(X, 2, axis=0),)),
    "labels": (make, lambda: (X, np.arange(40) % 3)),
    "words": (make, lambda: (X, np.array(["a", "b", "c", "d"] * 10))),
    "density": (lambda: make(densmap=True, output_dens=True), lambda: (X,)),
    "epochs": (lambda: make(n_epochs=[1, 2, 3]), lambda: (X,)),
    "network": (
        lambda: actup.ParametricUMAP(
            n_epochs=3, n_training_epochs=2, random_state=0, hidden_layer_sizes=(8,)
        ),
        lambda: (X,),
    ),
    "disconnected": (lambda: make(metric="jaccard", disconnected="nan"), lambda: (lonely_bits(),)),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.filterwarnings("ignore:.*of your vertices")
def test_special_models(name, tmp_path):
    make_model, data = SPECIAL[name]
    model = make_model().fit(*data())
    again = round_trip(model, tmp_path)
    for attribute in vars(model):
        if attribute.endswith("_") or attribute in ("_labels", "_disconnected"):
            assert equal(vars(again)[attribute], vars(model)[attribute]), attribute
    rows = data()[0][::3]
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows))
    if name == "density":
        np.testing.assert_array_equal(again.rad_emb_, model.rad_emb_)


def test_combined_models(tmp_path):
    combined = make().fit(X[:, :2]) * make().fit(X[:, 2:])
    again = round_trip(combined, tmp_path)
    np.testing.assert_array_equal(again.embedding_, combined.embedding_)
    with pytest.raises(ValueError, match="was combined of two others"):
        again.transform(X)
