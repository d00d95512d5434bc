"""The command line. Every command imports what it needs itself, so that ``actup --help`` is fast."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import actup

if TYPE_CHECKING:
    from actup._experiments.experiment import Experiment, Run, Scale

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_DATA_HELP = "folder of npz files; default: the folder that the environment variable ACTUP_DATA names"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except KeyboardInterrupt:
        print("actup: stopped; run the same command again to resume", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output, such as ``head``, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, ImportError) as error:
        print(f"actup: {error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="actup", description="Maps of high-dimensional data.")
    parser.add_argument("--version", action="version", version=f"actup {actup.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    _add_reproduce(commands)
    _add_datasets(commands)
    return parser


def _add_reproduce(commands: Commands) -> None:
    about = "Run the experiments of the paper and write a page with their tables and pictures."
    command = commands.add_parser("reproduce", help=about, description=about)
    command.add_argument(
        "names", nargs="*", default=["list"], metavar="NAME",
        help="experiments to run; 'list' (default) prints their names, 'all' runs all of them, 'report' only "
        "writes the page",
    )  # fmt: skip
    command.add_argument("--data", type=Path, help=_DATA_HELP)
    command.add_argument("--download", action="store_true", help="download missing data sets from OpenML")
    command.add_argument("--out", type=Path, help="folder for results; default: out/reproduction[-quick]")
    command.add_argument("--seeds", type=int, help="seeds per recipe; default: 3, with --quick 1")
    command.add_argument("--quick", action="store_true", help="2,000 points and one seed; takes minutes")
    command.add_argument("--points", type=int, help="maximum number of points of each data set")
    command.add_argument("--jobs", type=int, default=-1, help="number of threads; default: all cores")
    command.add_argument("--again", action="store_true", help="repeat runs that already have results")
    command.add_argument("--page", type=Path, help="folder for the page; default: that of --out")
    command.set_defaults(command=_reproduce)


def _reproduce(options: argparse.Namespace) -> int:
    from actup._experiments import experiments
    from actup._experiments.page.report import write_report
    from actup._experiments.results import Store
    from actup._experiments.runner import DataSource, run_missing
    from actup._threads import count_threads

    known = experiments()
    if options.names == ["list"]:
        for experiment in known.values():
            needs = " (measures times: needs an idle machine)" if experiment.timing else ""
            print(f"{experiment.name:<17} {experiment.title}{needs}")
        return 0
    chosen = _choose(options.names, known)
    scale = _scale(options)
    out = options.out or Path("out/reproduction-quick" if options.quick else "out/reproduction")
    store = Store(out)
    runs: list[Run] = []
    if options.names != ["report"]:
        runs = [run for experiment in chosen for run in experiment.runs(scale)]
        if options.again:
            store.forget(runs)
        source = DataSource(options.data, options.download)
        run_missing(runs, store, source, count_threads(options.jobs, "--jobs"))
    if runs and not len(store):
        raise ValueError(f"there are no results in {out}, and no run was possible: see the messages above")
    page = write_report(list(known.values()), store, scale, options.page or out)
    print(f"results  {out / 'results.jsonl'} ({len(store)} runs)\npage     {page}")
    return 0


def _choose(names: list[str], known: dict[str, Experiment]) -> list[Experiment]:
    if names in (["all"], ["report"]):
        return list(known.values())
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(known)}, all, list, report")
    return [known[name] for name in names]


def _scale(options: argparse.Namespace) -> Scale:
    from actup._experiments.experiment import QUICK, Scale

    base = QUICK if options.quick else Scale()
    for name in ("points", "seeds"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} {value} must be at least 1")
    points = base.points if options.points is None else options.points
    return Scale(points, base.seeds if options.seeds is None else options.seeds)


def _add_datasets(commands: Commands) -> None:
    about = "List the data sets that can be loaded by name, and where they are."
    command = commands.add_parser("datasets", help=about, description=about)
    command.add_argument("names", nargs="*", metavar="NAME", help="data sets; default: all")
    command.add_argument("--data", type=Path, help=_DATA_HELP)
    command.add_argument(
        "--download", action="store_true", help="download missing data sets from OpenML into the folder"
    )
    command.set_defaults(command=_datasets)


def _datasets(options: argparse.Namespace) -> int:
    from actup import datasets

    if options.download and not (options.data or os.environ.get(datasets.FOLDER_VARIABLE)):
        raise ValueError(f"--download needs a folder: name one in {datasets.FOLDER_VARIABLE} or with --data")
    for name in options.names or datasets.names():
        if options.download and datasets.is_missing_but_on_openml(name, options.data):
            datasets.load(name, folder=options.data, download=True)
        where = datasets.locate(name, options.data)
        print(f"{name:<15} {datasets.describe(name)}: {where}", flush=True)
    return 0
