"""Work folders of runs over files, of which one file was changed: the run goes on, or says what is wrong."""

from __future__ import annotations

import contextlib
import random
import shutil
from functools import cache
from pathlib import Path

import numpy as np

import actup
from actup import distributed
from actup.progress import Progress

from .changed_bytes import change_bytes
from .oracle import Report, Wrong, check_map
from .promises import no_code_runs
from .scratch import scratch_folder

_FOLDER = scratch_folder()
_X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)


class _Stopped(Exception):
    pass


def _embed(work: Path, progress: Progress | None = None) -> np.ndarray:
    recipe = actup.preset("umap").but(epochs=2, n_neighbors=4)
    return distributed.embed(_X, recipe, work=work, threads=1, progress=progress, backend="cpu").embedding


@cache
def unfinished_runs() -> list[Path]:
    """Folders of runs that were stopped after each of several reports."""
    folders: list[Path] = []
    for stop in (3, 8, 14, 22, 30, 10**6):
        folder, reports = Path(_FOLDER.name, f"good-{stop}"), 0

        def count(*_: object, stop: int = stop) -> None:
            nonlocal reports
            reports += 1
            if reports > stop:
                raise _Stopped

        with contextlib.suppress(_Stopped):
            _embed(folder, Progress(callback=count))
        folders.append(folder)
    return folders


@cache
def undamaged_map() -> bytes:
    """The map that every run makes, whether it is stopped or not."""
    return np.ascontiguousarray(_embed(Path(_FOLDER.name, "good-whole"))).tobytes()


def run_case(draw: random.Random, report: Report) -> None:
    """Go on with one run whose folder was changed."""
    source, work = draw.choice(unfinished_runs()), Path(_FOLDER.name, "changed")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(source, work)
    files = sorted(path for path in work.rglob("*") if path.is_file())
    path = draw.choice(files)
    data = path.read_bytes()
    kind = path.suffix.removeprefix(".")
    data = b"" if draw.random() < 0.05 else change_bytes(data, draw)[1]
    path.write_bytes(data)
    report.steps.append(f"{source.name}: {path.relative_to(work)} changed to {data[:200]!r}")
    undamaged_map()
    with no_code_runs(_FOLDER.name):
        report.count(kind, go_on(work, path))


def go_on(work: Path, changed: Path) -> str:
    """What becomes of the run: the map of the undamaged folder, or an error that names the file or folder."""
    try:
        Y = _embed(work)
    except (ValueError, OSError) as error:
        text = str(error)
        if len(text) > 3000 or not (str(work) in text or changed.name in text):
            raise Wrong(
                f"{type(error).__name__} does not name {changed} or its folder: {text[:300]!r}"
            ) from error
        return f"rejected: {type(error).__name__}"
    check_map(np.asarray(Y), len(_X), 2)
    if np.ascontiguousarray(Y).tobytes() != undamaged_map():
        raise Wrong(f"the run went on with a damaged {changed.name}, to another map")
    return "went on"
