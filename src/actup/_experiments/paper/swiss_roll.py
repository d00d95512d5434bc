"""Experiment: the Swiss roll from random and from spectral starts."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import draw_maps
from actup._experiments.page.tables import mean_with_sd, number, table
from actup._experiments.paper.embeddings import legends_for
from actup._experiments.paper.normalization import VARIANTS, roll_panel
from actup._experiments.results import Findings
from actup.recipe import Initialization

_SIZES = (5_000, 10_000)  # the paper gives one in a table and the other in its text
_STARTS = {"random start": Initialization.RANDOM, "spectral start": Initialization.SPECTRAL}


def _seeds(scale: Scale, size: int, start: str, name: str) -> list[Run]:
    recipe = VARIANTS[name].but(initialization=_STARTS[start])
    return [
        Run("swiss_roll", recipe, seed, points=scale.limit(size), label=f"{name}, {start}")
        for seed in range(scale.seeds)
    ]


def _runs(scale: Scale) -> list[Run]:
    return [run for size in _SIZES for start in _STARTS for name in VARIANTS
            for run in _seeds(scale, size, start, name)]  # fmt: skip


def _render(findings: Findings) -> str:
    rows = []
    for size in _SIZES:
        for start in _STARTS:
            cells = [f"{findings.scale.limit(size):,} points, {start}"]
            for name in VARIANTS:
                runs = _seeds(findings.scale, size, start, name)
                cells.append(mean_with_sd(findings.values(runs, "unrolled"), 2))
            rows.append(cells)
    picture = findings.draw("swiss_roll", lambda path: _draw(path, findings))
    parts = [table(["", *VARIANTS], rows), note("swiss_roll"), _verdict(findings), picture]
    return "\n\n".join(part for part in parts if part)


def _verdict(findings: Findings) -> str:
    """Which start unrolls the roll further, and the best result from a random start."""
    pairs = {}
    for size in _SIZES:
        for name in VARIANTS:
            runs = (_seeds(findings.scale, size, start, name) for start in _STARTS)
            random, spectral = (findings.values(seeds, "unrolled") for seeds in runs)
            if random and spectral:
                pairs[name, size] = fmean(random), fmean(spectral)
    if not pairs:
        return ""
    further = sum(spectral > random for random, spectral in pairs.values())
    (name, size), (best, _) = max(pairs.items(), key=lambda item: item[1][0])
    return (
        f"In {further} of {len(pairs)} pairs of means the spectral start unrolls the roll further. From "
        f"random starts {name} comes farthest: {number(best, 2)} with {findings.scale.limit(size):,} points."
    )


def _draw(path: Path, findings: Findings) -> None:
    rows = [
        [roll_panel(findings, _seeds(findings.scale, _SIZES[0], start, name)[0]) for name in VARIANTS]
        for start in _STARTS
    ]
    draw_maps(path, rows, list(_STARTS), list(VARIANTS), legends_for(["swiss_roll"]))


EXPERIMENT = Experiment(
    "swiss_roll",
    "The Swiss roll",
    "From random starts no method unrolls the Swiss roll (appendix, figure 6): what looks like manifold "
    "learning is the spectral start.",
    _runs,
    _render,
)
