"""Experiment: the Frobenius norm in place of the KL divergence."""

from __future__ import annotations

from actup.experiments.experiment import Experiment
from actup.experiments.methods import PAPER
from actup.experiments.variants import Variants
from actup.switches import Loss, NonEdgeWeight

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

EXPERIMENT = Experiment(
    "frobenius",
    "The Frobenius norm",
    "Minimising the Frobenius norm of P minus Q, unnormalised, gives much the same maps as the KL divergence "
    "(appendix, figure 7).",
    _COMPARED.runs,
    _COMPARED.render,
)
