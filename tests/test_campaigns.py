"""Long campaigns of tests (`make fuzz`, `make fuzz-native`, `make soak`) fail where nothing was tested."""

import importlib.util
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the campaigns limit what a process may take, with a module of Unix")

from fuzz import watch

TESTS = Path(__file__).parent


def run(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=TESTS.parent, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "0"], "--minutes must be positive, got 0"),
        (["--minutes", "nan"], "--minutes must be positive, got nan"),
        (["--only", "zzz"], "no kind of work has 'zzz' in its name: there are fit, "),
    ],
)
def test_a_soak_without_work_is_rejected(arguments, message):
    done = run(TESTS / "soak.py", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "0"], "--minutes must be positive, got 0"),
        (["--minutes", "-1"], "--minutes must be positive, got -1"),
        (["--calls", "0"], "--calls and --files must be positive"),
    ],
)
def test_fuzzing_without_time_is_rejected(arguments, message):
    done = run("-m", "tests.fuzz", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_fuzzing_without_a_case_fails():
    done = run("-m", "tests.fuzz", "--calls", "5", "--only", "saved_models")  # which changes files
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "FAILED: no case was run of saved_models"


def test_each_part_runs_a_case_however_short_the_time_is():
    done = run("-m", "tests.fuzz", "--minutes", "0.0001", "--only", "requests", "--only", "csr_files")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "no crash, no hang, no other error in 2 cases"


def program(path, *lines):
    """Write a shell script that can be run."""
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return path


def test_a_crash_after_the_deadline_is_a_failure(tmp_path, monkeypatch):
    """A case that hangs is ended by a signal, and mostly after the time of its part."""
    begin = json.dumps({"begin": 0})
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "p", f"echo '{begin}'", "kill -PROF $$")))
    tally = watch.Tally()
    watch.run_cases("requests", "1", time.monotonic(), tally)
    assert tally.cases == 1
    assert "SIGPROF" in tally.failures[0]


def test_a_process_that_runs_no_case_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "p", "exit 3")))
    with pytest.raises(RuntimeError, match="no case could be run, exit status 3"):
        watch.run_cases("requests", "1", time.monotonic(), watch.Tally())


# ---- compiled code: tests/native/fuzz/run.py ----


def run_target(folder, *lines, minutes=0.0001, libfuzzer=True):
    program(folder / "graph", *lines)
    options = ["--build", folder, "--minutes", minutes, *["--libfuzzer"] * libfuzzer]
    return run(TESTS / "native" / "fuzz" / "run.py", *options, "graph")


@pytest.mark.parametrize("libfuzzer", [True, False])
def test_a_fuzz_target_that_executes_inputs_passes(tmp_path, libfuzzer):
    done = run_target(tmp_path, 'echo "$@"', "echo Done 1234 runs in 1 seconds", libfuzzer=libfuzzer)
    assert done.returncode == 0
    seed = re.fullmatch(
        r"--seed (\d+)\ngraph: 1,234 inputs in 1 s\n0 of 1 fuzz targets failed\n", done.stdout
    )[1]
    arguments = (tmp_path / "graph.log").read_text().split()
    if libfuzzer:
        assert f"-seed={seed}" in arguments
        assert "-max_total_time=1" in arguments  # 0 would be no limit
        assert str(tmp_path / "corpus" / "graph") in arguments and (tmp_path / "corpus" / "graph").is_dir()
    else:
        assert arguments[1:3] == ["1", seed]
    assert str(TESTS / "native" / "fuzz" / "corpus" / "graph") in arguments


@pytest.mark.parametrize(
    ("lines", "failure"),
    [
        (["exit 127"], "ended with status 127"),
        (["kill -9 $$"], "ended with status -9"),
        (["echo Done 12 runs in 1 seconds", "exit 1"], "ended with status 1"),
        (["exit 0"], "reported no executed input"),
        (["echo Done 0 runs in 1 seconds"], "reported no executed input"),
        (["echo Done 12 runs", "echo a.hpp:3: runtime error: overflow"], "a sanitizer reported an error"),
    ],
)
def test_a_fuzz_target_that_fails_is_named(tmp_path, lines, failure):
    done = run_target(tmp_path, *lines)
    assert done.returncode == 1
    assert f"FAILED: {failure}\n" in done.stdout
    assert done.stdout.endswith("1 of 1 fuzz targets failed: graph\n")


def test_fuzz_targets_get_another_seed_in_each_run_or_the_given_one(tmp_path):
    first, second = (run_target(tmp_path, "echo Done 12 runs").stdout.splitlines()[0] for _ in range(2))
    assert first != second
    program(tmp_path / "graph", "echo $@", "echo Done 12 runs")
    options = ["--build", tmp_path, "--minutes", "0.0001", "--seed", "17", "graph"]
    assert run(TESTS / "native" / "fuzz" / "run.py", *options).stdout.startswith("--seed 17\n")
    assert (tmp_path / "graph.log").read_text().split()[2] == "17"


def test_a_fuzz_target_that_is_not_there_fails(tmp_path):
    done = run(TESTS / "native/fuzz/run.py", "--build", tmp_path, "--minutes", "0.01", "graph")
    assert done.returncode == 1
    assert "ended with status 127" in done.stdout


@pytest.mark.parametrize("minutes", ["0", "-2", "nan", "inf"])
def test_fuzz_targets_need_time(tmp_path, minutes):
    done = run_target(tmp_path, "echo Done 12 runs", minutes=minutes)
    assert done.returncode == 2
    assert "--minutes must be positive" in done.stderr


def test_a_fuzz_target_that_does_not_end_is_stopped(tmp_path):
    spec = importlib.util.spec_from_file_location("run_targets", TESTS / "native" / "fuzz" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module._MAX_OVERTIME_SECONDS = -0.5
    target = program(tmp_path / "graph", "exec sleep 60")
    assert module.run([str(target)], tmp_path / "graph.log", seconds=1) is None
    assert module.judge(None, "") == (0, "did not end")


def test_minutes_of_make_fuzz_may_be_a_fraction(tmp_path):
    """Half of the time is for compiled code."""
    done = subprocess.run(
        ["make", "--dry-run", "fuzz", "MINUTES=0.5", f"VENV={tmp_path}"],
        cwd=TESTS.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert "tests/native/fuzz/run.py --build build/fuzz --minutes 0.25" in done.stdout
    assert "-m tests.fuzz --minutes 0.25" in done.stdout
