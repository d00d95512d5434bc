"""Faults of files and discs: named before hours of work, and mended runs go on."""

from __future__ import annotations

import errno
import os
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import actup
from actup.distributed import ShardError, _needs, _scan, _tasks, embed, make_plan
from actup.distributed._sources import open_source
from file_runs import clustered_rows, run, small_plan

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

QUICK = actup.preset("umap").but(epochs=5)
ROWS, FILES = 300, 3


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def write_file(path, number, ids=None, rows=None):
    rows = clustered_rows(ROWS, 4, seed=number) if rows is None else rows
    columns = {name: rows[:, column] for column, name in enumerate("abcd")}
    if ids is not None:
        columns["name"] = ids
    parquet.write_table(pa.table(columns), path)


@pytest.fixture
def folder(tmp_path):
    """A folder of parquet files with names of rows."""
    (tmp_path / "rows").mkdir()
    for number in range(FILES):
        names = [f"row {number * ROWS + row}" for row in range(ROWS)]
        write_file(tmp_path / "rows" / f"{number}.parquet", number, names)
    return tmp_path / "rows"


def done(work):
    return {path.stem.split("-")[0] for path in work.glob("actup-*/done/*.json")} - {"source"}


# --- ids ---


def test_missing_ids_are_named_by_the_scan(folder, tmp_path):
    write_file(folder / "2.parquet", 2, ["a", None, *["b"] * (ROWS - 2)])
    with pytest.raises(ShardError, match=r"2\.parquet: id_column='name' has 1 nulls"):
        embed(folder, QUICK, work=tmp_path / "work", id_column="name", backend="cpu")
    assert done(tmp_path / "work") == {"scan"}
    write_file(folder / "2.parquet", 2, [f"row {row}" for row in range(ROWS)])
    result = embed(folder, QUICK, work=tmp_path / "work", id_column="name", backend="cpu")
    assert parquet.read_table(result.embedding).num_rows == FILES * ROWS


def test_ids_of_another_type_are_named_at_once(folder, tmp_path):
    write_file(folder / "1.parquet", 1, np.arange(ROWS))
    with pytest.raises(ShardError, match=r"1\.parquet: id_column='name' holds int64, but .*0\.parquet"):
        embed(folder, QUICK, work=tmp_path / "work", id_column="name", backend="cpu")
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("ids", "message"), [(["a", 1], "not of one type"), (["a", None], "1 of its rows have no id")]
)
def test_ids_in_memory(ids, message):
    source = SimpleNamespace(ids=lambda shard: np.array(ids, object), shards=[SimpleNamespace(name="cells")])
    with pytest.raises(ShardError, match=f"cells: .*{message}"):
        _scan.check_ids(source, 0)


# --- files ---


def test_file_that_is_gone_is_named(folder, tmp_path):
    plan = small_plan(folder, tmp_path / "work", QUICK, groups=2, columns=list("abcd"))
    gone = (folder / "1.parquet").rename(tmp_path / "kept.parquet")
    with pytest.raises(ShardError, match=r"1\.parquet: cannot be read .*but could when the run was planned"):
        run(plan)
    gone.rename(folder / "1.parquet")
    for number in range(FILES):
        _tasks.run_task(plan, _tasks.STAGES[0], number, 1)
    (folder / "1.parquet").rename(gone)
    with pytest.raises(ShardError, match=r"1\.parquet: cannot be read"):
        run(plan)
    gone.rename(folder / "1.parquet")
    assert run(plan).n_epochs == 5


def test_run_that_begins_anew_because_of_other_files_says_so(folder, tmp_path, monkeypatch):
    def call():
        return embed(folder, QUICK, work=tmp_path / "work", columns=list("abcd"), backend="cpu")

    with monkeypatch.context() as patch:
        patch.setattr("actup.distributed._lists._write_lists", full)
        with pytest.raises(OSError, match="disc that is full"):
            call()
    write_file(folder / "9.parquet", 9)
    with pytest.warns(UserWarning, match=r"unfinished run .*new: 9\.parquet.*begins anew"):
        assert call().plan.rows == (FILES + 1) * ROWS
    (folder / "0.parquet").unlink()
    with pytest.warns(UserWarning, match=r"new: 9\.parquet; missing: 0\.parquet"):
        call()


def test_run_that_begins_anew_because_of_other_rows_says_so(folder, tmp_path, monkeypatch):
    def call(**options):
        return embed(folder, QUICK, work=tmp_path / "work", columns=list("abcd"), backend="cpu", **options)

    with monkeypatch.context() as patch:
        patch.setattr("actup.distributed._lists._write_lists", full)
        with pytest.raises(OSError, match="disc that is full"):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(seed=1)  # another run, but of the same rows
    write_file(folder / "1.parquet", 1, rows=clustered_rows(ROWS - 50, 4))
    message = rf"unfinished run .*1\.parquet has {ROWS - 50} instead of {ROWS}\).*or remove .*actup-"
    with pytest.warns(UserWarning, match=message):
        call()


def test_footers_of_all_files_are_read_first(folder, tmp_path):
    rows = clustered_rows(ROWS, 4)
    parquet.write_table(pa.table(dict.fromkeys("abc", rows[:, 0])), folder / "1.parquet")
    with pytest.raises(ShardError, match=r"1\.parquet: has no column 'd'"):
        open_source(folder, list("abcd"))
    parquet.write_table(pa.table({name: ["text"] * ROWS for name in "abcd"}), folder / "1.parquet")
    with pytest.raises(ShardError, match=r"1\.parquet: column 'a' holds string, not numbers"):
        open_source(folder, list("abcd"))


# --- discs ---


def test_too_small_a_disc_for_the_map(folder, tmp_path, monkeypatch):
    out = tmp_path / "other disc"
    out.mkdir()
    monkeypatch.setattr(_needs, "_device", lambda path: path == out)
    monkeypatch.setattr(
        "shutil.disk_usage", lambda path: SimpleNamespace(free=1000 if path == out else 10**12)
    )
    with pytest.raises(OSError, match=r"out=.*map\.npy' needs up to .* has 0 MB free"):
        embed(folder, QUICK, work=tmp_path / "work", out=out / "map.npy", columns=list("abcd"))
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("out", "function"),
    [
        ("map.npy", "actup._array_files.write_values"),  # of parts in work
        ("map.npy", "actup.distributed._sinks._npy.write_values"),  # of the whole
        ("map.parquet", "pyarrow.parquet.ParquetWriter.write_table"),
        ("map", "pyarrow.parquet.write_table"),
    ],
)
def test_disc_that_is_full_at_the_end(folder, tmp_path, monkeypatch, out, function):
    plan = small_plan(folder, tmp_path / "work", QUICK, groups=2, columns=list("abcd"))
    expected = run(plan, out=tmp_path / "expected.npy")
    with monkeypatch.context() as patch:
        patch.setattr(function, full)
        with pytest.raises(OSError, match=r"work=.* or out=.* is on a disc that is full: free some space"):
            run(plan, out=tmp_path / out)
    assert not (tmp_path / out).exists()
    again = run(plan, out=tmp_path / out)
    assert again.digests == expected.digests
    rows = np.load(tmp_path / "expected.npy")
    if out == "map.npy":
        assert np.array_equal(np.load(tmp_path / out), rows)
    else:
        found = parquet.read_table(tmp_path / out).sort_by("id")
        assert np.array_equal(np.column_stack([found["x"], found["y"]]), rows)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_errors_of_arrays_say_that_a_disc_is_full():
    from actup._array_files import write_header, write_values
    from actup.distributed._disc import is_full

    rows = np.zeros((1000, 2), np.float32)
    with pytest.raises(OSError) as caught, open("/dev/full", "wb") as file:
        write_header(file, rows.shape, rows.dtype)
        write_values(file, rows)
        file.flush()
    assert is_full(caught.value)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_map_never_replaces_the_source_through_a_symbolic_link(kind, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    path = real / f"x.{kind}"
    if kind == "npy":
        np.save(path, X)
    else:
        parquet.write_table(pa.table({f"c{number}": X[:, number] for number in range(4)}), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is the source, which the map would replace"):
        embed(path, "umap", work=tmp_path / "work", out=link / f"x.{kind}")
    assert path.read_bytes() == before


def test_maps_and_runs_inside_of_a_source_folder(tmp_path):
    """A folder of maps there is refused; the files of an earlier run are no rows."""
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    rows = tmp_path / "rows"
    rows.mkdir()
    parquet.write_table(pa.table({f"c{number}": X[:, number] for number in range(4)}), rows / "0.parquet")
    with pytest.raises(ValueError, match="lies in the source"):
        embed(rows, "umap", work=tmp_path / "work", out=rows / "map/")
    quick = actup.preset("umap").but(epochs=2)
    embed(rows, quick, work=rows / "scratch")
    assert make_plan(rows, quick, work=tmp_path / "work").rows == 300


def test_a_column_that_identifies_rows_is_named(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    table = pa.table({"cell_id": np.arange(300), "a": X[:, 0], "b": X[:, 1]})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.warns(UserWarning, match="column 'cell_id' seems to identify rows"):
        plan = make_plan(tmp_path / "x.parquet", "umap", work=tmp_path / "work")
    assert "columns cell_id, a, b" in plan.explain()
    make_plan(tmp_path / "x.parquet", "umap", work=tmp_path / "work", id_column="cell_id")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"work": "s3://bucket/work"}, "work='s3://bucket/work' is a URL"),
        ({"memory": float("inf")}, "memory=inf must be a number of bytes"),
        ({"out": 5}, "out=5 must be a path"),
    ],
)
def test_wrong_places_and_sizes(options, message, tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    with pytest.raises((ValueError, TypeError), match=message):
        embed(X, "umap", **({"work": tmp_path} | options))
