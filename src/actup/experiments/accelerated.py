"""Experiment: accelerated GDR."""

from __future__ import annotations

from actup.cookbook import preset
from actup.experiments.embeddings import panel_of
from actup.experiments.experiment import Experiment, Run, Scale
from actup.experiments.methods import PAPER
from actup.experiments.notes import note
from actup.experiments.pictures import draw_maps
from actup.experiments.results import Found
from actup.experiments.tables import quality, table
from actup.recipe import Sampling

_SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_VARIANTS = {
    "GDR_tsne": PAPER["GDR_tsne"],
    "accelerated GDR_tsne": preset("paper_accelerated_gdr_tsne"),
    "unbiased GDR_tsne": PAPER["GDR_tsne"].but(sampling=Sampling.UNBIASED),
    "GDR_umap": PAPER["GDR_umap"],
    "accelerated GDR_umap": preset("paper_accelerated_gdr_umap"),
    "unbiased GDR_umap": PAPER["GDR_umap"].but(sampling=Sampling.UNBIASED),
}


def _seeds(scale: Scale, data: str, name: str) -> list[Run]:
    return [Run(data, _VARIANTS[name], seed, points=scale.of(), label=name) for seed in range(scale.seeds)]


def _runs(scale: Scale) -> list[Run]:
    return [run for data in _SETS for name in _VARIANTS for run in _seeds(scale, data, name)]


def _render(found: Found) -> str:
    rows = []
    for data, title in _SETS.items():
        cells = [title]
        for name in _VARIANTS:
            runs = _seeds(found.scale, data, name)
            cells.append(quality(found, runs))
        rows.append(cells)
    picture = found.draw("accelerated", lambda path: _draw(path, found))
    return "\n\n".join([table(["data", *_VARIANTS], rows), note("accelerated"), picture])


def _draw(path, found: Found) -> None:
    rows = [[panel_of(found, _seeds(found.scale, data, name)[0]) for name in _VARIANTS] for data in _SETS]
    draw_maps(path, rows, list(_SETS.values()), list(_VARIANTS))


EXPERIMENT = Experiment(
    "accelerated",
    "Accelerated GDR",
    "GDR with scalar sampling on top is a further 2 times faster, and its maps look the same (appendix).",
    _runs,
    _render,
)
