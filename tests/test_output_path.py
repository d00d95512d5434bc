"""Files that functions write: suffixes of other kinds of files are rejected, missing folders are created."""

import os

import numpy as np
import pytest

import actup
from actup.viewer import write_page

Y = np.random.default_rng(0).normal(size=(40, 2))


@pytest.fixture(scope="module")
def model():
    return actup.UMAP(n_neighbors=5, n_epochs=5, random_state=0).fit(np.repeat(Y, 2, axis=1))


@pytest.fixture(scope="module")
def network():
    options = {"n_training_epochs": 2, "hidden_layer_sizes": (5,)}
    return actup.ParametricUMAP(n_neighbors=5, n_epochs=5, random_state=0, **options).fit(Y)


# What writes a file, its own suffix, and suffixes that it rejects.
WRITERS = {
    "plot": (lambda path, *_: actup.plot(Y, path=path), ".png", [".html", ".csv", ".actup", ""]),
    "write_page": (
        lambda path, *_: write_page(path, Y),
        ".html",
        [".png", ".PDF", ".csv", ".parquet", ".actup"],
    ),
    "View.save": (lambda path, *_: actup.view(Y).save(path), ".html", [".png", ".csv"]),
    "write_atlas": (
        lambda path, *_: actup.write_atlas(path, Y),
        ".parquet",
        [".csv", ".npy", ".svg", ".html", ".actup"],
    ),
    "save": (
        lambda path, model, _: model.save(path),
        ".actup",
        [".csv", ".npz", ".png", ".html", ".onnx", ".h5ad"],
    ),
    "to_onnx": (lambda path, _, network: network.to_onnx(path), ".onnx", [".csv", ".actup", ".png"]),
}
NEEDED = {"plot": "matplotlib", "write_atlas": "pyarrow", "to_onnx": "onnx"}


@pytest.mark.parametrize("name", WRITERS)
def test_suffixes_of_other_kinds_of_files_are_rejected(name, model, network, tmp_path):
    write, own, others = WRITERS[name]
    for suffix in others:
        path = tmp_path / "new" / f"map{suffix}"
        with pytest.raises(ValueError, match=rf"path='.*map{suffix}' .*\{own}"):
            write(path, model, network)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITERS)
def test_missing_folders_are_created(name, model, network, tmp_path):
    write, own, _ = WRITERS[name]
    pytest.importorskip(NEEDED.get(name, "numpy"))
    path = tmp_path / "a" / "b" / f"map.v1{own.upper()}"
    write(path, model, network)
    assert path.stat().st_size > 0 and [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["write_page", "View.save", "save"])
@pytest.mark.parametrize("file", ["map", "map.txt", "map.v2", "map.pkl", ".map"])
def test_other_suffixes_are_the_callers_choice(name, file, model, network, tmp_path):
    WRITERS[name][0](tmp_path / file, model, network)
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_errors_say_what_writes_the_other_file(model, tmp_path):
    with pytest.raises(ValueError, match=r"suffix of a table, but a model is written: .* write embedding_"):
        model.save(tmp_path / "map.csv")
    with pytest.raises(ValueError, match=r"suffix of a picture, but a page is written: .* actup\.plot"):
        write_page(str(tmp_path / "map.png"), Y)


@pytest.mark.parametrize(
    ("path", "error"), [(3, TypeError), ("a\0b.png", ValueError), ("\ud800.png", ValueError)]
)
def test_what_no_path_can_be_is_named(path, error, model):
    writers = (model.save, lambda path: actup.plot(Y, path=path), lambda path: write_page(path, Y))
    for function in (*writers, actup.load):
        with pytest.raises(error, match=r"^path=.*(is no path|characters)"):
            function(path)


@pytest.mark.parametrize("write", ["save", "write_page", "load"])
def test_none_is_no_path(write, model):
    functions = {"save": model.save, "write_page": lambda path: write_page(path, Y), "load": actup.load}
    with pytest.raises(TypeError, match=r"^path=None is no path"):
        functions[write](None)


def test_load_leaves_a_descriptor_of_the_caller_open(tmp_path):
    with open(tmp_path / "file", "wb") as file:
        with pytest.raises(TypeError, match="is no path"):
            actup.load(file.fileno())
        os.fstat(file.fileno())
