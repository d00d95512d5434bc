"""The report: every experiment's tables and pictures on one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from actup.experiments.experiment import Experiment, Scale
from actup.experiments.results import Found, Store

_HEAD = """# The paper, reproduced

The experiments of *ActUp: Analyzing and Consolidating tSNE and UMAP* (Draganov et al., IJCAI 2023), run with
ActUp. Figures in parentheses are the paper's. This page is written by `actup reproduce report`, the runs are
done by `actup reproduce all`, which keeps one JSON line per run and goes on where it stopped.

{scale} *The paper's settings* are the presets `paper_*`: those of its code, where that differs from the text.
"""


def write_report(
    experiments: Sequence[Experiment], store: Store, scale: Scale, folder: Path, name: str = "reproduction.md"
) -> Path:
    """Write the page and its pictures for what has been run so far.

    Parameters
    ----------
    experiments : sequence of Experiment
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
    """
    folder.mkdir(parents=True, exist_ok=True)
    sections = [_HEAD.format(scale=describe(scale))]
    for experiment in experiments:
        sections.append(section(experiment, store, scale, folder))
    path = folder / name
    path.write_text("\n\n".join(part.strip() for part in sections) + "\n", encoding="utf-8")
    store.copy_lines(path.with_suffix(".jsonl"))
    return path


def section(experiment: Experiment, store: Store, scale: Scale, folder: Path) -> str:
    """One experiment's part of the page."""
    head = f"## {experiment.title}\n\n*{experiment.about}*"
    runs = experiment.runs(scale)
    done = sum(run in store for run in runs)
    if runs and not done:
        return f"{head}\n\nNot run yet: `actup reproduce {experiment.name}`."
    body = experiment.render(Found(store, scale, _drawer(folder)))
    partly = f"\n\n{done} of {len(runs)} runs are done." if done < len(runs) else ""
    return f"{head}\n\n{body}{partly}"


def describe(scale: Scale) -> str:
    points = "All points of each data set" if scale.points is None else f"At most {scale.points:,} points"
    quick = "" if scale.points is None else " The paper's figures are those of all points: do not compare."
    return f"{points}, {scale.seeds} seed{'s' if scale.seeds > 1 else ''}.{quick}"


def _drawer(folder: Path) -> Callable[[str, Callable[[Path], None]], str]:
    def draw(name: str, drawing: Callable[[Path], None]) -> str:
        path = folder / "pictures" / f"{name}.png"
        drawing(path)
        return f"![{name.replace('_', ' ')}](pictures/{path.name})"

    return draw
