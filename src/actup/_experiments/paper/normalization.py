"""Experiments: the normalisation, which is the one switch that matters, and UMAP normalised naively."""

from __future__ import annotations

from pathlib import Path

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Panel, draw_maps
from actup._experiments.page.tables import accuracy_and_v, mean_with_sd, number, table
from actup._experiments.paper.embeddings import legends_for, map_panel
from actup._experiments.paper.methods import PAPER
from actup._experiments.results import Findings
from actup.recipe import (
    Distance,
    Initialization,
    Recipe,
    Repulsion,
    RepulsionMass,
    Sampling,
    Symmetrization,
)

_DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "swiss_roll": "Swiss roll"}

# Every point is repelled by the mean of all others (the paper's factor 1/n). Repulsion is counted per edge,
# and with k = 90 a point has about 130 edges, hence the rate. The mesh cannot resolve UMAP's steep kernel
# near 0, hence the larger epsilon.
_UNNORMALIZED_TSNE = PAPER["GDR_umap"].but(
    n_neighbors=90,
    distance=Distance.PLAIN,
    symmetrization=Symmetrization.TSNE,
    repulsion=Repulsion.MESH,
    repulsion_mass=RepulsionMass.DEGREE,
    repulsion_rate=1 / 130,
    repulsion_epsilon=0.01,
)
# UMAP's switches, but every edge acts in every epoch, multiplied by its weight, instead of being sampled.
# UMAP's symmetric attraction is a factor 2 in a batch update; maps without and with it are shown.
_NORMALIZED_UMAP = PAPER["GDR_tsne"].but(a=None, b=None)

VARIANTS = {
    "tSNE, normalised": PAPER["tSNE"].but(initialization=Initialization.SPECTRAL),
    "tSNE, not normalised": _UNNORMALIZED_TSNE,
    "UMAP, normalised": _NORMALIZED_UMAP,
    "UMAP, normalised, symmetric attraction": _NORMALIZED_UMAP.but(symmetric_attraction=True),
    "UMAP, not normalised": PAPER["UMAP"],
}


# Repulsion rates of unnormalised tSNE; rate 1 is one repulsion per edge, as in GDR_umap.
_RATES = {"1/130": 1 / 130, "1/13": 1 / 13, "1": 1.0}
_RATE_DATASETS = ("mnist", "fashion_mnist")


def _seeds(scale: Scale, data: str, name: str, recipe: Recipe) -> list[Run]:
    return [Run(data, recipe, seed, points=scale.limit(), label=name) for seed in range(scale.seeds)]


def _runs(scale: Scale) -> list[Run]:
    return [
        run
        for data in _DATASETS
        for name, recipe in VARIANTS.items()
        for run in _seeds(scale, data, name, recipe)
    ] + [run for data in _RATE_DATASETS for name in _RATES for run in _rate_seeds(scale, data, name)]


def _rate_seeds(scale: Scale, data: str, name: str) -> list[Run]:
    recipe = _UNNORMALIZED_TSNE.but(repulsion_rate=_RATES[name])
    return _seeds(scale, data, f"tSNE, not normalised, repulsion rate {name}", recipe)


def _rate_table(findings: Findings) -> str:
    """The quality of unnormalised tSNE at several repulsion rates."""
    rows = [
        [
            _DATASETS[data],
            *(accuracy_and_v(findings, _rate_seeds(findings.scale, data, name)) for name in _RATES),
        ]
        for data in _RATE_DATASETS
    ]
    return table(["tSNE, not normalised", *(f"repulsion rate {name}" for name in _RATES)], rows)


def _render(findings: Findings) -> str:
    rows = []
    for data, title in _DATASETS.items():
        cells = [title]
        for name, recipe in VARIANTS.items():
            runs = _seeds(findings.scale, data, name, recipe)
            if data == "swiss_roll":
                cells.append("unrolled " + mean_with_sd(findings.values(runs, "unrolled"), 2))
            else:
                cells.append(accuracy_and_v(findings, runs))
        rows.append(cells)
    picture = findings.draw("normalization", lambda path: _draw(path, findings, VARIANTS, _DATASETS))
    parts = [table(["data", *VARIANTS], rows), note("normalization"), _rate_table(findings)]
    return "\n\n".join([*parts, note("normalization_rate"), picture])


def _draw(path: Path, findings: Findings, variants: dict[str, Recipe], datasets: dict[str, str]) -> None:
    rows = []
    for data in datasets:
        row = []
        for name, recipe in variants.items():
            run = _seeds(findings.scale, data, name, recipe)[0]
            row.append(roll_panel(findings, run) if data == "swiss_roll" else map_panel(findings, run))
        rows.append(row)
    draw_maps(path, rows, list(datasets.values()), list(variants), legends_for(datasets))


def roll_panel(findings: Findings, run: Run) -> Panel:
    """A map of the Swiss roll, coloured by position on the roll and captioned with how far it is unrolled."""
    unrolled = findings.value(run, "unrolled")
    caption = "" if unrolled is None else f"unrolled {unrolled:.2f}"
    return Panel(findings.store.load_map(run), findings.store.load_labels(run), caption)


EXPERIMENT = Experiment(
    "normalization",
    "The normalisation",
    "Switching the normalisation makes tSNE look like UMAP and UMAP like tSNE (table 2). All maps have a "
    "spectral start. Without the normalisation, tSNE's repulsions are scaled by 1/n.",
    _runs,
    _render,
)

# The naive form keeps UMAP's sampling: an edge acts in a share p of the epochs, with weight 1.
_NAIVE = _NORMALIZED_UMAP.but(sampling=Sampling.SCALAR)
_CORRECTED = _NORMALIZED_UMAP.but(sampling=Sampling.UNBIASED)
_NAIVE_VARIANTS = {
    "normalised naively": _NAIVE,
    "sampled, weight p_max": _CORRECTED,
    "every edge, times p": _NORMALIZED_UMAP,
}
_NAIVE_DATASETS = {"mnist": "MNIST", "coil100": "COIL-100", "swiss_roll": "Swiss roll"}


def _naive_runs(scale: Scale) -> list[Run]:
    return [
        _seeds(scale, data, name, recipe)[0]
        for data in _NAIVE_DATASETS
        for name, recipe in _NAIVE_VARIANTS.items()
    ]


def _render_naive(findings: Findings) -> str:
    rows = []
    for data, title in _NAIVE_DATASETS.items():
        cells = [title]
        for name, recipe in _NAIVE_VARIANTS.items():
            run = _seeds(findings.scale, data, name, recipe)[0]
            extent = f"extent {number(findings.value(run, 'extent'), 0)}"
            if data == "swiss_roll":
                cells.append(f"unrolled {number(findings.value(run, 'unrolled'), 2)}; {extent}")
            else:
                cells.append(f"{accuracy_and_v(findings, [run])}; {extent}")
        rows.append(cells)
    picture = findings.draw(
        "naive_umap", lambda path: _draw(path, findings, _NAIVE_VARIANTS, _NAIVE_DATASETS)
    )
    return "\n\n".join([table(["data", *_NAIVE_VARIANTS], rows), note("naive_umap"), picture])


NAIVE = Experiment(
    "naive_umap",
    "UMAP normalised naively",
    "Normalising UMAP without further changes fails (appendix, figure 7): the paper concludes that scalar "
    "sampling and normalisation cannot be combined.",
    _naive_runs,
    _render_naive,
)
