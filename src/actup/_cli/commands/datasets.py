"""actup datasets: list data sets and fetch them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from actup._cli.reporting import InputError, show

DATA_HELP = "Folder of npz files; default: the folder that the environment variable ACTUP_DATA names."


@dataclass(frozen=True)
class DatasetOptions:
    """Which data sets, and where they are."""

    names: Annotated[
        list[str],
        typer.Argument(metavar="[NAME]...", help="Data sets; default: all.", show_default=False),
    ] = field(default_factory=list)
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help=DATA_HELP)] = None
    download: Annotated[
        bool, typer.Option("--download", help="Download missing data sets from OpenML into the folder.")
    ] = False


def command(options: DatasetOptions) -> None:
    """List the data sets that can be loaded by name, and where they are."""
    from actup import datasets

    if options.download and not (options.data or os.environ.get(datasets.FOLDER_VARIABLE)):
        raise InputError(f"--download needs a folder: name one in {datasets.FOLDER_VARIABLE} or with --data")
    for name in options.names or datasets.names():
        if options.download and datasets.is_missing_but_on_openml(name, options.data):
            datasets.load(name, folder=options.data, download=True)
        where = datasets.locate(name, options.data)
        show(f"{name:<15} {datasets.describe(name)}: {where}", flush=True)
