"""Ctrl-C and progress in every stage; ``make interrupts`` does it at 200 random moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import actup
from actup import _pipeline, _reporting
from actup.neighbors._row_transforms import as_float32, far_column_center
from actup.neighbors._rows import read_rows
from actup.progress import Progress

ROOT = Path(__file__).parent


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the memory of the process from /proc"
)
def test_signals_at_random_moments():
    command = [sys.executable, str(ROOT / "interrupts.py"), "--moments", "20", "--scale", "0.2"]
    # The tests beside this one may keep all cores busy.
    result = subprocess.run(
        [*command, "--limit", "1.5"], capture_output=True, text=True, timeout=300, env=os.environ, check=False
    )
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-3000:]


def rows(n: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, columns)).astype(np.float32)


def absolute(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).sum())


SEARCHES = {
    "exact": (rows(9_000, 200), "euclidean", {}),
    "cluster": (rows(60_000, 60), "euclidean", {}),
    "proxy": (rows(15_000, 100), "manhattan", {}),
    "presence": (rows(15_000, 500) > 1, "jaccard", {}),
    "minkowski": (rows(3_000, 100), "minkowski", {"p": 2.5}),
    "scikit-learn": (rows(2_000, 50), "minkowski", {"p": 5}),
    "numpy": (np.abs(rows(4_000, 50)) + 1, "symmetric_kl", {}),
    "function": (rows(500, 5), absolute, {}),
    "sparse": (sparse.random(6_000, 2_000, 0.02, "csr", np.float32, random_state=0), "cosine", {}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_says_how_far_it_is(name, monkeypatch):
    monkeypatch.setattr(_pipeline, "_REPORT_SECONDS", 0.0)
    X, metric, parameters = SEARCHES[name]
    seen: list[float] = []

    def note(stage, fraction, embedding):
        if stage == "neighbors":
            seen.append(fraction)

    recipe = actup.preset("umap").but(
        metric=metric, metric_kwds=parameters, epochs=0, initialization="random"
    )
    with Progress(callback=note) as progress:
        actup.embed(X, recipe, threads=1, progress=progress)
    assert seen[0] == 0 and seen[-1] == 1
    assert seen == sorted(seen)
    assert any(0 < fraction < 1 for fraction in seen)


@pytest.mark.parametrize("name", SEARCHES)
def test_an_exception_of_the_callback_ends_the_search(name, monkeypatch):
    monkeypatch.setattr(_pipeline, "_REPORT_SECONDS", 0.0)
    X, metric, parameters = SEARCHES[name]

    def fail(stage, fraction, embedding):
        if 0 < fraction < 1:
            raise RuntimeError(f"{stage} at {fraction:.2f}")

    recipe = actup.preset("umap").but(
        metric=metric, metric_kwds=parameters, epochs=0, initialization="random"
    )
    with Progress(callback=fail) as progress, pytest.raises(RuntimeError, match="neighbors at 0"):
        actup.embed(X, recipe, threads=1, progress=progress)


@pytest.mark.parametrize("name", ["minkowski", "numpy", "function"])
def test_a_long_search_is_announced(name, monkeypatch):
    monkeypatch.setattr(_reporting, "_ESTIMATE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(_reporting, "_LONG_SECONDS", 0.0)
    X, metric, parameters = SEARCHES[name]
    message = r"comparing .* metric=.* will take about \d+ seconds; Ctrl-C stops it\. .*precomputed_knn"
    with pytest.warns(UserWarning, match=message):
        actup.nearest_neighbors(X, 5, metric=metric, metric_kwds=parameters, n_jobs=1)


def test_a_short_search_is_not_announced(recwarn):
    X, metric, parameters = SEARCHES["function"]
    actup.nearest_neighbors(X[:100], 5, metric=metric, metric_kwds=parameters)
    assert not recwarn.list


def test_parts_of_work_are_shares_of_the_whole():
    seen: list[float] = []
    with _reporting.reporting_to(seen.append):
        with _reporting.part_of_work(0.0, 0.5):
            _reporting.report(1.0)
            with _reporting.part_of_work(0.5, 1.0):
                _reporting.report(0.5)
        _reporting.report(1.0)
    _reporting.report(0.3)  # nobody listens
    assert seen == pytest.approx([0.5, 0.375, 1.0])


LONG_STEPS = {
    "conversion": (as_float32, np.zeros((1_000, 30_000))),
    "sparse conversion": (as_float32, sparse.csr_matrix(np.ones((600, 30_000)))),
    "finite check": (lambda X: read_rows(X, "euclidean"), np.zeros((4_000, 30_000), np.float16)),
    "medians of columns": (far_column_center, np.zeros((300, 30_000)) + np.arange(300)[:, None] % 7),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an interval timer")
@pytest.mark.parametrize("name", LONG_STEPS)
def test_signals_are_handled_within_a_step(name):
    step, X = LONG_STEPS[name]
    step(X[:100])
    handled = 0

    def count(*_):
        nonlocal handled
        handled += 1

    before = signal.signal(signal.SIGALRM, count)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        step(X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled >= 8
