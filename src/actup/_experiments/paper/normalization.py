"""Experiments: the one switch that matters, and what happens if UMAP is normalised naively."""

from __future__ import annotations

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Panel, draw_maps
from actup._experiments.page.tables import number, quality, table, with_spread
from actup._experiments.paper.embeddings import keys_of, panel_of
from actup._experiments.paper.methods import PAPER
from actup._experiments.results import Found
from actup.recipe._recipe import Recipe
from actup.recipe._switches import (
    Distance,
    Initialization,
    Repulsion,
    RepulsionMass,
    Sampling,
    Symmetrization,
)

_SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "swiss_roll": "Swiss roll"}

# Each point is repelled by the mean over all others (the paper's factor 1/n), whatever its degree: with
# k = 90 a point has about 130 edges. The mesh needs a kernel that is less singular than UMAP's at 0.
_UNNORMALIZED_TSNE = PAPER["GDR_umap"].but(
    n_neighbors=90,
    distance=Distance.PLAIN,
    symmetrization=Symmetrization.TSNE,
    repulsion=Repulsion.MESH,
    repulsion_mass=RepulsionMass.DEGREE,
    repulsion_rate=1 / 130,
    repulsion_epsilon=0.01,
)
# UMAP's own switches, with the sampling of attractions given up: every edge acts, times its weight. UMAP's
# symmetric attraction is a factor 2 in a batch, so it is shown both without and with it.
_NORMALIZED_UMAP = PAPER["GDR_tsne"].but(a=None, b=None)

VARIANTS = {
    "tSNE, normalised": PAPER["tSNE"].but(initialization=Initialization.SPECTRAL),
    "tSNE, not normalised": _UNNORMALIZED_TSNE,
    "UMAP, normalised": _NORMALIZED_UMAP,
    "UMAP, normalised, symmetric attraction": _NORMALIZED_UMAP.but(symmetric_attraction=True),
    "UMAP, not normalised": PAPER["UMAP"],
}


# Unnormalised tSNE with more repulsion: at 1 as much as one repulsion per edge, GDR_umap's rule, has.
_RATES = {"1/130": 1 / 130, "1/13": 1 / 13, "1": 1.0}
_RATE_SETS = ("mnist", "fashion_mnist")


def _seeds(scale: Scale, data: str, name: str, recipe: Recipe) -> list[Run]:
    return [Run(data, recipe, seed, points=scale.of(), label=name) for seed in range(scale.seeds)]


def _runs(scale: Scale) -> list[Run]:
    return [
        run
        for data in _SETS
        for name, recipe in VARIANTS.items()
        for run in _seeds(scale, data, name, recipe)
    ] + [run for data in _RATE_SETS for name in _RATES for run in _rate_seeds(scale, data, name)]


def _rate_seeds(scale: Scale, data: str, name: str) -> list[Run]:
    recipe = _UNNORMALIZED_TSNE.but(repulsion_rate=_RATES[name])
    return _seeds(scale, data, f"tSNE, not normalised, repulsion rate {name}", recipe)


def _rate_table(found: Found) -> str:
    """What more repulsion does to unnormalised tSNE."""
    rows = [
        [_SETS[data], *(quality(found, _rate_seeds(found.scale, data, name)) for name in _RATES)]
        for data in _RATE_SETS
    ]
    return table(["tSNE, not normalised", *(f"repulsion rate {name}" for name in _RATES)], rows)


def _render(found: Found) -> str:
    rows = []
    for data, title in _SETS.items():
        cells = [title]
        for name, recipe in VARIANTS.items():
            runs = _seeds(found.scale, data, name, recipe)
            if data == "swiss_roll":
                cells.append("unrolled " + with_spread(found.figures(runs, "unrolled"), 2))
            else:
                cells.append(quality(found, runs))
        rows.append(cells)
    picture = found.draw("normalization", lambda path: _draw(path, found, VARIANTS, _SETS))
    parts = [table(["data", *VARIANTS], rows), note("normalization"), _rate_table(found)]
    return "\n\n".join([*parts, note("normalization_rate"), picture])


def _draw(path, found: Found, variants: dict[str, Recipe], sets: dict[str, str]) -> None:
    rows = []
    for data in sets:
        row = []
        for name, recipe in variants.items():
            run = _seeds(found.scale, data, name, recipe)[0]
            row.append(roll_panel(found, run) if data == "swiss_roll" else panel_of(found, run))
        rows.append(row)
    draw_maps(path, rows, list(sets.values()), list(variants), keys_of(sets))


def roll_panel(found: Found, run: Run) -> Panel:
    """A map of the Swiss roll, coloured along the roll, with how far it is unrolled."""
    unrolled = found.figure(run, "unrolled")
    caption = "" if unrolled is None else f"unrolled {unrolled:.2f}"
    return Panel(found.store.map(run), found.store.labels(run), caption)


EXPERIMENT = Experiment(
    "normalization",
    "The normalisation",
    "Switching the normalisation makes tSNE look like UMAP and UMAP like tSNE (table 2); all from a spectral "
    "start. Without it, tSNE's repulsions are scaled by 1/n.",
    _runs,
    _render,
)

# The naive form keeps UMAP's sampling: an edge acts in a share p of the epochs, with weight 1.
_NAIVE = _NORMALIZED_UMAP.but(sampling=Sampling.SCALAR)
_MENDED = _NORMALIZED_UMAP.but(sampling=Sampling.UNBIASED)
_NAIVE_VARIANTS = {
    "normalised naively": _NAIVE,
    "sampled, weight p_max": _MENDED,
    "every edge, times p": _NORMALIZED_UMAP,
}
_NAIVE_SETS = {"mnist": "MNIST", "coil100": "COIL-100", "swiss_roll": "Swiss roll"}


def _naive_runs(scale: Scale) -> list[Run]:
    return [
        _seeds(scale, data, name, recipe)[0]
        for data in _NAIVE_SETS
        for name, recipe in _NAIVE_VARIANTS.items()
    ]


def _render_naive(found: Found) -> str:
    rows = []
    for data, title in _NAIVE_SETS.items():
        cells = [title]
        for name, recipe in _NAIVE_VARIANTS.items():
            run = _seeds(found.scale, data, name, recipe)[0]
            extent = f"extent {number(found.figure(run, 'extent'), 0)}"
            if data == "swiss_roll":
                cells.append(f"unrolled {number(found.figure(run, 'unrolled'), 2)}; {extent}")
            else:
                cells.append(f"{quality(found, [run])}; {extent}")
        rows.append(cells)
    picture = found.draw("naive_umap", lambda path: _draw(path, found, _NAIVE_VARIANTS, _NAIVE_SETS))
    return "\n\n".join([table(["data", *_NAIVE_VARIANTS], rows), note("naive_umap"), picture])


NAIVE = Experiment(
    "naive_umap",
    "UMAP normalised naively",
    "Normalising UMAP without further changes fails (appendix, figure 7): the paper concludes that scalar "
    "sampling and normalisation do not go together.",
    _naive_runs,
    _render_naive,
)
