"""What the release scripts share: paths, running programs, environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "release"  # environments and what is downloaded
WHEEL_ENVIRONMENT = WORK / "wheel-environment"
REQUIREMENTS = ROOT / "release" / "requirements"


class Failure(Exception):
    """Something that must not be released; the message says what and why."""


class NotReached(Exception):
    """A check that cannot be made here, e.g. because a service of the network did not answer; says why."""


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return what it prints; its errors are part of the message if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=None if env is None else dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode != 0:
        words = " ".join(str(part) for part in command)
        raise Failure(f"{words}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def tool(name: str) -> Path:
    """A program of the environment that runs this script."""
    return Path(sysconfig.get_path("scripts"), name + (sysconfig.get_config_var("EXE") or ""))


def new_environment(path: Path, python: str) -> Path:
    """Make an empty virtual environment, where pip() installs from outside; returns its interpreter."""
    shutil.rmtree(path, ignore_errors=True)
    run(python, "-m", "venv", "--without-pip", path)
    return python_of(path)


def pip(python: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> str:
    """Run pip for an environment that has none."""
    return run(sys.executable, "-m", "pip", "--python", python, *arguments, "--quiet", env=env)


def build_environment(python: str) -> Path:
    """Make an environment with the pinned build requirements; returns its interpreter."""
    tag = run(python, "-c", "import sys; print(sys.implementation.cache_tag + sys.abiflags)").strip()
    path = WORK / f"build-{tag}"
    pins = REQUIREMENTS / "build.txt"
    stamp = path / "pins.txt"
    if not stamp.exists() or stamp.read_bytes() != pins.read_bytes():
        executable = new_environment(path, python)
        pip(executable, "install", "--require-hashes", "--requirement", pins)
        shutil.copy(pins, stamp)
    return python_of(path)


def source_date() -> str:
    """The time of the last commit in seconds: the date of files in archives, whoever builds them and when."""
    return run("git", "log", "-1", "--format=%ct").strip()


def without_compiler(python: Path) -> dict[str, str]:
    """Environment variables with which no compiler is found: the path has the environment's programs only."""
    keep = ("HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE")
    none = str(WORK / "no-compiler")
    return {
        **{name: os.environ[name] for name in keep if name in os.environ},
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))},
        "PATH": str(python.parent),
        "CC": none,
        "CXX": none,
    }
