"""Build the source distribution twice, check it, and install it without a network."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from commands import (
    DIST,
    REQUIREMENTS,
    ROOT,
    WORK,
    Failure,
    NotReached,
    build_environment,
    new_environment,
    pip,
    run,
    source_date,
    tool,
)
from wheel import LICENCES, forbid_paths_of_this_machine

MAX_BYTES = 3_000_000
ISOLATED = ("unshare", "--map-root-user", "--net")  # a process without a network
NEEDED = (*LICENCES, "pyproject.toml", "CMakeLists.txt", "README.md", "CITATION.cff", "CHANGELOG.md")


def build(python: str) -> Path:
    """Build it twice, from two moments, and compare; returns the file in dist/."""
    executable = build_environment(python)
    hashes = []
    for attempt in ("first", "second"):
        folder = WORK / attempt
        shutil.rmtree(folder, ignore_errors=True)
        env = {**os.environ, "SOURCE_DATE_EPOCH": source_date()}
        run(executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, env=env)
        (sdist,) = folder.glob("*.tar.gz")
        hashes.append(hashlib.sha256(sdist.read_bytes()).hexdigest())
    if hashes[0] != hashes[1]:
        raise Failure(f"two builds of {sdist.name} differ: sha256 {hashes[0]} and {hashes[1]}")
    DIST.mkdir(exist_ok=True)
    return Path(shutil.copy(sdist, DIST))


def check(sdist: Path) -> list[str]:
    """Check what is in it: files of the repository only, and all that are needed."""
    with tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        contents = {member.name.partition("/")[2]: archive.extractfile(member).read() for member in members}
    tracked = set(run("git", "ls-files").splitlines())
    strangers = sorted(set(contents) - tracked - {"PKG-INFO"})
    if strangers:
        raise Failure(f"{sdist.name} holds files that are not in the repository: {strangers}")
    lacking = sorted((set(NEEDED) | {name for name in tracked if name.startswith("src/")}) - set(contents))
    if lacking:
        raise Failure(f"{sdist.name} lacks {lacking}")
    size = sdist.stat().st_size
    if size > MAX_BYTES:
        raise Failure(f"{sdist.name} has {size:,} bytes: more than {MAX_BYTES:,}")
    forbid_paths_of_this_machine(contents, sdist.name)
    run(tool("twine"), "check", "--strict", sdist)
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    return [f"{sdist.name}: {size / 1e6:.1f} MB, {len(contents)} files, sha256 {digest} in two builds"]


def install_offline(sdist: Path, python: str) -> str:
    """Build it from a folder of requirements alone, in a process without a network, then run the smoke test.

    Where the system cannot start one, pip runs with --no-index. It then downloads nothing itself, but the
    build could: if all else passes, NotReached says that this was not checked.
    """
    executable = new_environment(WORK / "sdist-environment", python)
    folder = WORK / "requirements"
    shutil.rmtree(folder, ignore_errors=True)
    pins = REQUIREMENTS / "build.txt"
    pip(executable, "download", "--require-hashes", "--dest", folder, "--requirement", pins)
    pip(executable, "download", "--only-binary", ":all:", "--dest", folder, *runtime_requirements())
    obstacle = isolation_obstacle()
    isolated = () if obstacle else ISOLATED
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    env["PIP_CONFIG_FILE"] = os.devnull
    run(
        *isolated, sys.executable, "-m", "pip", "--python", executable, "install", "--quiet",
        "--no-index", "--find-links", folder, "--config-settings=cmake.define.ACTUP_LEVELS=native", sdist,
        env=env,
    )  # fmt: skip
    found = run(executable, ROOT / "release" / "smoke_test.py", cwd=Path(WORK.anchor)).strip()
    if obstacle:
        raise NotReached(f"{found}; built with --no-index, not without a network: {obstacle}")
    return f"{found}; built without a network ({' '.join(ISOLATED)})"


def isolation_obstacle() -> str:
    """Why no process without a network can be started here; empty if it can."""
    if shutil.which(ISOLATED[0]) is None:
        return f"{ISOLATED[0]} is not installed"
    done = subprocess.run([*ISOLATED, "true"], capture_output=True, text=True)
    return done.stderr.strip() or f"{ISOLATED[0]} ended with {done.returncode}" if done.returncode else ""


def runtime_requirements() -> list[str]:
    """What an installed ActUp needs."""
    import tomllib

    return list(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"])


def main() -> None:
    """Build, check and install."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that builds it")
    python = parser.parse_args().python
    try:
        sdist = build(python)
        print(*check(sdist), sep="\n")
        print(install_offline(sdist, python))
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
    except NotReached as reason:
        print(f"NOT REACHED: {reason}")


if __name__ == "__main__":
    main()
