"""Experiment: the Frobenius norm in place of the KL divergence."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from actup._experiments.experiment import Experiment, JsonDict, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.tables import number, table
from actup._experiments.paper.methods import PAPER
from actup._experiments.paper.variants import Variants
from actup._experiments.results import Findings, Store
from actup._experiments.workspace import Workspace
from actup.recipe import Loss, NonEdgeWeight

_DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
_VARIANTS = {
    "UMAP, KL": PAPER["UMAP"],
    "UMAP, Frobenius": PAPER["UMAP"].but(loss=Loss.FROBENIUS),
    "GDR_umap, KL": PAPER["GDR_umap"],
    # The gradient of this loss already contains the factor 4, and no 1 - p that has to be estimated.
    "GDR_umap, Frobenius": PAPER["GDR_umap"].but(
        loss=Loss.FROBENIUS, force_scale=1.0, non_edge_weight=NonEdgeWeight.ONE
    ),
}


_COMPARED = Variants("frobenius", _DATASETS, _VARIANTS)
_STRAY_DISTANCE = 0.01  # of the map's width: a stray point has no other point within it


def stray_share(Y: np.ndarray) -> float:
    """The share of points without another point nearby."""
    low, high = np.quantile(Y, [0.01, 0.99], axis=0)
    nearest = cKDTree(Y).query(Y, k=2)[0][:, 1]
    return float((nearest > _STRAY_DISTANCE * (high - low).max()).mean())


def measure_stray(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """The share of stray points in the run's map."""
    return {"stray": stray_share(workspace.embed(run.recipe, run.seed).embedding)}


def _stray_run(scale: Scale, data: str, name: str) -> Run:
    return Run(data, _VARIANTS[name], measure="stray", points=scale.limit(), label=f"{name}, stray points")


def _runs(scale: Scale) -> list[Run]:
    return _COMPARED.runs(scale) + [_stray_run(scale, data, name) for data in _DATASETS for name in _VARIANTS]


def _render(findings: Findings) -> str:
    qualities, picture = _COMPARED.parts(findings)
    return "\n\n".join([qualities, note("frobenius"), _stray_table(findings), picture])


def _stray_table(findings: Findings) -> str:
    """The number of stray points in the maps of the first seed."""
    rows = []
    for data, title in _DATASETS.items():
        shares = [findings.value(_stray_run(findings.scale, data, name), "stray") for name in _VARIANTS]
        rows.append([title, *(number(None if share is None else 1e4 * share) for share in shares)])
    return table(["stray points in 10,000", *_VARIANTS], rows)


EXPERIMENT = Experiment(
    "frobenius",
    "The Frobenius norm",
    "Without normalisation, minimising the Frobenius norm of P minus Q gives much the same maps as "
    "minimising the KL divergence (appendix, figure 8).",
    _runs,
    _render,
)
