"""How benchmark results are kept: one JSON file per benchmark, with versions and machine."""

from __future__ import annotations

import json
import platform
import statistics
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def timed(work, repeats: int = 1):
    """The last result of ``work()``, and the seconds of each call."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return result, seconds


def summary(seconds: list[float]) -> dict[str, float]:
    return {"min": min(seconds), "median": statistics.median(seconds)}


def saved(name: str) -> dict:
    """The results that were saved under this name; none: empty."""
    record = load(name)
    return {} if record is None else record["results"]


def save(name: str, results: dict, packages: list[str]) -> Path:
    """Write the results beside the versions they were measured with."""
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    record = {"versions": versions, "machine": machine(), "results": results}
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def machine() -> dict:
    """The processor, and the cores that this process may use."""
    return {"processor": _processor(), "cores": _cores()}


def measured_with(machine: dict, versions: dict[str, str]) -> str:
    """What results were measured on and with, in words."""
    packages = ", ".join(f"{package} {version}" for package, version in versions.items())
    return f"{machine['processor']}, {machine['cores']} cores; {packages}"


def load(name: str) -> dict | None:
    """What ``save`` has written under this name: ``versions``, ``machine`` and ``results``."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
