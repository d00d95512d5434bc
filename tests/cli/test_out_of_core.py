"""actup embed --work: files that are read part by part."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from file_runs import clustered_rows
from small_files import write_kind

QUICK = ("--epochs", 10)


@pytest.fixture
def rows_file(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, clustered_rows(400))
    return path


def test_map_is_written(run, rows_file, tmp_path):
    out = tmp_path / "map.npy"
    ran = run("embed", rows_file, "--work", tmp_path / "work", "--backend", "cpu", *QUICK, "-o", out)
    assert ran.status == 0
    assert np.load(out).shape == (400, 2)


def test_dry_run_explains_the_plan(run, rows_file, tmp_path):
    ran = run("embed", rows_file, "--work", tmp_path / "work", "--memory", "2GB", "--dry-run")
    assert ran.status == 0
    assert "400 rows x 12 columns (float32)" in ran.out and "files in work" in ran.out
    assert "memory of machine" in ran.out and f"free in {tmp_path}" in ran.out
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("scarce", "value", "message"),
    [
        ("actup.distributed._api.available_memory", 10**6, "needs .* of memory, but this machine has 1 MB"),
        ("shutil.disk_usage", SimpleNamespace(free=10**3), "--work .* needs up to .* has 0 MB free"),
    ],
)
def test_dry_run_says_that_the_run_would_be_refused(
    run, rows_file, tmp_path, monkeypatch, scarce, value, message
):
    monkeypatch.setattr(scarce, lambda *_: value)
    ran = run("embed", rows_file, "--work", tmp_path / "work", "--dry-run", "-o", tmp_path / "map.npy")
    assert ran.status == 2 and "memory of machine" in ran.out and "disc of out" in ran.out
    assert re.search(f"the run would be refused: .*{message}", ran.err)


def test_dry_run_rejects_outputs_that_the_run_rejects(rejected, rows_file, tmp_path):
    command = ("embed", rows_file, "--work", tmp_path / "work", "--dry-run", "-o")
    assert "is the source" in rejected(*command, rows_file)
    assert "--work writes one map" in rejected(*command, tmp_path / "map.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--work", "w", "-o", "map.html"), "--work writes one map"),
        (("--work", "w", "--label", "type", "-o", "map.npy"), "--label does not go with --work"),
        (("--work", "w", "--pca", 5, "-o", "map.npy"), "--pca does not go with --work"),
        (("--work", "w", "--cluster", "-o", "map.npy"), "--cluster does not go with --work"),
        (("--work", "w", "--title", "T", "-o", "map.npy"), "--title does not go with --work"),
        (("--memory", "2GB", "-o", "map.npy"), "--memory goes with --work"),
        (
            ("--work", "w", "--max-memory", "1kB", "--memory", "2GB", "-o", "map.npy"),
            "--max-memory 1kB and --memory 2GB both limit the memory of a process of --work: leave one",
        ),
        (("--work", "w", "--memory", "2 apples", "-o", "map.npy"), "actup: --memory '2 apples' must be"),
        (("--work", "w", "--max-memory", "1MB", "-o", "map.npy"), "actup: --max-memory '1MB' is too little"),
        (("--work", "w", "--metric", "jaccard", "-o", "map.npy"), "actup: --metric 'jaccard' cannot be "),
        (("--work", "w", "--metric", "jaccard", "-o", "map.npy"), "or leave --work out, which holds all"),
        (("--work", "w", "--density-weight", 2, "-o", "map.npy"), "memory: leave it out, or leave --work"),
        (("--work", "w", "--columns", "a", "-o", "map.npy"), "actup: --columns a: a .npy file has no "),
        (("--work", "w", "-o", "nowhere/map.npy"), "-o nowhere/map.npy: there is no folder nowhere"),
    ],
)
def test_wrong_options(rejected, rows_file, arguments, message):
    assert message in rejected("embed", rows_file, *arguments)


def test_sources_are_named_without_a_parameter(rejected, tmp_path):
    (tmp_path / "empty").mkdir()
    for name, message in (("empty", "is a folder without"), ("none.npy", "does not exist")):
        error = rejected("embed", tmp_path / name, "--work", tmp_path / "work", "-o", tmp_path / "map.npy")
        assert error.startswith(f"actup: '{tmp_path / name}' {message}")


def test_the_map_may_lie_in_the_work_folder(run, rows_file, tmp_path):
    out = tmp_path / "work" / "map.npy"
    ran = run("embed", rows_file, "--work", tmp_path / "work", "--backend", "cpu", *QUICK, "-o", out)
    assert ran.status == 0 and out.exists()


def test_matrices_of_cells_are_called_as_without_work(run, rejected, tmp_path):
    path = write_kind("h5ad", tmp_path)
    command = ("embed", path, "--work", tmp_path / "work", "--dry-run")
    assert "150 rows x 2 columns" in run(*command, "--array", "X_pca").out
    assert "150 rows x 4 columns" in run(*command, "--array", "X").out
    error = rejected(*command)
    assert "choose one, --array obsm/X_pca" in error and "columns=" not in error
    assert "--array X_umap is not in" in rejected(*command, "--array", "X_umap")


@pytest.mark.parametrize("index", [None, [f"row {number}" for number in range(60)]])
def test_parquet_of_pandas_is_read_with_any_index(run, tmp_path, index):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(clustered_rows(60), index, [f"c{number}" for number in range(12)])
    frame.to_parquet(tmp_path / "frame.parquet")
    ran = run("embed", tmp_path / "frame.parquet", "--work", tmp_path / "work", "--dry-run")
    assert (ran.status, ran.err) == (0, "") and "60 rows x 12 columns" in ran.out


def test_columns_of_text_are_named(run, rejected, tmp_path):
    path = write_kind("parquet", tmp_path)
    command = ("embed", path, "--work", tmp_path / "work", "--dry-run")
    ran = run(*command)
    assert ran.status == 0 and "150 rows x 4 columns" in ran.out
    assert "hold no numbers are left out, of the map and of its file: 'species'" in ran.err
    assert run(*command, "--columns", "petal_width").err == run(*command, "--id", "species").err == ""
    assert "has no column 'petal' (--id)" in rejected(*command, "--columns", "petal_width", "--id", "petal")
