"""Fuzz ActUp: ``python -m tests.fuzz --minutes 10`` (``make fuzz MINUTES=10``); see CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import signal
import sys
import time

from . import watch
from .parts import PARTS


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        part, seed, begin, end = sys.argv[2:]
        watch.run_worker(part, seed, int(begin), int(end))
        return 0
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=None, help="how long; the parts share it")
    parser.add_argument("--calls", type=int, default=None, help="stop after so many calls")
    parser.add_argument("--files", type=int, default=None, help="stop after so many changed files")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="a part; may be given again")
    parser.add_argument("--seed", default=None, help="any text; printed, so that a run can be repeated")
    parser.add_argument("--case", type=int, default=None, help="run this case only, and show all of it")
    options = parser.parse_args()
    if options.minutes is not None and not 0 < options.minutes < math.inf:
        parser.error(f"--minutes must be positive, got {options.minutes:g}")
    if any(goal is not None and goal <= 0 for goal in (options.calls, options.files)):
        parser.error("--calls and --files must be positive")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # prints what was done until then
    seed = options.seed or str(random.SystemRandom().randrange(2**32))
    chosen = options.only or list(PARTS)
    if options.case is not None:
        tally = watch.Tally(cases=options.case)
        watch.run_cases(chosen[0], seed, float("inf"), tally, count=1)
        print(*tally.failures, sep="\n")
        return int(bool(tally.failures))
    if options.minutes is None and options.calls is None and options.files is None:
        options.minutes = 1.0
    goals = {"calls": options.calls, "files": options.files}
    print(f"--seed {seed}", flush=True)
    tallies = run_parts(chosen, seed, options.minutes, goals)
    print_tally(tallies)
    idle = parts_without_cases(tallies, goals)
    if idle:
        print(f"FAILED: no case was run of {', '.join(idle)}")
    return int(bool(idle) or any(tally.failures for tally in tallies.values()))


def run_parts(
    chosen: list[str], seed: str, minutes: float | None, goals: dict[str, int | None]
) -> dict[str, watch.Tally]:
    """Run parts in turn, in slices, so that each has its share of the time or of the goal at any moment.

    Each part runs at least one case, however short the time is. Ctrl-C ends the run; what was done until then
    is kept.
    """
    tallies = {name: watch.Tally() for name in chosen}
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    slice_seconds = 60 * minutes / sum(PARTS[name].share for name in chosen) / 2 if minutes else 60.0
    with contextlib.suppress(KeyboardInterrupt):
        while left := [name for name in chosen if remains(name, tallies, goals)]:
            if time.monotonic() >= deadline:
                left = [name for name in left if not tallies[name].cases]
                if not left:
                    break
            name = min(left, key=lambda name: progress_of(name, tallies, goals))
            shown = len(tallies[name].failures)
            until = min(deadline, time.monotonic() + slice_seconds * PARTS[name].share)
            watch.run_cases(name, seed, until, tallies[name])
            for failure in tallies[name].failures[shown:]:
                print(failure, flush=True)
    return tallies


def remains(name: str, tallies: dict[str, watch.Tally], goals: dict[str, int | None]) -> bool:
    """Whether a part has not reached its share of the goal, or there is none but the time."""
    return not any(goals.values()) or progress_of(name, tallies, goals) < 1


def parts_without_cases(tallies: dict[str, watch.Tally], goals: dict[str, int | None]) -> list[str]:
    """Parts that were interrupted before their first case; all parts if nothing was run.

    A part may be without cases if only others have a share of the goal: --calls 100 changes no files.
    """
    idle = [name for name, tally in tallies.items() if not tally.cases]
    return idle if len(idle) == len(tallies) else [name for name in idle if remains(name, tallies, goals)]


def progress_of(name: str, tallies: dict[str, watch.Tally], goals: dict[str, int | None]) -> float:
    """How much of its share a part has done: of the goal, or of the time, in any unit."""
    part = PARTS[name]
    if not any(goals.values()):
        return tallies[name].seconds / part.share
    goal = goals[part.counts] or 0
    shares = sum(PARTS[other].share for other in tallies if PARTS[other].counts == part.counts)
    return tallies[name].calls / (goal * part.share / shares) if goal else 1.0


def print_tally(tallies: dict[str, watch.Tally]) -> None:
    for name, tally in tallies.items():
        for kind, count in sorted(tally.counts.items()):
            print(f"{count:9d}  {name}: {kind}")
    for name, tally in tallies.items():
        print(f"{tally.calls:9d}  {name} in all, in {tally.cases} cases and {tally.seconds:.0f} s")
    for kind in ("calls", "files"):
        total = sum(tally.calls for name, tally in tallies.items() if PARTS[name].counts == kind)
        print(f"{total:9d}  {kind} in all")
    slowest = max((tally.slowest for tally in tallies.values()), default=0.0)
    print(f"slowest case: {slowest:.2f} s of processor time")
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    cases = sum(tally.cases for tally in tallies.values())
    print(f"{len(failures)} failures" if failures else f"no crash, no hang, no other error in {cases} cases")


if __name__ == "__main__":
    sys.exit(main())
