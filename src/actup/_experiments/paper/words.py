"""Experiment: word vectors by cosine distance."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Legend, Panel, draw_maps
from actup._experiments.page.tables import number, table
from actup._experiments.paper.methods import DEFAULTS, PAPER
from actup._experiments.results import Findings
from actup.recipe import Initialization

_METHODS = ("UMAP", "GDR_umap", "GDR_tsne")
_SETTINGS = {"paper, random start": PAPER, "ActUp's defaults": DEFAULTS}


def _run(scale: Scale, setting: str, method: str) -> Run:
    recipe = _SETTINGS[setting][method].but(metric="cosine")
    if setting.startswith("paper"):
        recipe = recipe.but(initialization=Initialization.RANDOM)
    return Run("word_vectors", recipe, points=scale.limit(), label=f"{method}, cosine, {setting}")


def _runs(scale: Scale) -> list[Run]:
    return [_run(scale, setting, method) for setting in _SETTINGS for method in _METHODS]


def _render(findings: Findings) -> str:
    rows = []
    for setting in _SETTINGS:
        recalls = (
            findings.value(_run(findings.scale, setting, method), "neighbor_recall") for method in _METHODS
        )
        rows.append([setting, *(number(recall, 3) for recall in recalls)])
    picture = findings.draw("words", lambda path: _draw(path, findings))
    return "\n\n".join([table(["", *_METHODS], rows), note("words"), picture])


def _draw(path: Path, findings: Findings) -> None:
    rows = []
    for setting in _SETTINGS:
        row = []
        for method in _METHODS:
            run = _run(findings.scale, setting, method)
            Y, recall = findings.store.load_map(run), findings.value(run, "neighbor_recall")
            rank = None if Y is None else np.arange(len(Y), dtype=float)  # rows are sorted by frequency
            row.append(Panel(Y, rank, "" if recall is None else f"recall {recall:.3f}"))
        rows.append(row)
    legend = Legend("Words by frequency", ends=("frequent", "rare"))
    draw_maps(path, rows, list(_SETTINGS), list(_METHODS), [legend])


EXPERIMENT = Experiment(
    "words",
    "Word vectors",
    "Google News word vectors with cosine distance and random starts (appendix, figure 9; pictures only).",
    _runs,
    _render,
)
