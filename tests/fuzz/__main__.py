"""Fuzz ActUp: ``python -m tests.fuzz --minutes 10`` (``make fuzz MINUTES=10``); see CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import random
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
    seed = options.seed or str(random.SystemRandom().randrange(2**32))
    chosen = options.only or list(PARTS)
    if options.case is not None:
        tally = watch.Tally()
        watch.run_cases(chosen[0], seed, options.case, options.case + 1, float("inf"), tally)
        print_failures(chosen[0], tally)
        return int(bool(tally.failures))
    if options.minutes is None and options.calls is None and options.files is None:
        options.minutes = 1.0
    goals = {"calls": options.calls, "files": options.files}
    print(f"--seed {seed}", flush=True)
    tallies = run_parts(chosen, seed, options.minutes, goals)
    print_tally(tallies)
    return int(any(tally.failures for tally in tallies.values()))


def run_parts(
    chosen: list[str], seed: str, minutes: float | None, goals: dict[str, int | None]
) -> dict[str, watch.Tally]:
    """Run parts in turn, each in proportion to its share of time or of the goal."""
    tallies = {name: watch.Tally() for name in chosen}
    if any(goals.values()):
        deadline = time.monotonic() + 60 * minutes if minutes else float("inf")
        for kind, goal in goals.items():
            parts = [PARTS[name] for name in chosen if PARTS[name].counts == kind]
            total = sum(part.share for part in parts)
            for part in parts if goal else []:
                part.run(seed, goal * part.share / total, deadline, tallies[part.name])
                print_failures(part.name, tallies[part.name])
        return tallies
    total = sum(PARTS[name].share for name in chosen)
    for name in chosen:
        deadline = time.monotonic() + 60 * (minutes or 0) * PARTS[name].share / total
        PARTS[name].run(seed, float("inf"), deadline, tallies[name])
        print_failures(name, tallies[name])
    return tallies


def print_failures(name: str, tally: watch.Tally) -> None:
    print(
        f"{name}: {tally.calls} in {tally.cases} cases, {tally.seconds:.0f} s, {len(tally.failures)} failures",
        flush=True,
    )
    for failure in tally.failures:
        print(failure, flush=True)


def print_tally(tallies: dict[str, watch.Tally]) -> None:
    for name, tally in tallies.items():
        for kind, count in sorted(tally.counts.items()):
            print(f"{count:9d}  {name}: {kind}")
    for kind in ("calls", "files", "runs"):
        total = sum(tally.calls for name, tally in tallies.items() if PARTS[name].counts == kind)
        print(f"{total:9d}  {kind} in all")
    print(
        f"slowest case: {max((tally.slowest for tally in tallies.values()), default=0):.2f} s of processor time"
    )
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    print(f"{len(failures)} failures" if failures else "no crash, no hang, no other error")


if __name__ == "__main__":
    sys.exit(main())
