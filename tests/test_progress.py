"""Progress: one bar over all stages, and a callback that can stop."""

import sys

import numpy as np
import pytest

import actup
from actup.progress import STAGES, Progress


def run_through(progress):
    for stage in STAGES:
        for fraction in (0.0, 0.5, 1.0):
            progress.report(stage, fraction)


def test_stages_fill_the_bar():
    assert sum(STAGES.values()) == 100


def test_silent_by_default(capfd):
    with Progress() as progress:
        run_through(progress)
    assert capfd.readouterr() == ("", "")


def test_one_tqdm_bar_on_standard_error(capfd):
    pytest.importorskip("tqdm")
    with Progress(verbose=True) as progress:
        run_through(progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert "layout" in err and "100%" in err


def test_lines_of_text_without_tqdm(capfd, monkeypatch):
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    with Progress(verbose=True) as progress:
        run_through(progress)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    percents = [int(line.split("%")[0].split()[-1]) for line in lines if "%" in line]
    assert percents == sorted(percents)
    assert percents[0] == 0 and percents[-1] == 100
    for stage in STAGES:
        assert any(stage in line for line in lines)


@pytest.mark.parametrize("answer", [True, np.True_])
def test_callback_stops_and_stays_stopped(answer):
    answers = iter([None, False, answer, None])
    progress = Progress(callback=lambda stage, fraction, embedding: next(answers))
    stopped = []
    for fraction in (0.0, 0.25, 0.5, 0.75):
        progress.report("layout", fraction, lambda: np.zeros((3, 2)))
        stopped.append(progress.stopped)
    assert stopped == [False, False, True, True]


def test_embedding_is_copied_only_for_a_callback():
    def must_not_be_called():
        raise AssertionError

    Progress().report("layout", 0.5, must_not_be_called)
    seen = []
    Progress(callback=lambda *arguments: seen.append(arguments)).report("layout", 0.5, lambda: "points")
    assert seen == [("layout", 0.5, "points")]


def test_callback_must_be_callable():
    with pytest.raises(TypeError, match="callback=3"):
        Progress(callback=3)


@pytest.mark.parametrize("callback", [lambda: None, lambda stage: None, [].append, lambda a, b, c, d: None])
def test_callbacks_with_other_arguments_are_rejected(callback):
    with pytest.raises(TypeError, match=r"cannot be called as callback\(stage, fraction, embedding\)"):
        Progress(callback=callback)


@pytest.mark.parametrize("callback", [lambda *arguments: None, lambda stage, fraction, points, more=0: None])
def test_callbacks_may_take_more_than_they_get(callback):
    with Progress(callback=callback) as progress:
        run_through(progress)
    assert not progress.stopped


def test_no_standard_error(monkeypatch, capfd):
    for absent in ({}, {"tqdm": None, "tqdm.auto": None}):
        for name, module in absent.items():
            monkeypatch.setitem(sys.modules, name, module)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", None)
            with Progress(verbose=True) as progress:
                run_through(progress)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("call", range(1, 11))
def test_errors_of_the_callback_come_out_unchanged(call):
    """Also StopIteration, which Python turns into a RuntimeError in generators."""
    calls = iter(range(1, call))
    error = StopIteration("mine")

    def callback(stage, fraction, embedding):
        if next(calls, None) is None:
            raise error

    X = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.raises(StopIteration) as caught:
        actup.UMAP(n_epochs=50, callback=callback).fit(X)
    assert caught.value is error
