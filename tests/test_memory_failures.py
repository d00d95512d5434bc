"""When memory runs out: an error that names the stage, the model as before, nothing left behind."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import actup
from actup._memory import StageMemoryError
from allocation_failures import CASES, build_failing_allocations

HERE = Path(__file__).parent
COMPILER = shutil.which("c++")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD and RLIMIT_AS of Linux")


@pytest.fixture(scope="session")
def failing_allocations(tmp_path_factory):
    """A library whose allocations fail when they are told to."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    library = tmp_path_factory.mktemp("preload") / "failing_allocations.so"
    build_failing_allocations(library)
    return str(library)


def run(*arguments, **environment):
    command = [sys.executable, str(HERE / "allocation_failures.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("case", CASES)
def test_every_allocation_may_fail(case, failing_allocations):
    outcome = run(case, "6", LD_PRELOAD=failing_allocations)
    assert outcome["failed"] >= 6
    assert sum(outcome["stages"].values()) == 2 * outcome["failed"]
    assert set(outcome["stages"]) - {"done without"}


@pytest.mark.parametrize("case", ["codes", "mesh"])
def test_the_address_space_may_be_limited(case):
    stages = run(case, "RLIMIT")["stages"]
    assert set(stages) & {"neighbors", "graph", "start", "layout"}


def test_the_error_says_what_is_needed(monkeypatch):
    def fails(*_):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr("actup.backends._cpu.CpuBackend.affinity_graph", fails)
    X = actup.datasets.load("digits").X
    with pytest.raises(StageMemoryError) as raised:
        actup.UMAP().fit(X)
    for words in ("in stage 'graph' of 1,797 rows: ", "needs about", "X included", "fewer neighbours"):
        assert words in str(raised.value)
