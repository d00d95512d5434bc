"""Run cases in processes of their own: crashes, hangs and too much memory are seen, and the rest goes on."""

from __future__ import annotations

import collections
import contextlib
import faulthandler
import importlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MAX_CPU_SECONDS = 30.0  # per case; processor time, for the machine may be busy
MAX_SILENT_SECONDS = 900  # per case: nothing waits longer, even where the process gets no processor
MAX_GROWTH_BYTES = 2**30  # of the largest memory, by one case
MAX_ADDRESS_BYTES = 2**33  # of the process, most of it libraries and threads
CASES_PER_PROCESS = 1000
_SHOWN = 4000  # characters of a failure
_ROOT = Path(__file__).parents[2]


@dataclass
class Tally:
    """What came of many cases."""

    cases: int = 0
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0

    @property
    def calls(self) -> int:
        return sum(self.counts.values())


# ---- in the process that runs cases ----


def run_worker(part: str, seed: str, begin: int, end: int) -> None:
    """Run cases of a part: a line before each, and one with what came of it."""
    _limit_resources()
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no report
    module = importlib.import_module(f"{__package__}.{part}")
    from actup.distributed._tasks import peak_memory  # here: the process that watches needs no compiled code

    from .oracle import silence_advice

    silence_advice()
    for case in range(begin, end):
        print(json.dumps({"begin": case}), file=output, flush=True)
        memory, start = peak_memory(), time.process_time()
        with _time_limit():
            counts, failure = run_case(module, random.Random(f"{seed} {case}"))
        growth = peak_memory() - memory
        if not failure and growth > MAX_GROWTH_BYTES:
            failure = f"the case took {growth / 2**20:.0f} MiB"
        line = {"end": case, "counts": counts, "failure": failure, "seconds": time.process_time() - start}
        print(json.dumps(line), file=output, flush=True)


def run_case(module: Any, draw: random.Random) -> tuple[dict[str, int], str]:
    """One case: its counts, and what went wrong, with all steps."""
    from .oracle import Report

    report = Report()
    try:
        with np.errstate(all="ignore"):  # of the draws; calls see NumPy's own settings
            module.run_case(draw, report)
    except BaseException as error:
        report.count("wrong", type(error).__name__)
        steps = "\n    ".join(["", *report.steps[-12:]])
        return dict(report.counts), f"{error!s:.1500}{steps}\n{traceback.format_exc(-6)[-_SHOWN:]}"
    return dict(report.counts), ""


def _limit_resources() -> None:
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # shows where the case is, then ends the process


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_SECONDS)
    faulthandler.dump_traceback_later(MAX_SILENT_SECONDS, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


# ---- in the process that watches ----


def run_cases(part: str, seed: str, deadline: float, tally: Tally, count: int = CASES_PER_PROCESS) -> None:
    """Run the next cases in one process, at least one and until the deadline, and add them to the tally."""
    first, started = tally.cases, time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz", "--worker", part, seed, str(first), str(first + count)]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=_ROOT, env=environment
        ) as child,
    ):
        try:
            now = _follow(child, part, seed, deadline, tally)
        finally:
            child.kill()
            code = child.wait()
            tally.seconds += time.monotonic() - started
        errors.seek(0)
        said = re.sub(r"Extension modules: .*", "", errors.read())[-_SHOWN:]
    if now is None:
        if tally.cases == first + count or (tally.cases > first and time.monotonic() > deadline):
            return
        raise RuntimeError(f"{part}: no case could be run, exit status {code}:\n{said}")
    ending = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    failure = f"the process ended with {ending}: a crash, or a hang (SIGPROF)\n{said}"
    _add(tally, part, seed, {"end": now, "counts": {"wrong: crash": 1}, "failure": failure, "seconds": 0})


def _follow(child: subprocess.Popen[str], part: str, seed: str, deadline: float, tally: Tally) -> int | None:
    """Read what a process reports, until it ends or the deadline; gives the case that it died in."""
    now = None
    assert child.stdout is not None
    for line in child.stdout:
        entry = json.loads(line)
        if "begin" in entry:
            now = entry["begin"]
            continue
        _add(tally, part, seed, entry)
        now = None
        if time.monotonic() > deadline:
            break
    return now


def _add(tally: Tally, part: str, seed: str, entry: dict[str, Any]) -> None:
    tally.cases += 1
    tally.counts.update(entry["counts"])
    tally.slowest = max(tally.slowest, entry["seconds"])
    if entry["failure"]:
        repeat = f"python -m tests.fuzz --only {part} --seed {seed} --case {entry['end']}"
        tally.failures.append(f"{part} case {entry['end']}: {entry['failure']}\n    repeat: {repeat}\n")
