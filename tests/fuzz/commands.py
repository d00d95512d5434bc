"""Calls of the command line in this process, with drawn options on small files."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
from functools import cache
from pathlib import Path

import numpy as np

from actup._cli import main

from .oracle import Report, Wrong, check_map
from .scratch import scratch_folder

_FOLDER = scratch_folder()
_ROWS = 36
_METHODS = ["umap", "tsne", "gdr", "paper_tsne", "paper_umap", "no_such", ""]
_NUMBERS = ["0", "1", "2", "5", "-1", "1.5", "nan", "inf", "1e400", "9" * 400, "x", "", "\ud800"]
_NAMES = ["a", "b", "0", "a:c", "type", "no_such", "*", "", "-1", "a,b", "9" * 50]

# Options of commands that make a map, each with values; None: it takes none.
OPTIONS: dict[str, list[str] | None] = {
    "--method": _METHODS, "--seed": _NUMBERS, "--jobs": ["1", "2", *_NUMBERS], "--quiet": None,
    "--backend": ["cpu", "auto", "reference", "cuda", "x"], "--dry-run": None,
    "--max-memory": ["1GB", "1kB", "0", "x", "1e400", "512 MiB", "-1", "9" * 400],
    "--format": ["csv", "npy", "x", ""], "--array": _NAMES, "--columns": _NAMES, "--exclude": _NAMES,
    "--label": [*_NAMES, "labels.npy", "nowhere.npy"], "--values": _NAMES, "--hover": _NAMES,
    "--text": _NAMES, "--id": _NAMES, "--images": ["2x2", "1x4", "0x0", "x", "9x9", "2x1x2"],
    "--delimiter": [",", ";", "", "ab", "\t"], "--header": None, "--no-header": None,
    "--one-hot": _NAMES, "--missing": ["error", "drop", "mean", "median", "x"],
    "--scale": ["none", "standard", "robust", "minmax", "unit", "log1p", "x"], "--pca": _NUMBERS,
    "--sample": ["2", "10", "1000", *_NUMBERS], "--neighbors": ["3", "100", *_NUMBERS],
    "--perplexity": ["2", *_NUMBERS], "--perplexities": ["2,3", *_NUMBERS], "--sigma": _NUMBERS,
    "--metric": ["cosine", "jaccard", "gower", "minkowski", "precomputed", "x", ""],
    "--metric-kwds": ["p=3", "p=0", "p=x", "p", "q=1", "p=" + "9" * 400],
    "--recall": ["0.9", *_NUMBERS], "--affinity": ["umap", "gaussian", "multiscale", "fixed_sigma", "x"],
    "--set-op-mix-ratio": _NUMBERS, "--local-connectivity": _NUMBERS,
    "--dimensions": ["1", "3", *_NUMBERS], "--initialization": ["pca", "random", "x"],
    "--epochs": ["0", "2", *_NUMBERS], "--learning-rate": _NUMBERS, "--min-dist": _NUMBERS,
    "--phases": ["settle:2:0.9", "settle:x", "settle:-1:0.9", "expand:1:0.5:1e400", ""],
    "--no-such-option": None,
}  # fmt: skip
_OUTPUTS = ["map.npy"] * 4 + [
    "map.csv",
    "map.parquet",
    "map.html",
    "map.actup",
    "map.npz",
    "map.x",
    "map",
    "",
]


@cache
def make_files() -> list[str]:
    """Small good files of several kinds, and some that are none."""
    folder, rng = Path(_FOLDER.name), np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 4)).astype(np.float32)
    np.save(folder / "rows.npy", X)
    np.save(folder / "labels.npy", np.arange(_ROWS) % 3)
    np.savez(folder / "rows.npz", X=X, other=X[:3])
    lines = [",".join(map(str, row)) + f",{'xyz'[i % 3]},a text {i}" for i, row in enumerate(X.tolist())]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,d,type,words", *lines]) + "\n")
    (folder / "rows.tsv").write_text("\n".join(line.replace(",", "\t") for line in lines) + "\n")
    (folder / "holes.csv").write_text("\n".join(["a,b", *["1,", "2,3", ",4", "5,nan"] * 6]) + "\n")
    (folder / "empty.csv").write_text("")
    (folder / "text.txt").write_text("some words\n")
    good = ["rows.npy", "rows.npz", "rows.csv", "rows.csv", "rows.tsv"]
    return good * 3 + ["holes.csv", "empty.csv", "text.txt", "nowhere.npy", "."]


def run_case(draw: random.Random, report: Report) -> None:
    """One call of a command."""
    files = make_files()
    out = Path(_FOLDER.name, "out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    command = draw.choice(["embed"] * 6 + ["compare", "spectrum", "score", "view"])
    if draw.random() < 0.03:
        command = draw.choice(["info", "datasets", "x"])
    arguments = [command, draw.choice(files)] if command not in ("info", "datasets") else [command]
    if command == "embed":
        arguments += ["--epochs", "2", "--jobs", "1", "--backend", "cpu"]
        arguments += ["--neighbors", "4"] if draw.random() < 0.7 else []
    if arguments[-1] == "rows.csv" and draw.random() < 0.7:
        arguments += ["--columns", "a:d", *(["--label", "type", "--text", "words"] * (draw.random() < 0.5))]
    name = draw.choice(_OUTPUTS)
    if command == "view":
        arguments += ["--no-open", "-o", "out/map.html"]
    elif command in ("embed", "compare", "spectrum"):
        name = name if command == "embed" else draw.choice(["map.html", "map.npz", "map.x"])
        arguments += ["-o", f"out/{name}" if name else ""]
    elif command == "score":
        arguments += ["--map", draw.choice(files)]
    plain = command == "embed" and name == "map.npy"
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3]) if command not in ("info", "datasets") else 0):
        option = draw.choice(list(OPTIONS))
        values = OPTIONS[option]
        arguments += [option] if values is None else [option, draw.choice(values)]
        plain = plain and option not in ("--dry-run", "--sample", "--dimensions", "--missing")
    report.steps.append(f"actup {arguments!r}")
    report.count(command, run(arguments))
    if plain and arguments[1].startswith("rows") and (out / "map.npy").exists():
        check_map(np.load(out / "map.npy"), _ROWS, 2)


def run(arguments: list[str]) -> str:
    """The exit status of a command, which says in one line why it is not 0."""
    errors, output = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(_FOLDER.name)
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
            status = main(arguments)
    finally:
        os.chdir(before)
    said = errors.getvalue()
    if status not in (0, 2) or "Traceback" in said:
        raise Wrong(f"status {status}: {said:.1500}")
    lines = [line for line in said.splitlines() if line.strip()]
    if status == 2 and (not lines or not lines[-1].startswith("actup: ") or len(lines[-1]) > 3000):
        raise Wrong(f"status 2 without a line that says why: {said:.1500}")
    return f"status {status}"
