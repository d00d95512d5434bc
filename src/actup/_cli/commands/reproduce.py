"""actup reproduce: the experiments of the paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from actup._cli.commands.datasets import DATA_HELP
from actup._cli.reporting import InputError, complain, show, stop_if_interrupted

if TYPE_CHECKING:
    from actup._experiments.experiment import Experiment, Run, Scale


@dataclass(frozen=True)
class ReproduceOptions:
    """Which experiments, at which scale, and where results go."""

    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME]...",
            help="Experiments to run; 'list' (default) prints their names, 'all' runs all of them, 'report' "
            "only writes the page.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help=DATA_HELP)] = None
    download: Annotated[bool, typer.Option("--download", help="Download missing data sets from OpenML.")] = (
        False
    )
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; default: out/reproduction or …-quick.")
    ] = None
    seeds: Annotated[
        int | None, typer.Option(help="Seeds per recipe; default: 3, with --quick 1.", show_default=False)
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="2,000 points and one seed; takes minutes.")] = False
    points: Annotated[int | None, typer.Option(help="Maximum number of points of each data set.")] = None
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1: one per core.")] = -1
    again: Annotated[bool, typer.Option("--again", help="Repeat runs that already have results.")] = False
    page: Annotated[Path | None, typer.Option(help="Folder for the page; default: that of --out.")] = None


def command(options: ReproduceOptions) -> None:
    """Run the experiments of the paper and write a page with their tables and pictures.

    A run that was stopped continues where it was.
    """
    try:
        _reproduce(options)
    except KeyboardInterrupt:
        complain("run the same command again to resume")
        raise


def _reproduce(options: ReproduceOptions) -> None:
    from actup._experiments import experiments
    from actup._experiments.page.report import write_report
    from actup._experiments.results import Store
    from actup._experiments.runner import DataSource, run_missing
    from actup._threads import count_threads

    known = experiments()
    if options.names in ([], ["list"]):
        for experiment in known.values():
            needs = " (measures times: needs an idle machine)" if experiment.timing else ""
            show(f"{experiment.name:<17} {experiment.title}{needs}")
        return
    chosen = _choose(options.names, known)
    if options.data is not None and not (options.download or options.data.is_dir()):
        raise InputError(f"--data {options.data}: there is no such folder; with --download it is made")
    scale = _scale(options)
    out = options.out or Path("out/reproduction-quick" if options.quick else "out/reproduction")
    store = Store(out)
    runs: list[Run] = []
    if options.names != ["report"]:
        runs = [run for experiment in chosen for run in experiment.runs(scale)]
        if options.again:
            store.forget(runs)
        source = DataSource(options.data, options.download)
        # Other libraries, which a run uses, may drop Ctrl-C.
        run_missing(runs, store, source, count_threads(options.jobs, "--jobs"), stop_if_interrupted)
    if runs and not len(store):
        raise InputError(f"there are no results in {out}, and no run was possible: see the messages above")
    page = write_report(list(known.values()), store, scale, options.page or out)
    show(f"results  {out / 'results.jsonl'} ({len(store)} runs)\npage     {page}")


def _choose(names: list[str], known: dict[str, Experiment]) -> list[Experiment]:
    if names in (["all"], ["report"]):
        return list(known.values())
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"{unknown[0]!r} is not one of {', '.join(known)}, all, list, report")
    return [known[name] for name in names]


def _scale(options: ReproduceOptions) -> Scale:
    from actup._experiments.experiment import QUICK, Scale

    base = QUICK if options.quick else Scale()
    for name, value in (("points", options.points), ("seeds", options.seeds)):
        if value is not None and value < 1:
            raise InputError(f"--{name} {value} must be at least 1")
    points = base.points if options.points is None else options.points
    return Scale(points, base.seeds if options.seeds is None else options.seeds)
