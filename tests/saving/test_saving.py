"""Saved models: loaded ones equal them to the bit, and what cannot be saved is rejected by name."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
import types
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import actup
from actup.backends import cuda_is_available
from actup.estimators._network import Network
from actup.estimators._state import Derived, FittedState
from actup.graph._records import Graph, Neighbors
from actup.recipe import Phase, Role
from actup.recipe._recipe import Recipe
from actup.saving import SavedModelError
from actup.saving._codec import field_types, savable_types

GDR, TSNE, UMAP = actup.GDR, actup.TSNE, actup.UMAP
SHORT = {
    UMAP: {"n_epochs": 3, "n_neighbors": 5},
    TSNE: {"max_iter": 3, "perplexity": 3},
    GDR: {"epochs": 3, "n_neighbors": 5},
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
NEW = RNG.normal(size=(7, 5))


def make(kind=UMAP, **parameters):
    return kind(**{**SHORT[kind], "random_state": 0, **parameters})


def round_trip(model, tmp_path, **options):
    path = tmp_path / "model.actup"
    model.save(path, **options)
    return actup.load(path)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are of one type and equal, NaN included."""
    if type(a) is not type(b):
        return False
    if sparse.issparse(a):
        return a.shape == b.shape and all(
            equal(getattr(a, p), getattr(b, p)) for p in ("data", "indices", "indptr")
        )
    if isinstance(a, np.ndarray):
        same = (a == b) | ((a != a) & (b != b))
        return a.dtype == b.dtype and a.shape == b.shape and bool(same.all())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.random.RandomState):
        return equal(a.get_state(legacy=False), b.get_state(legacy=False))
    if isinstance(a, np.random.Generator):
        return a.bit_generator.state == b.bit_generator.state
    if isinstance(a, Neighbors | Network):
        return equal(vars(a), vars(b))
    return a == b or (a != a and b != b)


def assert_same(loaded, model, new=None):
    """Same class, parameters, attributes and transform, to the bit."""
    assert type(loaded) is type(model)
    assert equal(loaded.get_params(), {**model.get_params(), "callback": None})
    names = [field.name for field in fields(FittedState) if not field.name.startswith("_")]
    for name in [*names, "graph_"]:
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            assert equal(getattr(loaded, name), getattr(model, name)), name
    check_is_fitted(loaded)
    if new is not None:
        assert equal(loaded.transform(new), model.transform(new))


# ---- the same model again ----

INTEGERS = RNG.integers(0, 100, (40, 5))
SPARSE = sparse.random(60, 30, 0.3, "csr", dtype=np.float64, random_state=np.random.RandomState(0))
ROWS = {
    "float64": (X, NEW),
    "float32": (X.astype(np.float32), NEW.astype(np.float32)),
    "float16": (X.astype(np.float16), NEW.astype(np.float16)),
    "uint8": (INTEGERS.astype(np.uint8), INTEGERS[:9].astype(np.uint8) + 1),
    "int8": (INTEGERS.astype(np.int8), INTEGERS[:9].astype(np.int8) + 1),
    "int64": (INTEGERS, INTEGERS[:9] + 1),
    "bool": (INTEGERS > 50, INTEGERS[:9] > 30),
    "big-endian": (X.astype(">f8"), NEW.astype(">f4")),
    "fortran": (np.asfortranarray(X), NEW),
    "csr_matrix": (SPARSE[:50], SPARSE[50:]),
    "csr_array": (
        sparse.csr_array(SPARSE[:50]).astype(np.float32),
        sparse.csr_array(SPARSE[50:]).astype(np.float32),
    ),
    "int csc": ((SPARSE[:50] * 9).astype(np.int64).tocsc(), (SPARSE[50:] * 9).astype(np.int64)),
}


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


KNN = actup.nearest_neighbors(X, 10)
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
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

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


# ---- options ----


@pytest.mark.parametrize("rows", ["float32", "float64", "int64", "csr_matrix"])
def test_half_precision(rows, tmp_path):
    train, new = ROWS[rows]
    model = make().fit(train)
    model.save(tmp_path / "full")
    loaded = round_trip(model, tmp_path, data="half")
    assert (
        np.load(tmp_path / "model.actup")[f"_training.rows{'.data' if sparse.issparse(train) else ''}"].dtype
        == "f2"
    )
    assert (tmp_path / "model.actup").stat().st_size < (tmp_path / "full").stat().st_size
    assert model._training.rows.dtype == train.dtype  # the model itself keeps its rows
    assert equal(loaded.embedding_, model.embedding_)
    places = loaded.transform(new)
    close = np.linalg.norm(places - model.transform(new), axis=1) < 0.05 * np.ptp(model.embedding_)
    assert close.mean() > 0.8
    assert equal(round_trip(loaded, tmp_path).transform(new), places)


@pytest.mark.parametrize("rows", ["uint8", "int8", "float16", "bool"])
def test_half_keeps_small_types(rows, tmp_path):
    train, new = ROWS[rows]
    model = make().fit(train)
    assert_same(round_trip(model, tmp_path, data="half"), model, new)


@pytest.mark.parametrize(
    ("factor", "form"), [(1e6, np.asarray), (1e-9, np.asarray), (1e6, sparse.csr_matrix)]
)
def test_half_rejects_rows_that_it_would_change(factor, form, tmp_path):
    model = make().fit(form(X * factor))
    with pytest.raises(ValueError, match=r"data='half' changes row \d+ of X .* use data='full'"):
        model.save(tmp_path / "model", data="half")
    assert list(tmp_path.iterdir()) == []


def test_half_rejects_lost_presence(tmp_path):
    rows = np.where(RNG.random((40, 8)) < 0.5, 1, 1e-12) * (RNG.random((40, 8)) < 0.6)
    model = make(metric="jaccard").fit(rows)
    with pytest.raises(ValueError, match="'jaccard' counts"):
        model.save(tmp_path / "model", data="half")


def test_without_rows(tmp_path):
    model = make(TSNE).fit(X)
    loaded = round_trip(model, tmp_path, data=None)
    assert_same(loaded, model)
    assert loaded.kl_divergence_ == model.kl_divergence_
    for backend in ("cpu", "reference"):
        with pytest.raises(ValueError, match=r"saved without its training rows.*data='full'"):
            loaded.set_params(backend=backend).transform(NEW)
    with pytest.raises(ValueError, match="saved without"):
        loaded.save(tmp_path / "again")
    assert_same(round_trip(loaded, tmp_path, data=None), model.set_params(backend="reference"))
    assert loaded.fit(X).transform(NEW).shape == (7, 2)


def test_compression_makes_files_smaller_unless_a_reader_would_reject_them(tmp_path):
    zeros = np.zeros((60, 20_000), np.float32)
    zeros[:, :2] = np.arange(120).reshape(60, 2)
    model = make(init="random").fit(zeros[:, :2000])
    model.save(tmp_path / "plain")
    model.save(tmp_path / "small", compress=True)
    assert (tmp_path / "small").stat().st_size < (tmp_path / "plain").stat().st_size / 5
    assert_same(actup.load(tmp_path / "small"), model, zeros[:5, :2000])
    model = make(init="random").fit(np.repeat(zeros, 9, axis=1))  # 43 MB of zeros
    assert_same(round_trip(model, tmp_path, compress=True), model)


@pytest.mark.parametrize("data", ["codes", True, 1, "none"])
def test_unknown_data_option(data, tmp_path):
    with pytest.raises(ValueError, match="is not one of 'full', 'half', None"):
        make().fit(X).save(tmp_path / "model", data=data)


# ---- what cannot be saved ----


class Mine(UMAP):
    pass


def by_function(a, b):
    return float(np.abs(a - b).sum())


LISTS, PHILOX = (KNN.indices, KNN.distances), np.random.Generator(np.random.Philox(0))
UNSAVABLE = [
    (lambda: make(metric=by_function), TypeError, "^metric is or holds a function.*set_params"),
    (lambda: make(precomputed_knn=(*LISTS, object())), TypeError, "^precomputed_knn is or holds a obj"),
    (lambda: make(random_state=PHILOX), TypeError, "random_state is a Generator of Philox"),
    (lambda: Mine(n_epochs=2), TypeError, "Mine is no class that actup.load makes"),
]  # fmt: skip


@pytest.mark.parametrize(("make_model", "error", "message"), UNSAVABLE)
def test_unsavable_models_are_rejected_before_anything_is_written(make_model, error, message, tmp_path):
    model = make_model().fit(X)
    with pytest.raises(error, match=message):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_unfitted_models_are_rejected(tmp_path):
    with pytest.raises(NotFittedError):
        make().save(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding_": np.full((40, 2), np.nan)}, "embedding_ has NaN"),
        ({"embedding_": np.zeros((3, 2))}, "embedding_ has shape"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"backend": "tpu"}, "backend='tpu'"),
        ({"transform_seed": -1}, "transform_seed=-1"),
    ],
)
def test_what_load_would_reject_is_not_saved(change, message, tmp_path):
    model = make().fit(X)
    vars(model).update(change)
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_callback_is_left_out(tmp_path):
    model = make(callback=lambda *_: None).fit(X)
    loaded = round_trip(model, tmp_path)
    assert loaded.callback is None
    assert model.callback is not None
    assert_same(loaded, model, NEW)


def leaves(hint):
    """The types that a type hint is made of."""
    if get_origin(hint) in (Union, types.UnionType, tuple, dict, list):
        return {leaf for part in get_args(hint) if part is not Ellipsis for leaf in leaves(part)}
    return {get_origin(hint) or hint}


@pytest.mark.parametrize("record", [FittedState, Derived, Recipe, Phase, Neighbors])
def test_every_field_has_a_type_that_can_be_saved(record):
    """A new field of another type needs a row in the table of actup.saving._codec."""
    allowed = {Any, object, *leaves(field_types(Recipe)["metric"])}  # checked by value, not by type
    unknown = {}
    for name, hint in field_types(record).items():
        for leaf in leaves(hint) - allowed:
            if not (isinstance(leaf, type) and issubclass(leaf, savable_types())):
                unknown[name] = leaf
    assert unknown == {}


@dataclass(frozen=True)
class Wider(FittedState):
    """A fitted state of a later release."""

    radii_: np.ndarray | None = None


def test_a_new_field_is_saved_by_itself(tmp_path, monkeypatch):
    model = make().fit(X)
    model.save(tmp_path / "older")
    monkeypatch.setattr("actup.saving._model.FittedState", Wider)
    model.radii_ = np.arange(40.0)
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model, NEW)
    assert equal(loaded.radii_, model.radii_)
    assert not hasattr(actup.load(tmp_path / "older"), "radii_")
    monkeypatch.undo()
    with pytest.raises(SavedModelError, match=r"has a field 'radii_'.* update ActUp"):
        actup.load(tmp_path / "model.actup")


# ---- writing ----


def test_an_error_leaves_the_former_file(tmp_path, monkeypatch):
    model = make().fit(X)
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()

    def full_disk(_):
        raise OSError(28, "No space left on device")

    for target in ("os.fsync", "os.replace"):
        with monkeypatch.context() as patched:
            patched.setattr(target, lambda *_: full_disk(_))
            with pytest.raises(OSError, match=r"No space left on device.*model"):
                make(TSNE).fit(X).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            model.save(path)
    assert list(tmp_path.iterdir()) == [path]


def test_paths(tmp_path, monkeypatch):
    model = make().fit(X)
    monkeypatch.chdir(tmp_path)
    model.save("here")
    assert_same(actup.load("here"), model)
    model.save(os.fsencode("bytes").decode())
    with pytest.raises(FileNotFoundError, match="missing"):
        model.save(tmp_path / "missing" / "model")
    with pytest.raises(ValueError, match="is no regular file"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        actup.load("absent")
    with pytest.raises(OSError, match=str(tmp_path)):
        actup.load(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither these links nor these modes")
def test_links_and_modes_stay(tmp_path):
    model = make().fit(X)
    model.save(tmp_path / "target")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o640
    with pytest.raises(ValueError, match="/dev/null: is no regular file"):
        model.save("/dev/null")
    with pytest.raises(SavedModelError, match="/dev/null"):
        actup.load("/dev/null")


def test_numpy_opens_the_file(tmp_path):
    model = make().fit(X)
    model.save(tmp_path / "model.actup")
    with np.load(tmp_path / "model.actup", allow_pickle=False) as arrays:
        assert equal(arrays["embedding_"], model.embedding_)
        assert equal(arrays["_training.rows"], X)
        assert json.loads(arrays["header.json"])["class"] == "UMAP"
    with zipfile.ZipFile(tmp_path / "model.actup") as archive:
        assert archive.testzip() is None


# ---- reading what is no model ----


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.actup"
    make(TSNE, init=X[:, :2]).fit(X).save(path)
    return path.read_bytes()


def edited(content, change_header=lambda header: None, **members):
    """The file with another header, or with other arrays; its checksums are right."""
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(output, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                header = json.loads(data)
                change_header(header)
                data = json.dumps(header).encode()
            new.writestr(zipfile.ZipInfo(name), members.get(name.removesuffix(".npy"), data))
    return output.getvalue()


def setter(*path, value):
    def change(header):
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


def rejected(content, message, tmp_path):
    path = tmp_path / "broken.actup"
    path.write_bytes(content)
    with pytest.raises(SavedModelError, match=f"(?s)broken.actup: .*{message}") as caught:
        actup.load(path)
    assert isinstance(caught.value, ValueError)


FOREIGN = [
    (b"", "empty"),
    (b"\x89PNG\r\n", "no ActUp model"),
    (pickle.dumps(X), "looks like a pickle, which can run code"),
    (b"PK\x03\x04" + b"\0" * 100, "damaged"),
    (b"PK", "no ActUp model"),
]


@pytest.mark.parametrize(("content", "message"), FOREIGN)
def test_foreign_files(content, message, tmp_path):
    rejected(content, message, tmp_path)


def test_an_npz_of_other_origin(tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, embedding_=X)
    rejected(buffer.getvalue(), r"no header\.json, so it is no ActUp model", tmp_path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_truncated_files(saved, share, tmp_path):
    rejected(saved[: int(len(saved) * share)], "", tmp_path)


def test_every_flipped_byte_of_an_array_is_noticed(saved, tmp_path):
    at = saved.index(X.tobytes()[:64])
    rejected(saved[:at] + bytes([saved[at] ^ 1]) + saved[at + 1 :], "CRC", tmp_path)


HEADERS = [
    (setter("version", value=2), r"ActUp 0\.1\.0 has written it in format 2.*update ActUp"),
    (setter("version", value=True), "no ActUp model"),
    (setter("format", value="else"), "no ActUp model"),
    (setter("class", value="os.system"), "holds a 'os.system'"),
    (setter("class", value=["UMAP"]), "not one of UMAP, TSNE, GDR"),
    (setter("more", value=1), "not exactly the entries"),
    (setter("parameters", "colour", value=1), r"'colour'.* ActUp 0\.1\.0 has written .* update ActUp"),
    (setter("parameters", "init", value={"array": "absent"}), "one it lacks"),
    (setter("parameters", "init", value={"array": "embedding_"}), "twice"),
    (setter("parameters", "init", value=None), "array 'init' belongs to nothing"),
    (setter("parameters", "n_jobs", value=0), "n_jobs=0"),
    (setter("parameters", "backend", value={"list": []}), "damaged"),
    (setter("parameters", "metric", value={"function": "print"}), "unknown kind 'function'"),
    (setter("arrays", "embedding_", value=["<f4", [2**40, 2]]), "needs .* bytes"),
    (setter("arrays", "embedding_", value=["<f4", [80, 1]]), "another type or shape"),
    (setter("arrays", "embedding_", value=["<f4", [-1, 2]]), "no possible shape"),
    (setter("arrays", "embedding_", value=["|O", [40, 2]]), "has type"),
    (setter("fitted", "newer_", value=1), "'newer_'.*update ActUp"),
    (setter("fitted", "seed_", value=-1), "seed_=-1"),
    (setter("fitted", "seed_", value="0"), "seed_ is a str"),
    (setter("fitted", "n_features_in_", value=6), "training rows do not have shape"),
    (setter("fitted", "feature_names_in_", value={"names": ["a"]}), "another number of names"),
    (setter("fitted", "recipe_", "Recipe", "n_components", value=3), "embedding_ has shape"),
    (setter("fitted", "recipe_", "Recipe", "perplexity", value=0.5), "perplexity=0.5"),
    (setter("fitted", "recipe_", "Recipe", "late_exaggeration", value=1e39), "outside the range of float32"),
    (setter("fitted", "recipe_", "Recipe", "partition", value=1e-40), "outside the range of float32"),
    (setter("parameters", "callback", value="print"), "callback must be null"),
    (setter("fitted", "recipe_", "Recipe", "metric", value="nowhere"), "metric='nowhere'"),
    (setter("fitted", "_training", "TrainingRows", "count", value=41), "no matrix of 41 rows"),
    (setter("output", value="spreadsheet"), "output"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"), HEADERS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_changed_headers(change, message, saved, tmp_path):
    rejected(edited(saved, change), message, tmp_path)


def test_an_unchanged_file_loads(saved, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(edited(saved))
    assert actup.load(path).transform(NEW).shape == (7, 2)


def test_fields_and_parameters_of_older_files_take_their_defaults(saved, tmp_path):
    def older(header):
        del header["parameters"]["dof"], header["fitted"]["feature_names_in_"]
        del header["fitted"]["recipe_"]["Recipe"]["late_exaggeration"]

    path = tmp_path / "model"
    path.write_bytes(edited(saved, older))
    loaded = actup.load(path)
    assert loaded.dof == 1.0 and not hasattr(loaded, "feature_names_in_")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("embedding_", lambda a: a * np.nan, "embedding_ has NaN"),
        ("_training.rows", lambda a: a * np.inf, "infinity"),
        ("_derived.graph.offsets", lambda a: a[::-1], "graph"),
        ("_derived.graph.indices", lambda a: a * 0 - 1, "graph"),
        ("_derived.graph.indices", lambda a: a + 10_000, "graph"),
        ("_derived.graph.weights", lambda a: -a, "weights that are negative"),
    ],
)
def test_changed_arrays_with_right_checksums(name, change, message, saved, tmp_path):
    with np.load(io.BytesIO(saved)) as arrays, zipfile.ZipFile(io.BytesIO(saved)) as archive:
        array, data = arrays[name], archive.read(f"{name}.npy")
        with np.errstate(invalid="ignore"):
            changed = data[: len(data) - array.nbytes] + change(array).astype(array.dtype).tobytes()
    rejected(edited(saved, **{name: changed}), message, tmp_path)


def test_a_zip_bomb(saved, tmp_path):
    shape = [2**25]
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(output, "w") as new:
        header = json.loads(old.read("header.json"))
        header["arrays"]["bomb"] = ["|u1", shape]
        new.writestr("header.json", json.dumps(header))
        new.writestr("bomb.npy", bytes(2**25), zipfile.ZIP_DEFLATED)
    rejected(output.getvalue(), "exhaust the memory", tmp_path)


def test_nested_json_and_repeated_names(saved, tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    for header in (deep, '{"a": 1, "a": 2}', "[1]", '{"a": NaN}', '{"a": 1' + "0" * 10_000 + "}", "\xff"):
        output = io.BytesIO()
        with zipfile.ZipFile(output, "w") as new:
            new.writestr("header.json", header.encode("latin1"))
        rejected(output.getvalue(), "", tmp_path)


# ---- files of former releases ----

FORMER = sorted(Path(__file__).parent.glob("format_*.actup"))


def test_there_is_a_file_of_every_format():
    assert [path.name for path in FORMER] == ["format_1.actup"]


@pytest.mark.parametrize("path", FORMER, ids=lambda path: path.name)
def test_files_of_former_formats(path):
    """Written by former releases, never written anew: they must load for ever, and place rows as they did."""
    loaded = actup.load(path)
    assert isinstance(loaded, UMAP)
    assert loaded.n_neighbors == 5 and loaded.feature_names_in_.tolist() == list("abcde")
    new = np.load(path.with_suffix(".npz"))
    rows = pytest.importorskip("pandas").DataFrame(new["rows"], columns=list("abcde"))
    assert equal(loaded.transform(rows), new["places"])


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
