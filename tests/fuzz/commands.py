"""Calls of the command line in this process, with drawn options on small files."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer

from actup._cli import main
from actup._cli.app import make_app

from .oracle import Report, Wrong, check_map
from .parameters import RECIPE
from .scratch import scratch_folder

_FOLDER = scratch_folder()
_ROWS = 36
_METHODS = ["umap", "tsne", "gdr", "paper_tsne", "paper_umap", "no_such", ""]
_NUMBERS = ["0", "1", "2", "5", "-1", "1.5", "nan", "inf", "1e400", "9" * 400, "x", "", "\ud800"]
_NAMES = ["a", "b", "0", "a:c", "type", "no_such", "*", "", "-1", "a,b", "9" * 50]

# Values of options, right and wrong ones; any other option is given numbers, which may be neither.
OPTIONS: dict[str, list[str]] = {
    "--method": _METHODS, "--seed": _NUMBERS, "--jobs": ["1", "2", *_NUMBERS],
    "--backend": ["cpu", "auto", "reference", "cuda", "x"], "--dry-run": None,
    "--max-memory": ["1GB", "1kB", "0", "x", "1e400", "512 MiB", "-1", "9" * 400],
    "--format": ["csv", "npy", "x", ""], "--array": _NAMES, "--columns": _NAMES, "--exclude": _NAMES,
    "--label": [*_NAMES, "labels.npy", "nowhere.npy"], "--values": _NAMES, "--hover": _NAMES,
    "--text": _NAMES, "--id": _NAMES, "--images": ["2x2", "1x4", "0x0", "x", "9x9", "2x1x2"],
    "--delimiter": [",", ";", "", "ab", "\t"],
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
}  # fmt: skip
# Values that are right for most of the files.
FITTING: dict[str, list[str]] = {
    f"--{name.replace('_', '-')}": [str(value) for value in values if value is not None]
    for name, values in RECIPE.items() if isinstance(values, list)
} | {
    "--method": ["umap", "tsne", "gdr"], "--seed": ["0", "5"], "--jobs": ["1", "2"],
    "--backend": ["cpu", "auto"], "--max-memory": ["1GB", "512 MiB"], "--format": ["npy"],
    "--missing": ["error", "mean", "median"], "--scale": ["standard", "robust", "minmax", "unit", "log1p"],
    "--pca": ["2", "3"], "--sample": ["10", "1000"], "--neighbors": ["3", "5"], "--perplexity": ["2"],
    "--dimensions": ["1", "3"], "--metric": ["cosine", "manhattan"], "--recall": ["0.9"],
    "--epochs": ["0", "2"], "--min-dist": ["0", "0.5"], "--phases": ["settle:2:0.9"],
    "--label": ["labels.npy"], "--steps": ["2", "3"], "--recipe": ["umap", "tsne"],
    "--title": ["A map", "<b>"],
}  # fmt: skip
# Of these, some would wait for a browser or for other processes, and the others are given on purpose.
_LEFT_OUT = {"--open", "--no-open", "--live", "--cluster", "--work", "--memory", "--write-neighbors"}
_LEFT_OUT |= {"--output", "--map", "--help"}
# With these, a map has other rows or columns than the file, or none.
_CHANGE_THE_MAP = (
    "--dry-run",
    "--sample",
    "--dimensions",
    "--n-components",
    "--missing",
    "--header",
    "--array",
)
# Files that can be embedded, with arguments of which each choice makes that possible.
_GOOD: dict[str, list[list[str]]] = {
    "rows.npy": [[], ["--label", "labels.npy"]],
    "rows.npz": [[], ["--array", "X"]],
    "rows.csv": [["--columns", "a:d"], ["--columns", "a:d", "--label", "type", "--text", "words"],
                 ["--one-hot", "type", "--exclude", "words"]],
    "rows.tsv": [["--exclude", "4,5"], ["--columns", "0:3", "--hover", "5"]],
}  # fmt: skip
_MODEL, _MAPS = "model.actup", ["map.npy", "map.csv", "map.parquet"]
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
    outputs = [argument for name in [*_MAPS, _MODEL] for argument in ("-o", name)]
    if run(["embed", "rows.npy", *outputs, "--epochs", "2", "--jobs", "1"]) != "status 0":
        raise Wrong("the maps and the model that other commands read were not made")
    return [*_GOOD, *_MAPS, _MODEL, "holes.csv", "empty.csv", "text.txt", "nowhere.npy", "."]


@cache
def options_of(command: str) -> dict[str, bool]:
    """The options of a command, and whether each of them is a flag."""
    group: Any = typer.main.get_command(make_app(command))
    found = {
        name: bool(getattr(parameter, "is_flag", False))
        for parameter in group.commands[command].params
        for name in [*parameter.opts, *parameter.secondary_opts]
    }
    return {name: flag for name, flag in found.items() if name.startswith("--") and name not in _LEFT_OUT}


def draw_option(draw: random.Random, command: str) -> list[str]:
    """An option, mostly one that the command has, and mostly with a value that fits."""
    own = options_of(command)
    name = draw.choice([*own] if draw.random() < 0.95 else [*OPTIONS, "--no-such-option"])
    if own.get(name, False):
        return [name]
    fitting, others = FITTING.get(name), OPTIONS.get(name, _NUMBERS)
    return [name, draw.choice(fitting if fitting and draw.random() < 0.75 else others)]


def draw_source(draw: random.Random, command: str) -> list[str]:
    """A file to read: mostly one that the command can read, with the arguments that this needs."""
    files = make_files()
    if draw.random() < 0.12:
        return [draw.choice(files)]
    if command in ("score", "view") and draw.random() < 0.3:
        return [_MODEL]
    name = draw.choice([*_GOOD])
    return [name, *draw.choice(_GOOD[name])]


def run_case(draw: random.Random, report: Report) -> None:
    """One call of a command."""
    files = make_files()
    out = Path(_FOLDER.name, "out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    command = draw.choice(["embed"] * 6 + ["compare", "spectrum", "score", "score", "view"])
    if draw.random() < 0.03:
        command = draw.choice(["info", "datasets", "x"])
    arguments = [command]
    if command not in ("info", "datasets"):
        arguments += draw_source(draw, command)
    if command == "embed":
        arguments += ["--epochs", "2", "--jobs", "1", "--backend", "cpu"]
        arguments += ["--neighbors", "4"] if draw.random() < 0.7 else []
    name = draw.choice(_OUTPUTS)
    if command == "view":
        arguments += ["--no-open", "-o", "out/map.html"]
    elif command in ("embed", "compare", "spectrum"):
        name = name if command == "embed" else draw.choice(["map.html", "map.html", "map.npz", "map.x"])
        arguments += ["-o", f"out/{name}" if name else ""]
    elif command == "score" and (arguments[1] != _MODEL or draw.random() < 0.1):
        arguments += ["--map", draw.choice(_MAPS if draw.random() < 0.85 else files)]
    if command in ("embed", "compare", "spectrum", "score", "view"):
        for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
            arguments += draw_option(draw, command)
    report.steps.append(f"actup {arguments!r}")
    report.count(command, run(arguments))
    plain = command == "embed" and name == "map.npy" and not set(_CHANGE_THE_MAP) & set(arguments)
    if plain and arguments[1] in _GOOD and (out / "map.npy").exists():
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
