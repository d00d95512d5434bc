"""Saved models: files that are no model, changed ones, and those of former releases."""

import io
import json
import math
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import actup
from actup.saving import SavedModelError
from actup.saving._container import _npy_header
from saved_models import NEW, TSNE, UMAP, X, equal, make


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
    (setter("fitted", "recipe_", "Recipe", "late_exaggeration", value=1e39), r"must be at most 1e\+30"),
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


def with_bomb(content, place, dtype, shape, data, *path):
    """The file with another array, deflated, at a place of the header."""
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(output, "w") as new:
        for name in old.namelist():
            member = old.read(name)
            if name == "header.json":
                header = json.loads(member)
                header["arrays"]["bomb"] = [dtype, list(shape)]
                setter(*path, value={place: "bomb"})(header)
                member = json.dumps(header).encode()
            new.writestr(zipfile.ZipInfo(name), member)
        new.writestr("bomb.npy", _npy_header(dtype, tuple(shape)) + data, zipfile.ZIP_DEFLATED)
    return output.getvalue()


# Kind of the entry, type, shape. The bytes of the values compress a thousandfold, or are none.
LARGE_IN_MEMORY = [
    ("list", "|u1", (3_000_000, 0)),
    ("list", "|u1", (2**60, 0)),
    ("tuple", "<f8", (2, 2**40, 0, 3)),
    ("list", "|u1", (400_000, 1, 1, 1, 1, 1, 1, 1)),
    ("tuple", "|u1", (1, 1, 1, 1, 1, 1, 1, 4_000_000)),
    ("list", "|b1", (4_000_000,)),
    ("array", "|u1", (2**60, 0)),
]


@pytest.mark.parametrize(("place", "dtype", "shape"), LARGE_IN_MEMORY)
def test_few_bytes_that_would_take_much_memory(place, dtype, shape, saved, tmp_path):
    data = bytes(math.prod(shape) * np.dtype(dtype).itemsize)
    content = with_bomb(saved, place, dtype, shape, data, "parameters", "random_state")
    tracemalloc.start()
    try:
        rejected(content, "exhaust the memory", tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_many_records_of_defaults(saved, tmp_path):
    recipes = [{"Recipe": {}}] * 20_000
    rejected(
        edited(saved, setter("parameters", "random_state", value={"list": recipes})), "exhaust", tmp_path
    )


def test_a_map_without_columns_takes_no_memory_for_its_points(saved, tmp_path):
    content = with_bomb(saved, "array", "<f4", (2**24, 0), b"", "fitted", "embedding_")
    rejected(content, "belongs to nothing|embedding_", tmp_path)


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
