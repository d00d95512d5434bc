"""Experiment: word vectors, by cosine distance from random starts."""

from __future__ import annotations

import numpy as np

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Key, Panel, draw_maps
from actup._experiments.page.tables import number, table
from actup._experiments.paper.methods import OWN, PAPER
from actup._experiments.results import Found
from actup.recipe._switches import Initialization

_METHODS = ("UMAP", "GDR_umap", "GDR_tsne")
_SETTINGS = {"paper, random start": PAPER, "ActUp's defaults": OWN}


def _run(scale: Scale, setting: str, method: str) -> Run:
    recipe = _SETTINGS[setting][method].but(metric="cosine")
    if setting.startswith("paper"):
        recipe = recipe.but(initialization=Initialization.RANDOM)
    return Run("word_vectors", recipe, points=scale.of(), label=f"{method}, cosine, {setting}")


def _runs(scale: Scale) -> list[Run]:
    return [_run(scale, setting, method) for setting in _SETTINGS for method in _METHODS]


def _render(found: Found) -> str:
    rows = []
    for setting in _SETTINGS:
        recalls = (found.figure(_run(found.scale, setting, method), "neighbor_recall") for method in _METHODS)
        rows.append([setting, *(number(recall, 3) for recall in recalls)])
    picture = found.draw("words", lambda path: _draw(path, found))
    return "\n\n".join([table(["", *_METHODS], rows), note("words"), picture])


def _draw(path, found: Found) -> None:
    rows = []
    for setting in _SETTINGS:
        row = []
        for method in _METHODS:
            run = _run(found.scale, setting, method)
            Y, recall = found.store.map(run), found.figure(run, "neighbor_recall")
            rank = None if Y is None else np.arange(len(Y), dtype=float)  # the rows are in that order
            row.append(Panel(Y, rank, "" if recall is None else f"recall {recall:.3f}"))
        rows.append(row)
    key = Key("Words by frequency", ends=("frequent", "rare"))
    draw_maps(path, rows, list(_SETTINGS), list(_METHODS), [key])


EXPERIMENT = Experiment(
    "words",
    "Word vectors",
    "Google News word vectors with cosine distance from random starts (appendix, figure 9; pictures only).",
    _runs,
    _render,
)
