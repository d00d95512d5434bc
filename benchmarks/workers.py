"""Run a contestant in a fresh process: contestants.py for maps, neighbor_worker.py for neighbours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Conditions:
    """How a worker runs.

    Attributes
    ----------
    runs : int
        At most.
    python : str
        The interpreter.
    seconds : float or None
        No run is begun after this many seconds of runs, without the first one, which may compile; None: the
        worker's own limit.
    threads : int or None
        The number of cores that the process may use; None: all.
    level : str
        The level of ActUp's engine; "": that of the processor.
    """

    runs: int
    python: str = sys.executable
    seconds: float | None = None
    threads: int | None = None
    level: str = ""


def run_worker(
    program: str, contestant: str, X: np.ndarray, conditions: Conditions
) -> tuple[dict, np.ndarray | None]:
    """What the worker printed, and what it found; only the reason, as ``failed`` or ``absent``, if nothing.

    Parameters
    ----------
    program : {"contestants.py", "neighbor_worker.py"}
    contestant : str
    X : ndarray of shape (n, columns)
    conditions : Conditions
    """
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "X.npy", Path(folder) / "Y.npy"
        np.save(source, X)
        command = [conditions.python, str(_FOLDER / program), contestant, str(source), str(target)]
        command += [str(conditions.runs)] + ([] if conditions.seconds is None else [str(conditions.seconds)])
        done = subprocess.run(
            command, capture_output=True, text=True, check=False,
            env={**os.environ, **_variables(conditions)},
            preexec_fn=None if conditions.threads is None else partial(_keep_to_cores, conditions.threads),
        )  # fmt: skip
        if done.returncode:
            return {"failed": _reason(done)}, None
        row = json.loads(done.stdout.strip().splitlines()[-1])
        return row, None if "absent" in row else np.load(target)


def _variables(conditions: Conditions) -> dict[str, str]:
    """Environment variables of the worker."""
    variables = {"ACTUP_CPU": conditions.level} if conditions.level else {}
    if conditions.threads is not None:
        variables |= dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), str(conditions.threads))
    return variables


def _keep_to_cores(count: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def _reason(done: subprocess.CompletedProcess) -> str:
    """Why a process failed: the last line of its error, or the signal that ended it."""
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode} without a message"
