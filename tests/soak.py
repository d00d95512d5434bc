"""Do random work in one process for an hour, and watch what it holds: ``python tests/soak.py --minutes 60``.

At the end the process may hold no more threads, open files, children and temporary files than in the first
half of the time, its memory may not have grown, and fixed fits must have the same bits as at the beginning.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import math
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence

from threadpoolctl import threadpool_info

from process_state import Held
from soak_work import KINDS, Work, probe, temporary_folder

_SAMPLES = 60  # how often it is looked at what the process holds, unless it is paused
_WARM_UP_ROUNDS = 3  # of all kinds of work: until caches, and the allocator's areas of threads, are there
# Growth of the median of memory between the second and the last quarter. An hour does thousands of pieces of
# work, so that a leak of 10 KiB in any of the common kinds exceeds this. Samples vary by some MiB: the models
# that are kept differ in size, and areas of the allocator fill and empty.
_MIN_QUARTER = 2  # samples
MAX_GROWTH_MIB = 16.0
_HANG_SECONDS = 600  # of running, for one piece of work; time in which the process is paused does not count
_PAUSE_SECONDS = 5.0  # a second that took longer than this was a pause


class Watchdog:
    """Ends the process with the stacks of its threads if a piece of work hangs, and adds up pauses."""

    def __init__(self) -> None:
        self.paused_seconds = 0.0
        self._seconds = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def note_progress(self) -> None:
        """Say that a piece of work has ended."""
        self._seconds = 0

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._ended.wait(1.0):
            now = time.monotonic()
            if now - before > _PAUSE_SECONDS:
                self.paused_seconds += now - before - 1.0
            before = now
            self._seconds += 1
            if self._seconds > _HANG_SECONDS:
                print(f"a piece of work has not ended after {_HANG_SECONDS} seconds", file=sys.stderr)
                faulthandler.dump_traceback(all_threads=True)
                os._exit(3)


def run(
    minutes: float, seed: int, kinds: Sequence[Callable[[Work], None]], say: Callable[[str], None]
) -> list[str]:
    """Do random work for some minutes; returns what was found to be wrong."""
    draw = random.Random(seed)
    work, watchdog = Work(draw), Watchdog()
    done: collections.Counter[str] = collections.Counter()
    failures: list[str] = []

    def do(kind: Callable[[Work], None]) -> None:
        try:
            kind(work)
        except Exception:
            failures.append(f"piece {done.total()}, {kind.__name__}: {traceback.format_exc()}")
            say(failures[-1])
        done[kind.__name__] += 1
        watchdog.note_progress()

    expected = probe()
    threadpool_info()  # ParametricUMAP's network asks for it; the first call opens files that libffi keeps
    for kind in [*kinds] * _WARM_UP_ROUNDS:
        do(kind)
    begin, processor = time.monotonic(), time.process_time()
    samples = [Held.now()]
    say(f"at the start: {samples[0].describe()}")
    choices, weights = list(kinds), [KINDS[kind] for kind in kinds]
    elapsed = sampled = 0.0
    while elapsed < minutes:
        do(draw.choices(choices, weights)[0])
        elapsed = (time.monotonic() - begin) / 60
        if elapsed - sampled >= minutes / _SAMPLES or elapsed >= minutes:
            sampled = elapsed
            samples.append(Held.now())
            say(f"{elapsed:5.1f} minutes: {samples[-1].describe()}; {done.total()} done")
    if probe() != expected:
        failures.append("fixed fits have other bits than at the beginning")
    say(
        f"{(time.monotonic() - begin) / 60:.1f} minutes, {watchdog.paused_seconds / 60:.1f} of them paused, "
        f"{(time.process_time() - processor) / 60:.1f} of processor time"
    )
    say(", ".join(f"{name} {count}" for name, count in sorted(done.items())) + f"; all {done.total()}")
    watchdog.end()
    return failures + judge(samples, say)


def judge(samples: Sequence[Held], say: Callable[[str], None]) -> list[str]:
    """What the samples say against the process."""
    quarter = len(samples) // 4
    if quarter < _MIN_QUARTER:
        say(f"memory: {len(samples)} samples are too few to show a trend")
        return samples[-1].more_than(samples[: max(1, 2 * quarter)])
    early = statistics.median(held.resident_mib for held in samples[quarter : 2 * quarter])
    late = statistics.median(held.resident_mib for held in samples[-quarter:])
    say(
        f"memory: median of the second quarter {early:.1f} MiB, of the last {late:.1f} MiB: "
        f"{late - early:+.1f} MiB, at most {MAX_GROWTH_MIB:.0f} allowed"
    )
    found = samples[-1].more_than(samples[: 2 * quarter])
    if late - early > MAX_GROWTH_MIB:
        found.append(f"memory grew by {late - early:.1f} MiB")
    return found


def commit() -> str:
    """The commit that is checked out; with a plus sign if files were changed."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=12"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def main() -> int:
    """Run, print, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds of work whose name contains this")
    options = parser.parse_args()
    if not 0 < options.minutes < math.inf:
        parser.error(f"--minutes must be positive, got {options.minutes:g}")
    kinds = [kind for kind in KINDS if options.only in kind.__name__]
    if not kinds:
        names = ", ".join(kind.__name__ for kind in KINDS)
        parser.error(f"no kind of work has {options.only!r} in its name: there are {names}")
    faulthandler.enable()
    warnings.simplefilter("ignore")

    def say(text: str) -> None:
        print(text, flush=True)

    say(f"python tests/soak.py --minutes {options.minutes:g} --seed {options.seed}, commit {commit()}")
    with temporary_folder():
        failures = run(options.minutes, options.seed, kinds, say)
    for failure in failures:
        say(f"<<< {failure}")
    say(f"{len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
