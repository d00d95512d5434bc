"""Experiment: the Swiss roll from random starts."""

from __future__ import annotations

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import draw_maps
from actup._experiments.page.tables import mean, number, table, with_spread
from actup._experiments.paper.embeddings import keys_of
from actup._experiments.paper.normalization import VARIANTS, roll_panel
from actup._experiments.results import Found
from actup.recipe._switches import Initialization

_SIZES = (5_000, 10_000)  # the paper's table says one, its text the other
_STARTS = {"random start": Initialization.RANDOM, "spectral start": Initialization.SPECTRAL}


def _seeds(scale: Scale, size: int, start: str, name: str) -> list[Run]:
    recipe = VARIANTS[name].but(initialization=_STARTS[start])
    return [
        Run("swiss_roll", recipe, seed, points=scale.of(size), label=f"{name}, {start}")
        for seed in range(scale.seeds)
    ]


def _runs(scale: Scale) -> list[Run]:
    return [run for size in _SIZES for start in _STARTS for name in VARIANTS
            for run in _seeds(scale, size, start, name)]  # fmt: skip


def _render(found: Found) -> str:
    rows = []
    for size in _SIZES:
        for start in _STARTS:
            cells = [f"{found.scale.of(size):,} points, {start}"]
            for name in VARIANTS:
                runs = _seeds(found.scale, size, start, name)
                cells.append(with_spread(found.figures(runs, "unrolled"), 2))
            rows.append(cells)
    picture = found.draw("swiss_roll", lambda path: _draw(path, found))
    parts = [table(["", *VARIANTS], rows), note("swiss_roll"), _verdict(found), picture]
    return "\n\n".join(part for part in parts if part)


def _verdict(found: Found) -> str:
    """Which start unrolls the roll further, and how far random ones come."""
    pairs = {}
    for size in _SIZES:
        for name in VARIANTS:
            runs = (_seeds(found.scale, size, start, name) for start in _STARTS)
            random, spectral = (mean(found.figures(seeds, "unrolled")) for seeds in runs)
            if random is not None and spectral is not None:
                pairs[name, size] = random, spectral
    if not pairs:
        return ""
    further = sum(spectral > random for random, spectral in pairs.values())
    (name, size), (farthest, _) = max(pairs.items(), key=lambda item: item[1][0])
    return (
        f"In {further} of {len(pairs)} pairs of means the spectral start unrolls the roll further. From "
        f"random starts {name} comes farthest: {number(farthest, 2)} with {found.scale.of(size):,} points."
    )


def _draw(path, found: Found) -> None:
    rows = [
        [roll_panel(found, _seeds(found.scale, _SIZES[0], start, name)[0]) for name in VARIANTS]
        for start in _STARTS
    ]
    draw_maps(path, rows, list(_STARTS), list(VARIANTS), keys_of(["swiss_roll"]))


EXPERIMENT = Experiment(
    "swiss_roll",
    "The Swiss roll",
    "From random starts no method unrolls the Swiss roll (appendix, figure 6): what looks like manifold "
    "learning is the spectral start.",
    _runs,
    _render,
)
