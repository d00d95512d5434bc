"""Experiment: the Frobenius norm in place of the KL divergence."""

from __future__ import annotations

from actup.experiments.embeddings import panel_of
from actup.experiments.experiment import Experiment, Run, Scale
from actup.experiments.methods import PAPER
from actup.experiments.pictures import draw_maps
from actup.experiments.results import Found
from actup.experiments.tables import quality, table
from actup.recipe import Loss, NonEdgeWeight

_SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
_VARIANTS = {
    "UMAP, KL": PAPER["UMAP"],
    "UMAP, Frobenius": PAPER["UMAP"].but(loss=Loss.FROBENIUS),
    "GDR_umap, KL": PAPER["GDR_umap"],
    # The factor 4 is in the gradient of this loss already, and there is no 1 - p to estimate.
    "GDR_umap, Frobenius": PAPER["GDR_umap"].but(
        loss=Loss.FROBENIUS, force_scale=1.0, non_edge_weight=NonEdgeWeight.ONE
    ),
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
    picture = found.draw("frobenius", lambda path: _draw(path, found))
    return "\n\n".join([table(["data", *_VARIANTS], rows), picture])


def _draw(path, found: Found) -> None:
    rows = [[panel_of(found, _seeds(found.scale, data, name)[0]) for name in _VARIANTS] for data in _SETS]
    draw_maps(path, rows, list(_SETS.values()), list(_VARIANTS))


EXPERIMENT = Experiment(
    "frobenius",
    "The Frobenius norm",
    "Minimising the Frobenius norm of P minus Q, unnormalised, gives much the same maps as the KL divergence "
    "(appendix, figure 7).",
    _runs,
    _render,
)
