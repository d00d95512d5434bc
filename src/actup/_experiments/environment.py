"""The environment of a measurement: the machine, and the versions of Python and of packages."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_NOT_INSTALLED = "not installed"


def machine() -> dict[str, Any]:
    """The processor's name, and the number of cores that this process may use."""
    return {"processor": _processor(), "cores": _cores()}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of packages; "not installed" for a missing package."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = _NOT_INSTALLED
    return found


def describe_environment(machine: dict[str, Any], versions: dict[str, str]) -> str:
    """Machine and versions as one line of text, without packages that are not installed."""
    threads = f", {machine['threads']} threads" if "threads" in machine else ""
    installed = {package: number for package, number in versions.items() if number != _NOT_INSTALLED}
    packages = ", ".join(f"{package} {number}" for package, number in installed.items())
    return f"{machine['processor']}, {machine['cores']} cores{threads}; {packages}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
