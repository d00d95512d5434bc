"""Saved models: options, what cannot be saved, and files that are written whole or not at all."""

import json
import os
import types
import zipfile
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import actup
from actup import AlignedUMAP, KNeighborsTransformer
from actup.compat.umap.umap_ import nearest_neighbors as umap_neighbors
from actup.estimators._state import Derived, FittedState
from actup.graph._records import Neighbors
from actup.recipe import Phase
from actup.recipe._recipe import Recipe
from actup.saving import SavedModelError
from actup.saving._codec import field_types, savable_types
from saved_models import KNN, NEW, RNG, ROWS, TSNE, UMAP, X, assert_same, equal, make, round_trip

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


def test_without_rows_there_is_no_graph_of_new_rows(tmp_path):
    model = make(transform_mode="graph").fit(X)
    loaded = round_trip(model, tmp_path, data=None)
    with pytest.raises(ValueError, match=r"saved without its training rows.*data='full'"):
        loaded.transform(NEW)


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


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", [list, tuple])
def test_long_lists_of_equal_numbers_load_again(kind, compress, tmp_path):
    """Python takes many times the bytes of the file for them."""
    lists = kind(kind(kind(kind((0.0,)) for _ in range(1)) for _ in range(2)) for _ in range(60_000))
    model = make().fit(X).set_params(init=lists)
    assert round_trip(model, tmp_path, compress=compress).init == lists


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
    (lambda: make(metric=by_function), TypeError, "^metric is or holds a function.*fit again"),
    (lambda: make(target_metric=by_function), TypeError, "^target_metric is or .*set_params"),
    (lambda: make(random_state=PHILOX), TypeError, "random_state is a Generator of Philox"),
    (lambda: Mine(n_epochs=2), TypeError, "Mine, but actup.load makes only"),
]  # fmt: skip


@pytest.mark.parametrize(("make_model", "error", "message"), UNSAVABLE)
def test_unsavable_models_are_rejected_before_anything_is_written(make_model, error, message, tmp_path):
    model = make_model().fit(X)
    with pytest.raises(error, match=message):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_remedy_for_a_function_as_metric_does_not_lead_to_another_error(tmp_path):
    model = make(metric=by_function).fit(X).set_params(metric="manhattan")
    with pytest.raises(TypeError, match=r"^recipe_.metric is or holds a function.*fit again"):
        model.save(tmp_path / "model")
    model.fit(X).save(tmp_path / "model")
    make(target_metric=by_function).fit(X).set_params(target_metric="l1").save(tmp_path / "model")


def test_the_index_of_given_neighbors_is_left_out(tmp_path):
    found = umap_neighbors(X, 6, "euclidean", {}, False, 0)
    model = make(precomputed_knn=found).fit(X)
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model.set_params(precomputed_knn=(*found[:2], None)))
    np.testing.assert_array_equal(loaded.knn_indices, found[0])
    assert loaded.knn_search_index is None


@pytest.mark.parametrize("method", ["partial_fit", "update", "refit", "inverse_transform"])
def test_methods_that_need_rows_say_that_they_were_not_saved(method, tmp_path):
    loaded = round_trip(make().fit(X), tmp_path, data=None)
    given = X[:3, :2] if method == "inverse_transform" else NEW
    with pytest.raises(ValueError, match=rf"saved without its training rows, which {method} needs"):
        getattr(loaded, method)(given)


@pytest.mark.parametrize(("kind", "instead"), [(AlignedUMAP, "mappers_"), (KNeighborsTransformer, "pickle")])
def test_classes_without_save_say_what_to_use(kind, instead):
    assert not hasattr(kind(), "save")
    with pytest.raises(AttributeError, match=rf"{kind.__name__} has no save.*{instead}"):
        kind().save("model")


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
    model.save(tmp_path / "missing" / "folders" / "model")
    assert_same(actup.load("missing/folders/model"), model)
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
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe: is no regular file but a named pipe"):
        model.save(tmp_path / "pipe")
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
