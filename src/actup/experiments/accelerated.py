"""Experiment: accelerated GDR."""

from __future__ import annotations

from actup.cookbook import preset
from actup.experiments.experiment import Experiment
from actup.experiments.methods import PAPER
from actup.experiments.variants import Variants
from actup.switches import Sampling

_SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_VARIANTS = {
    "GDR_tsne": PAPER["GDR_tsne"],
    "accelerated GDR_tsne": preset("paper_accelerated_gdr_tsne"),
    "unbiased GDR_tsne": PAPER["GDR_tsne"].but(sampling=Sampling.UNBIASED),
    "GDR_umap": PAPER["GDR_umap"],
    "accelerated GDR_umap": preset("paper_accelerated_gdr_umap"),
    "unbiased GDR_umap": PAPER["GDR_umap"].but(sampling=Sampling.UNBIASED),
}


_COMPARED = Variants("accelerated", _SETS, _VARIANTS, noted=True)

EXPERIMENT = Experiment(
    "accelerated",
    "Accelerated GDR",
    "GDR with scalar sampling on top is a further 2 times faster, and its maps look the same (appendix).",
    _COMPARED.runs,
    _COMPARED.render,
)
