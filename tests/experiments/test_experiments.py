"""All experiments on tiny data."""

import json
import re

import numpy as np
import pytest

from actup import datasets
from actup._cli import main
from actup._experiments import experiments
from actup._experiments.experiment import Scale
from actup._experiments.results import Store
from actup._experiments.runner import DataSource, run_missing


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small stand-ins for every data set that is not generated."""
    folder = tmp_path_factory.mktemp("data")
    digits = datasets.load("digits", n_samples=400)
    for name in ("mnist", "fashion_mnist", "coil100", "single_cell"):
        np.savez(folder / f"{name}.npz", X=digits.X, y=digits.y)
    np.savez(folder / "word_vectors.npz", X=digits.X[:200].astype(np.float16))
    return folder


@pytest.mark.filterwarnings("ignore:.*expect other figures")
def test_all_experiments_run_and_fill_the_page(folder, tmp_path, capfd):
    command = ["reproduce", "all", "--quick", "--points", "120"]
    assert main([*command, "--data", str(folder), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    for experiment in experiments().values():
        assert f"## {experiment.title}" in page
    assert "Not run yet" not in page
    assert page.count("not run, or the data set was missing.") == 1  # CIFAR-10
    assert not re.search(r"\bnan\b", page)
    for picture in re.findall(r"\]\((pictures/\w+\.png)\)", page):
        assert (tmp_path / picture).stat().st_size > 3_000
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) > 100
    capfd.readouterr()
    runs = [run for experiment in experiments().values() for run in experiment.runs(Scale(120, 1))]
    assert run_missing(runs, Store(tmp_path), DataSource(folder), 1) == ["cifar10"]  # all others are done
    assert (tmp_path / "results.jsonl").read_text().splitlines() == lines
