"""Sinks: any order, repeated writes, nothing under the final name before all is there."""

import errno
import os

import numpy as np
import pytest

from actup.distributed._sinks import _base, open_sink
from actup.distributed._sources import open_source
from source_rows import MAP, X, write_all

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def npy(tmp_path):
    np.save(tmp_path / "X.npy", X)
    return open_source(tmp_path / "X.npy", shard_rows=300)


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir()
    return str(tmp_path / "work")


def parquet_folder(folder, ids=True):
    folder.mkdir()
    for number in range(4):
        rows = slice(number * 300, min(number * 300 + 300, 1000))
        table = pa.table({"key": [f"row {i}" for i in range(1000)[rows]], "a": X[rows, 0], "b": X[rows, 1]})
        parquet.write_table(table, folder / f"rows-{number}.parquet")
    return open_source(folder, id_column="key" if ids else None)


def visible(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


ORDERS = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 2, 0, 3, 0, 1]]


@pytest.mark.parametrize("order", ORDERS)
def test_npy_in_any_order(npy, work, tmp_path, order):
    sink = open_sink(tmp_path / "results" / "map.npy", npy, 2, work)
    write_all(sink, npy, order)
    assert not (tmp_path / "results").exists()
    path = sink.finish()
    assert path == str(tmp_path / "results" / "map.npy")
    np.testing.assert_array_equal(np.load(path), MAP)
    assert np.load(path).flags.c_contiguous
    assert visible(tmp_path / "results") == ["map.npy"]
    assert sink.finish() == path  # again
    assert not any(name.endswith(".npy") for _, _, names in os.walk(work) for name in names)


def test_results_in_the_kind_of_the_source(npy, work, tmp_path):
    sink = open_sink(None, npy, 2, work)
    write_all(sink, npy)
    np.testing.assert_array_equal(np.load(sink.finish()), MAP)
    array = open_source(X, shard_rows=400)
    sink = open_sink(None, array, 2, work)
    write_all(sink, array)
    np.testing.assert_array_equal(sink.finish(), MAP)
    rows = parquet_folder(tmp_path / "rows")
    sink = open_sink(None, rows, 2, work)
    write_all(sink, rows)
    assert visible(sink.finish()) == [f"rows-{number}.parquet" for number in range(4)]


def test_an_array_in_a_file(work, tmp_path):
    array = open_source(X)
    sink = open_sink(tmp_path / "map.npy", array, 2, work)
    write_all(sink, array)
    assert sink.finish() == str(tmp_path / "map.npy")


@pytest.mark.parametrize("order", ORDERS)
def test_parquet_file(npy, work, tmp_path, order):
    sink = open_sink(tmp_path / "map.parquet", npy, 2, work)
    write_all(sink, npy, order)
    assert not (tmp_path / "map.parquet").exists()
    table = parquet.read_table(sink.finish())
    assert table.column_names == ["id", "x", "y"]
    assert table["id"].to_pylist() == list(range(1000))
    np.testing.assert_array_equal(np.column_stack([table["x"], table["y"]]), MAP)
    assert table["x"].type == pa.float32()


def test_ids_go_into_parquet(work, tmp_path):
    source = parquet_folder(tmp_path / "rows")
    sink = open_sink(tmp_path / "map.parquet", source, 2, work)
    write_all(sink, source, [3, 0, 2, 1])
    assert parquet.read_table(sink.finish())["id"].to_pylist() == [f"row {i}" for i in range(1000)]


@pytest.mark.parametrize(("dimensions", "names"), [(1, "x"), (3, "x y z"), (4, "x0 x1 x2 x3")])
def test_names_of_coordinates(npy, work, tmp_path, dimensions, names):
    sink = open_sink(tmp_path / "map.parquet", npy, dimensions, work)
    write_all(sink, npy, embedding=np.zeros((1000, dimensions)))
    assert parquet.read_schema(sink.finish()).names == ["id", *names.split()]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("existing", ["absent", "empty", "other files", "older map"])
def test_parquet_folder(work, tmp_path, order, existing):
    source = parquet_folder(tmp_path / "rows")
    out = tmp_path / "maps"
    before = []
    if existing != "absent":
        out.mkdir()
    if existing == "other files":
        (out / "README.txt").write_text("mine")
        before = ["README.txt"]
    if existing == "older map":
        older = open_sink(out, source, 2, work)
        write_all(older, source, embedding=MAP + 1)
        older.finish()
        before = visible(out)
    sink = open_sink(f"{out}/", source, 2, work)
    write_all(sink, source, order)
    assert (visible(out) if out.exists() else []) == before
    assert sink.finish() == str(out)
    names = [f"rows-{number}.parquet" for number in range(4)]
    assert [name for name in visible(out) if name.endswith(".parquet")] == names
    tables = [parquet.read_table(out / name) for name in names]
    assert [len(table) for table in tables] == [300, 300, 300, 100]
    table = pa.concat_tables(tables)
    assert table["id"].to_pylist() == [f"row {i}" for i in range(1000)]
    np.testing.assert_array_equal(np.column_stack([table["x"], table["y"]]), MAP)
    if existing == "other files":
        assert (out / "README.txt").read_text() == "mine"
    assert sink.finish() == str(out)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_subfolders_and_split_files(work, tmp_path):
    for year in (2023, 2024):
        (tmp_path / "rows" / f"year={year}").mkdir(parents=True)
        table = pa.table({"a": X[:500, 0], "b": X[:500, 1]})
        parquet.write_table(table, tmp_path / "rows" / f"year={year}" / "part.parquet", row_group_size=250)
    source = open_source(tmp_path / "rows", shard_rows=300)
    sink = open_sink(tmp_path / "maps/", source, 2, work)
    write_all(sink, source)
    sink.finish()
    found = sorted(
        str(path.relative_to(tmp_path / "maps")) for path in (tmp_path / "maps").rglob("*.parquet")
    )
    assert found == [f"year={year}/part-0000{part}.parquet" for year in (2023, 2024) for part in (0, 1)]
    assert parquet.read_table(tmp_path / "maps" / found[2], partitioning=None)["id"][0].as_py() == 500


def test_folder_for_npy(npy, work, tmp_path):
    sink = open_sink(tmp_path / "maps", npy, 2, work)
    write_all(sink, npy)
    assert visible(sink.finish()) == [f"part-0000{number}.parquet" for number in range(4)]


# ---- interruptions ----


OUTPUTS = ["map.npy", "map.parquet", "maps/"]


@pytest.mark.parametrize("out", OUTPUTS)
def test_missing_shards_leave_nothing(npy, work, tmp_path, out):
    sink = open_sink(f"{tmp_path}/{out}", npy, 2, work)
    write_all(sink, npy, [0, 3])
    before = visible(tmp_path)
    with pytest.raises(RuntimeError, match=r"rows 300 to 599 of X\.npy and 1 other shards was not written"):
        sink.finish()
    assert visible(tmp_path) == before
    write_all(sink, npy, [1, 2])
    assert os.path.exists(sink.finish())


@pytest.mark.parametrize("out", OUTPUTS)
def test_crash_in_write(npy, work, tmp_path, out, monkeypatch):
    """A part that was interrupted is not there; the rest stays."""
    sink = open_sink(f"{tmp_path}/{out}", npy, 2, work)
    write_all(sink, npy, [0, 1, 3])

    def fail(*args, **kwargs):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("actup._array_files.write_values", fail)
        patch.setattr(parquet, "write_table", fail)
        with pytest.raises(OSError, match="no space"):
            write_all(sink, npy, [2])
    with pytest.raises(RuntimeError, match="rows 600 to 899"):
        sink.finish()
    write_all(sink, npy, [2])
    assert os.path.exists(sink.finish())


@pytest.mark.parametrize("out", OUTPUTS)
@pytest.mark.parametrize("older", [False, True])
def test_crash_in_finish(work, tmp_path, out, older, monkeypatch):
    source = parquet_folder(tmp_path / "rows", ids=False)
    if older:
        sink = open_sink(f"{tmp_path}/{out}", source, 2, work)
        write_all(sink, source, embedding=MAP + 1)
        sink.finish()
    sink = open_sink(f"{tmp_path}/{out}", source, 2, work)
    write_all(sink, source)
    replace, calls = os.replace, []

    def fail(*args):
        calls.append(args)
        if len(calls) == (3 if older and out == "maps/" else 1):
            raise KeyboardInterrupt
        replace(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        patch.setattr(_base.Path, "replace", lambda self, target: fail(self, target))
        with pytest.raises(KeyboardInterrupt):
            sink.finish()
    assert (tmp_path / out).exists() == older
    if older and out != "maps/":
        content = np.load(tmp_path / out) if out == "map.npy" else read_map(tmp_path / out)
        np.testing.assert_array_equal(content, MAP + 1)
    result = open_sink(
        f"{tmp_path}/{out}", source, 2, work
    ).finish()  # as a client does that is started again
    content = np.load(result) if out == "map.npy" else read_map(result)
    np.testing.assert_array_equal(content, MAP)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def read_map(path):
    table = parquet.read_table(path)
    return np.column_stack([table["x"], table["y"]])


def test_leftovers_of_killed_workers_are_removed(npy, work, tmp_path):
    sink = open_sink(tmp_path / "maps/", npy, 2, work)
    write_all(sink, npy)
    leftover = os.path.join(sink.staging, ".part-00001.0123.parquet")
    open(leftover, "w").close()
    assert sorted(os.listdir(sink.finish())) == [f"part-0000{number}.parquet" for number in range(4)]


def test_a_new_run_in_the_same_folder_replaces_the_result(npy, work, tmp_path):
    for shift in (0, 1):
        sink = open_sink(tmp_path / "map.npy", npy, 2, work)
        write_all(sink, npy, embedding=MAP + shift)
        np.testing.assert_array_equal(np.load(sink.finish()), MAP + shift)


# ---- what is refused ----


def test_refused_outputs(npy, work, tmp_path):
    with pytest.raises(ValueError, match=r"X\.npy' is the source"):
        open_sink(tmp_path / "X.npy", npy, 2, work)
    with pytest.raises(ValueError, match="suffix that is not known"):
        open_sink(tmp_path / "map.csv", npy, 2, work)
    with pytest.raises(ValueError, match="is a URL"):
        open_sink(None, npy, 2, "s3://bucket/work")
    with pytest.raises(ValueError, match="is a file, not a folder"):
        open_sink(f"{tmp_path}/X.npy/", npy, 2, work)
    rows = parquet_folder(tmp_path / "rows")
    with pytest.raises(ValueError, match="holds the source"):
        open_sink(tmp_path / "rows", rows, 2, work)
    with pytest.raises(ValueError, match="no place for the values of id_column"):
        open_sink(tmp_path / "map.npy", rows, 2, work)
    (tmp_path / "other").mkdir()
    parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "other" / "old.parquet")
    with pytest.raises(ValueError, match=r"other parquet files \(old\.parquet\)"):
        open_sink(tmp_path / "other", rows, 2, work)


def test_wrong_shapes_are_refused(npy, work):
    with pytest.raises(ValueError, match=r"rows 0 to 299 of X\.npy has shape \(299, 2\), not \(300, 2\)"):
        open_sink(None, npy, 2, work).write(0, MAP[:299], None)


# ---- URLs ----


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("out", OUTPUTS)
def test_object_stores(work, tmp_path, order, out):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    source = parquet_folder(tmp_path / "rows", ids=False)
    try:
        sink = open_sink(f"memory://results/{out}", source, 2, work)
        write_all(sink, source, order)
        assert not [name for name in system.find("/results") if "/." not in name]
        assert sink.finish() == f"memory://results/{out}".rstrip("/")
        assert sink.finish()
        assert not [name for name in system.find("/results") if "/." in name]
        if out == "map.npy":
            with system.open("/results/map.npy") as file:
                content = np.load(file)
        else:
            files = sorted(system.find(f"/results/{out}".rstrip("/")))
            tables = [parquet.read_table(system.open(name)) for name in files]
            assert len(files) == (1 if out == "map.parquet" else 4)
            table = pa.concat_tables(tables)
            content = np.column_stack([table["x"], table["y"]])
        np.testing.assert_array_equal(content, MAP)
    finally:
        if system.exists("/results"):
            system.rm("/results", recursive=True)


# ---- targets that are no files, and permissions ----


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes as files")
@pytest.mark.parametrize("name", ["map.npy", "map.parquet", "map.zarr", "map"])
def test_pipes_are_not_replaced(name, npy, work, tmp_path):
    os.mkfifo(tmp_path / name)
    os.symlink(name, tmp_path / f"link-{name}")
    for path in (tmp_path / name, tmp_path / f"link-{name}"):
        with pytest.raises(ValueError, match=f"{path.name}': is no regular file but a named pipe"):
            open_sink(path, npy, 2, work)
    assert (tmp_path / name).is_fifo() and os.listdir(work) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.parametrize("name", ["map.npy", "map.parquet"])
def test_replaced_files_keep_their_permissions(name, npy, work, tmp_path):
    (tmp_path / name).touch(0o600)
    sink = open_sink(tmp_path / name, npy, 2, work)
    write_all(sink, npy)
    sink.finish()
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600 and (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize("name", ["map.npy", "map.parquet", "map.zarr", "map"])
def test_errors_of_writing_name_the_result(name, npy, work, tmp_path, monkeypatch):
    if name == "map.zarr":
        pytest.importorskip("zarr")

    def fail(*_, **__):
        raise OSError(errno.EFBIG, "too large")

    sink = open_sink(tmp_path / name, npy, 2, work)
    if name == "map":
        monkeypatch.setattr("actup.distributed._sinks._parquet._write_table", fail)
    else:
        write_all(sink, npy)
        monkeypatch.setattr(sink.__class__, "read_part", fail, raising=False)
        monkeypatch.setattr(pa, "concat_tables", fail)
    with pytest.raises(OSError, match="cannot be written: too large") as caught:
        write_all(sink, npy)
        sink.finish()
    assert caught.value.filename == str(tmp_path / name)
    assert not (tmp_path / name).exists()
