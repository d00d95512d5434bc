"""Short forms of ``make faults`` and ``make soak``, and what killed processes leave."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import actup
from actup._experiments.experiment import Run
from actup._experiments.results import Store
from actup._whole_file import remove_unfinished, whole_file
from actup.distributed import embed
from file_runs import clustered_rows

ROOT = Path(__file__).parent
pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")


def run(script, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    return subprocess.run(
        [sys.executable, str(ROOT / script), *arguments], capture_output=True, text=True, env=environment
    )


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_commands_are_struck_at_random_moments():
    done = run(
        "faults.py", "--moments", "5", "--only", "embed (npy|html|actup|--work .parquet)|fit and|model"
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "0 failures"


def test_random_work_leaves_nothing_behind():
    done = run("soak.py", "--minutes", "0.1")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


# ---- files ----


def killed_while_writing(path):
    """Leave what a process leaves that is killed while it writes a file."""
    child = os.fork()
    if child == 0:
        with whole_file(path) as unfinished:
            unfinished.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_leaves_hidden_files_only(tmp_path):
    former = tmp_path / "map.npy"
    former.write_bytes(b"former")
    killed_while_writing(former)
    killed_while_writing(tmp_path / "other.npy")
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["map.npy"]
    assert former.read_bytes() == b"former" and len(list(tmp_path.iterdir())) == 3
    remove_unfinished(tmp_path)
    assert list(tmp_path.iterdir()) == [former]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_run_over_files_removes_what_a_killed_one_left(tmp_path):
    X, recipe = clustered_rows(200, 4), actup.preset("umap").but(epochs=5)
    result = embed(X, recipe, work=tmp_path, threads=1)
    killed_while_writing(result.plan.folder.path / "done" / "scan-0.json")
    embed(X, recipe, work=tmp_path, threads=1)
    assert not list(tmp_path.rglob(".*"))


def test_a_map_that_was_not_completed_is_none(tmp_path, monkeypatch):
    store, run = Store(tmp_path), Run("digits", actup.preset("umap"))
    store.save_map(run, np.zeros((3, 2)))

    def write_half(file, array):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "save", write_half)
    other = Run("digits", actup.preset("tsne"), points=2)
    for save, at in ((store.save_map, run), (store.save_map, other), (store.save_labels, other)):
        with pytest.raises(KeyboardInterrupt):
            save(at, np.ones((3, 2)))
    monkeypatch.undo()
    assert np.array_equal(store.load_map(run), np.zeros((3, 2)))
    assert store.load_map(other) is None and store.load_labels(other) is None


# ---- Ctrl-C ----


@pytest.mark.parametrize("delay", [0.12, 0.3, 0.5])
def test_ctrl_c_while_a_program_begins_is_answered_in_one_line(delay):
    code = "import sys; print('begun', flush=True); from actup._cli import program; sys.exit(program())"
    program = subprocess.Popen(
        [sys.executable, "-c", code, "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    program.stdout.readline()
    time.sleep(delay)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=300)
    assert (program.returncode, errors) in [(130, "actup: stopped\n"), (0, ""), (-signal.SIGINT, "")]
