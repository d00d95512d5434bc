"""Runs: their keys, storing their results, and resuming."""

import pytest

from actup import datasets, preset
from actup._experiments.experiment import Run
from actup._experiments.paper.runtimes import provenance
from actup._experiments.results import Store
from actup._experiments.runner import DataSource, run_missing


def test_key_depends_on_data_recipe_seed_measure_and_points():
    run = Run("digits", preset("umap"), 0, label="one")
    assert run.key == Run("digits", preset("umap"), 0, label="other").key
    others = [
        Run("mnist", preset("umap")),
        Run("digits", preset("umap").but(epochs=7)),
        Run("digits", preset("umap"), 1),
        Run("digits", preset("umap"), measure="angles"),
        Run("digits", preset("umap"), points=9),
    ]
    assert len({run.key, *(other.key for other in others)}) == 6


def test_runs_without_data_are_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    runs = [Run("mnist", preset("umap"), points=50), Run("digits", preset("umap"), points=50)]
    store = Store(tmp_path)
    assert run_missing(runs, store, DataSource(), 1) == ["mnist"]
    assert runs[0] not in store and runs[1] in store
    assert "mnist.npz" in capsys.readouterr().err


def test_resumes_after_an_incomplete_line(tmp_path):
    store = Store(tmp_path)
    runs = [Run("digits", preset("gdr_umap"), seed, points=60) for seed in range(3)]
    assert run_missing(runs[:2], store, DataSource(), 1) == []
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"key": "abc", "resu')
    again = Store(tmp_path)
    assert runs[0] in again and runs[1] in again and runs[2] not in again
    assert again.results(runs[0]) == store.results(runs[0])
    assert again.load_map(runs[0]).shape == (60, 2)
    assert again.load_map(runs[1]) is None  # only maps of seed 0 are saved
    run_missing(runs, again, DataSource(), 1)
    assert runs[2] in Store(tmp_path)


def test_what_is_called_before_each_run_can_end_the_work(tmp_path):
    calls = []

    def interrupt():
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt

    store, runs = Store(tmp_path), [Run("digits", preset("gdr_umap"), seed, points=60) for seed in range(3)]
    with pytest.raises(KeyboardInterrupt):
        run_missing(runs, store, DataSource(), 1, interrupt)
    assert [run in store for run in runs] == [True, False, False]


def test_forgotten_runs_are_repeated(tmp_path):
    run = Run("digits", preset("gdr_umap"), points=60)
    store = Store(tmp_path)
    run_missing([run], store, DataSource(), 1)
    store.forget([run])
    assert run not in store and run in Store(tmp_path)
    run_missing([run], store, DataSource(), 1)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
    assert len(Store(tmp_path)) == 1


def test_records_have_machine_and_versions(tmp_path):
    run = Run("digits", preset("gdr_umap"), points=60)
    store = Store(tmp_path)
    run_missing([run], store, DataSource(), 1)
    record = Store(tmp_path).record(run)
    assert record["machine"]["threads"] == 1 and record["machine"]["cores"] >= 1
    assert {"python", "actup", "numpy"} <= set(record["versions"])
    text = provenance([record, record, {"machine": "x86_64"}])  # the last in the form of older files
    assert text.count("threads") == 1 and "numpy" in text
    assert Store(tmp_path).record(Run("digits", preset("umap"))) is None
