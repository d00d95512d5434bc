"""The report: one page with the tables and pictures of every experiment."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.tables import fold_tables
from actup._experiments.results import Findings, Store
from actup._whole_file import whole_file

_HEAD = """# The paper, reproduced

The experiments of *ActUp: Analyzing and Consolidating tSNE and UMAP* (Draganov et al., IJCAI 2023), run with
ActUp. Each section begins with the paper's claim, in italics. Numbers in parentheses are the paper's. Long
tables are folded: click on their line to open them.

{scale} *The paper's settings* are the presets `paper_*`; where the paper's code differs from its text, they
follow the code.

`actup reproduce all` does the runs; it stores one JSON line per run and can be stopped and resumed at any
time. `actup reproduce report --page docs` writes this page: do not edit it.
"""

# What the page calls the runs of each measure.
_RUN_NAMES = {
    "map": "Maps",
    "angles": "Forces",
    "balance": "Forces",
    "acceleration": "Forces",
    "stray": "Stray points",
    "stages": "Times",
}


def write_report(
    experiments: Sequence[Experiment], store: Store, scale: Scale, folder: Path, name: str = "reproduction.md"
) -> Path:
    """Write the page and its pictures for what has been run so far.

    If the folder has a page already, its results are kept for runs that are missing in the store, and so are
    its pictures if the store lacks one of the maps that they show.

    Parameters
    ----------
    experiments : sequence of Experiment
        The sections of the page, in order.
    store : Store
    scale : Scale
        The scale of the runs to show.
    folder : path
        Where the page and its results (``.jsonl``) are written; pictures go into its subfolder ``pictures/``.
    name : str
        The file name of the page.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If the page in the folder shows more runs than the new one would.
    """
    path = folder / name
    lines = path.with_suffix(".jsonl")
    shown_before = store.add_missing(lines)
    runs = dict.fromkeys(run for experiment in experiments for run in experiment.runs(scale))
    shown = [run for run in runs if run in store]
    if len(shown) < shown_before:
        raise ValueError(
            f"{path} shows {shown_before} runs and would show {len(shown)}: choose another folder with "
            f"--page, or remove {lines}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    sections = [_HEAD.format(scale=_describe_scale(scale))]
    for experiment in experiments:
        sections.append(section(experiment, store, scale, folder))
    page = "\n\n".join(part.strip() for part in sections) + "\n"
    with whole_file(path) as unfinished:
        unfinished.write_text(fold_tables(page), encoding="utf-8")
    store.copy_lines(shown, lines)
    return path


def section(experiment: Experiment, store: Store, scale: Scale, folder: Path) -> str:
    """The section of one experiment."""
    head = f"## {experiment.title}\n\n*{experiment.claim}*"
    runs = experiment.runs(scale)
    done = sum(run in store for run in runs)
    if runs and not done:
        return f"{head}\n\nNot run yet: `actup reproduce {experiment.name}`."
    body = experiment.render(Findings(store, scale, _drawer(folder, store)))
    unfinished = f"\n\n{done} of {len(runs)} runs are done." if done < len(runs) else ""
    return "\n\n".join(part for part in (head, describe_runs(runs), body) if part) + unfinished


def _describe_scale(scale: Scale) -> str:
    if scale.points is None:
        return "Each section says how many points and seeds its runs have."
    return (
        f"At most {scale.points:,} points of each data set: do not compare with the paper's numbers, which "
        "were measured on all points."
    )


def describe_runs(runs: Sequence[Run]) -> str:
    """The numbers of points and seeds of an experiment's runs, grouped by what they measure."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(_RUN_NAMES[run.measure], []).append(run)
    return " ".join(f"{name}: {_points(group)}, {_seeds(group)}." for name, group in groups.items())


def _points(runs: Sequence[Run]) -> str:
    sizes = sorted({run.points for run in runs if run.points is not None})
    if not sizes:
        return "all points of each data set"
    if len(sizes) == 1:
        return f"at most {sizes[0]:,} points of each data set"
    return f"{sizes[0]:,} {'and' if len(sizes) == 2 else 'to'} {sizes[-1]:,} points"


def _seeds(runs: Sequence[Run]) -> str:
    seeds = len({run.seed for run in runs})
    return f"{seeds} seed{'s' if seeds > 1 else ''}"


class _LacksMaps(Exception):
    """A new picture lacks maps that the existing one shows, which therefore stays."""


def _drawer(folder: Path, store: Store) -> Callable[[str, Callable[[Path], None]], str]:
    """The function that draws a picture into the folder and returns the Markdown that shows it."""

    def draw(name: str, drawing: Callable[[Path], None]) -> str:
        path = folder / "pictures" / f"{name}.png"
        missing_before = store.missing_maps
        with contextlib.suppress(_LacksMaps), whole_file(path) as unfinished:
            drawing(unfinished)
            if store.missing_maps > missing_before and path.exists():
                raise _LacksMaps
        return f"![{name.replace('_', ' ')}](pictures/{path.name})"

    return draw
