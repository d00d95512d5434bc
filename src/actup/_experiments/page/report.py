"""The report: every experiment's tables and pictures on one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.results import Found, Store

_HEAD = """# The paper, reproduced

The experiments of *ActUp: Analyzing and Consolidating tSNE and UMAP* (Draganov et al., IJCAI 2023), run with
ActUp. Figures in parentheses are the paper's. This page is written by `actup reproduce report --page docs`;
the runs are done by `actup reproduce all`, which keeps one JSON line per run and goes on where it stopped.

{scale} *The paper's settings* are the presets `paper_*`: those of its code, where that differs from the text.
"""

_MEASURED = {
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

    Runs that a page in this folder shows already, and the store does not know, stay on it; pictures for which
    there are no maps in the store stay as they are.

    Parameters
    ----------
    experiments : sequence of Experiment
        All that the page is to have.
    store : Store
    scale : Scale
        That of the runs to show.
    folder : path
        Where the page goes, and the results it shows; pictures go into ``pictures/`` beside it.
    name : str
        The page's file.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If the page that is there shows more runs than this one would.
    """
    path = folder / name
    lines = path.with_suffix(".jsonl")
    there = store.borrow(lines)
    runs = dict.fromkeys(run for experiment in experiments for run in experiment.runs(scale))
    shown = [run for run in runs if run in store]
    if len(shown) < there:
        raise ValueError(
            f"{path} shows {there} runs and would show {len(shown)}: name another folder with --page, or "
            f"remove {lines}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    sections = [_HEAD.format(scale=describe(scale))]
    for experiment in experiments:
        sections.append(section(experiment, store, scale, folder))
    path.write_text("\n\n".join(part.strip() for part in sections) + "\n", encoding="utf-8")
    store.copy_lines(shown, lines)
    return path


def section(experiment: Experiment, store: Store, scale: Scale, folder: Path) -> str:
    """One experiment's part of the page."""
    head = f"## {experiment.title}\n\n*{experiment.about}*"
    runs = experiment.runs(scale)
    done = sum(run in store for run in runs)
    if runs and not done:
        return f"{head}\n\nNot run yet: `actup reproduce {experiment.name}`."
    body = experiment.render(Found(store, scale, _drawer(folder, store)))
    partly = f"\n\n{done} of {len(runs)} runs are done." if done < len(runs) else ""
    return "\n\n".join(part for part in (head, describe_runs(runs), body) if part) + partly


def describe(scale: Scale) -> str:
    if scale.points is None:
        return "Each section says how many points and seeds its runs have."
    return (
        f"At most {scale.points:,} points of each data set: do not compare with the paper's figures, which "
        "are those of all points."
    )


def describe_runs(runs: Sequence[Run]) -> str:
    """How many points and seeds the runs of an experiment have, by what is measured."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(_MEASURED[run.measure], []).append(run)
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


def _drawer(folder: Path, store: Store) -> Callable[[str, Callable[[Path], None]], str]:
    def draw(name: str, drawing: Callable[[Path], None]) -> str:
        path = folder / "pictures" / f"{name}.png"
        fresh = path.with_name(f"{name}.new.png")
        lost = store.lost_maps
        drawing(fresh)
        if store.lost_maps > lost and path.exists():
            fresh.unlink()  # the picture that is there shows maps that this one would not
        else:
            fresh.replace(path)
        return f"![{name.replace('_', ' ')}](pictures/{path.name})"

    return draw
