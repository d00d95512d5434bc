"""The commands and calls that ``faults.py`` strikes: what each reads, does and writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import actup
from actup import distributed
from actup._cli import main as command_line
from actup.viewer import write_page
from file_runs import clustered_rows

SCHEDULER = "ACTUP_FAULTS_SCHEDULER"  # the environment variable with the address of a Dask scheduler
QUICK = ("--epochs", "20", "--jobs", "1")
KINDS = ("npy", "npz", "csv", "tsv", "parquet", "html", "png", "pdf", "svg", "actup")


@dataclass(frozen=True)
class Case:
    """Something that reads and writes files in the working folder.

    Attributes
    ----------
    name : str
    group : str
        The command that it belongs to; moments are counted for each.
    call : callable
        ``call(seed)`` returns an exit status. Another seed gives other results.
    resumes : tuple of str
        Folders whose files are no results but let the next call go on where this one was stopped.
    is_command : bool
        Whether it is a command of the command line, which says in one line what happened.
    on_dask : bool
        Whether it needs a Dask cluster, whose workers are struck as well.
    """

    name: str
    group: str
    call: Callable[[int], int]
    resumes: tuple[str, ...] = ()
    is_command: bool = False
    on_dask: bool = False


def write_inputs(folder: Path) -> None:
    """Write what the cases read: rows, a table, shards, a saved model and its map."""
    rows = clustered_rows(120, 6)
    np.save(folder / "rows.npy", rows)
    lines = [f"{a},{b},{c},kind {number % 3}" for number, (a, b, c) in enumerate(rows[:, :3].tolist())]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,type", *lines]) + "\n")
    for number in range(2):
        np.save(folder / f"shard{number}.npy", clustered_rows(80, 6, seed=number))
    model = actup.UMAP(n_epochs=20, random_state=0, n_jobs=1).fit(rows)
    model.save(folder / "model.actup")
    np.save(folder / "map.npy", model.embedding_)


def make_cases() -> list[Case]:
    """Every command with every kind of output, runs over files, and a program that fits and saves."""
    table = ("rows.csv", "--label", "type")
    several = [argument for kind in ("html", "png", "parquet", "npy") for argument in ("-o", f"out.{kind}")]
    shards = ("shard0.npy", "shard1.npy", "--work", "work", "--memory", "2GB")
    two = ("-r", "umap", "-r", "gdr")
    cases = [command(f"embed {kind}", "embed", *table, "-o", f"out.{kind}") for kind in KINDS]
    cases += [
        command("embed clusters, several outputs", "embed", *table, "--cluster", *several),
        command("embed standard output", "embed", *table, "-o", "-"),
        *(
            command(f"embed --work {kind}", "embed --work", *shards, "-o", f"out{kind}", resumes=("work",))
            for kind in (".npy", ".parquet", ".zarr", "/")
        ),
        command("view model", "view", "model.actup", "--no-open", "-o", "page.html", quick=()),
        command("view data", "view", *table, "--columns", "a,b,c", "--no-open", "-o", "page.html"),
        command("score", "score", "rows.npy", "--map", "map.npy", quick=("--jobs", "1")),
        command("score model", "score", "model.actup", "--json", quick=("--jobs", "1")),
        command("compare html", "compare", *table, *two, "--no-score", "-o", "page.html"),
        command("compare npz", "compare", *table, *two, "-o", "maps.npz"),
        command("spectrum", "spectrum", *table, "--steps", "1,4", "-o", "page.html"),
        command("datasets", "datasets", quick=()),
        command("info", "info", quick=()),
        command(
            "reproduce", "reproduce", "swiss_roll", "--quick", "--points", "60", "--out", "results",
            quick=("--jobs", "1"),
        ),
        Case("fit and save", "fit", _fit_and_save),
        Case("embed over files", "distributed.embed", _embed_files, resumes=("work",)),
        Case("transform over files", "distributed.transform", _transform_files, resumes=("work",)),
        Case("embed on Dask", "distributed.embed, Dask", _embed_on_dask, resumes=("work",), on_dask=True),
    ]  # fmt: skip
    return cases


def command(
    name: str, program: str, *arguments: str, quick: tuple[str, ...] = QUICK, resumes: tuple[str, ...] = ()
) -> Case:
    """A command of the command line; its first word is that of ``program``."""
    words = [program.split()[0], *arguments, *quick]
    seeded = QUICK[0] in words

    def call(seed: int) -> int:
        return command_line([*words, *(["--seed", str(seed)] if seeded else [])])

    return Case(name, program, call, resumes, is_command=True)


# ---- programs that use the library ----


def _fit_and_save(seed: int) -> int:
    model = actup.UMAP(n_epochs=20, random_state=seed, n_jobs=1)
    model.fit(np.load("rows.npy"))
    if model.n_epochs_ < 20:  # Ctrl-C keeps the map where it is
        return _INTERRUPTED
    model.save("saved.actup")
    write_page("page.html", model)
    return 0


def _embed_files(seed: int) -> int:
    recipe = actup.preset("umap").but(epochs=20)
    source = ["shard0.npy", "shard1.npy"]
    distributed.embed(source, recipe, work="work", out="out.parquet", seed=seed, threads=1, backend="cpu")
    return 0


def _transform_files(seed: int) -> int:
    model = actup.load("model.actup")
    model.transform_seed = seed
    distributed.transform(model, ["shard0.npy", "shard1.npy"], work="work", out="places.npy", threads=1)
    return 0


def _embed_on_dask(seed: int) -> int:
    from distributed import Client

    recipe = actup.preset("umap").but(epochs=20)
    with Client(os.environ[SCHEDULER], timeout="600s") as client:
        client.wait_for_workers(2, timeout=600)  # one that was killed is started anew
        source = [os.path.abspath(f"shard{number}.npy") for number in range(2)]
        out, work = os.path.abspath("out.npy"), os.path.abspath("work")
        distributed.embed(source, recipe, work=work, client=client, out=out, seed=seed, backend="cpu")
    return 0


_INTERRUPTED = 130


def call(case: Case, seed: int) -> int:
    """Do a case, and return its exit status; a program says which error ended it, in one line."""
    if case.is_command:
        return case.call(seed)
    try:
        return case.call(seed)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        print(f"actup: {type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        return 2 if _is_about_memory(error) else 1


def _is_about_memory(error: Any) -> bool:
    return isinstance(error, MemoryError | OSError | ImportError | RuntimeError)
