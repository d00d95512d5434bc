"""Timing, and saving of results: one JSON file per benchmark, with versions and machine."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from actup._experiments.environment import machine, versions

RESULTS = Path(__file__).parent / "results"


def timed(work, repeats: int = 1):
    """Call ``work`` repeatedly; return its last result and the seconds of each call."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return result, seconds


def summary(seconds: list[float]) -> dict[str, float]:
    """Minimum and median."""
    return {"min": min(seconds), "median": statistics.median(seconds)}


def saved(name: str) -> dict:
    """The results that were saved under this name; empty if there are none."""
    record = load(name)
    return {} if record is None else record["results"]


def save(name: str, results: dict, packages: list[str]) -> Path:
    """Write the results together with the versions and the machine they were measured with."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    measured_with = versions(packages)
    former = load(name)
    if former is not None:  # results of packages that are missing now are those of the former file
        measured_with |= {
            package: former["versions"].get(package, number)
            for package, number in measured_with.items()
            if number == "not installed"
        }
    record = {"versions": measured_with, "machine": machine(), "results": results}
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def load(name: str) -> dict | None:
    """What ``save`` wrote under this name, or None: a dict of ``versions``, ``machine`` and ``results``."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None
