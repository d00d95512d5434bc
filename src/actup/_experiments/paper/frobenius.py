"""Experiment: the Frobenius norm in place of the KL divergence."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.tables import number, table
from actup._experiments.paper.methods import PAPER
from actup._experiments.paper.variants import Variants
from actup._experiments.results import Found, Store
from actup._experiments.workspace import Workspace
from actup.recipe._switches import Loss, NonEdgeWeight

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


_COMPARED = Variants("frobenius", _SETS, _VARIANTS)
_ALONE = 0.01  # of the map's width: the distance within which a point that is not stray has another one


def stray_share(Y: np.ndarray) -> float:
    """The share of points that lie apart from all others."""
    low, high = np.quantile(Y, [0.01, 0.99], axis=0)
    nearest = cKDTree(Y).query(Y, k=2)[0][:, 1]
    return float((nearest > _ALONE * (high - low).max()).mean())


def measure_stray(run: Run, workspace: Workspace, store: Store) -> dict:
    """The share of stray points in the run's map."""
    return {"stray": stray_share(workspace.embed(run.recipe, run.seed).embedding)}


def _stray_run(scale: Scale, data: str, name: str) -> Run:
    return Run(data, _VARIANTS[name], measure="stray", points=scale.of(), label=f"{name}, stray points")


def _runs(scale: Scale) -> list[Run]:
    return _COMPARED.runs(scale) + [_stray_run(scale, data, name) for data in _SETS for name in _VARIANTS]


def _render(found: Found) -> str:
    qualities, picture = _COMPARED.parts(found)
    return "\n\n".join([qualities, note("frobenius"), _stray_table(found), picture])


def _stray_table(found: Found) -> str:
    """Stray points of the maps that are drawn."""
    rows = []
    for data, title in _SETS.items():
        shares = [found.figure(_stray_run(found.scale, data, name), "stray") for name in _VARIANTS]
        rows.append([title, *(number(None if share is None else 1e4 * share) for share in shares)])
    return table(["stray points in 10,000", *_VARIANTS], rows)


EXPERIMENT = Experiment(
    "frobenius",
    "The Frobenius norm",
    "Minimising the Frobenius norm of P minus Q, unnormalised, gives much the same maps as the KL divergence "
    "(appendix, figure 8).",
    _runs,
    _render,
)
