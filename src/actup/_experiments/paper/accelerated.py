"""Experiment: accelerated GDR."""

from __future__ import annotations

import numpy as np

from actup._experiments.experiment import Experiment, JsonDict, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.tables import number, table
from actup._experiments.paper.forces import mean_forces
from actup._experiments.paper.methods import PAPER
from actup._experiments.paper.variants import Variants
from actup._experiments.results import Findings, Store
from actup._experiments.workspace import Workspace
from actup.recipe import Sampling, preset

_DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_VARIANTS = {
    "GDR_tsne": PAPER["GDR_tsne"],
    "accelerated GDR_tsne": preset("paper_accelerated_gdr_tsne"),
    "unbiased GDR_tsne": PAPER["GDR_tsne"].but(sampling=Sampling.UNBIASED),
    "GDR_umap": PAPER["GDR_umap"],
    "accelerated GDR_umap": preset("paper_accelerated_gdr_umap"),
    "unbiased GDR_umap": PAPER["GDR_umap"].but(sampling=Sampling.UNBIASED),
}
# The forms of GDR whose forces are compared.
_FORMS = {
    "full sum": Sampling.EXHAUSTIVE,
    "accelerated": Sampling.ACCELERATED,
    "unbiased": Sampling.UNBIASED,
}
_METHODS = ("GDR_tsne", "GDR_umap")
_MAX_POINTS = 20_000  # the exact repulsion takes quadratic time

_COMPARED = Variants("accelerated", _DATASETS, _VARIANTS)


def measure_acceleration(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """Mean lengths of attraction and repulsion at the run's map, averaged over the epochs, for each form."""
    made = workspace.embed(run.recipe, run.seed)
    graph = made.graph.pruned(1 / made.n_epochs)
    lengths = {}
    for form, sampling in _FORMS.items():
        forces = mean_forces(graph, made.embedding, run.recipe.but(sampling=sampling), workspace.threads)
        pull, push = (float(np.linalg.norm(force, axis=1).mean()) for force in forces)
        lengths[form] = {"attraction": pull, "repulsion": push}
    return {"forms": lengths}


def _force_run(scale: Scale, data: str, method: str) -> Run:
    points = scale.limit(_MAX_POINTS)
    return Run(data, PAPER[method], measure="acceleration", points=points, label=f"{method}, acceleration")


def _runs(scale: Scale) -> list[Run]:
    forces = [_force_run(scale, data, method) for data in _DATASETS for method in _METHODS]
    return _COMPARED.runs(scale) + forces


def _render(findings: Findings) -> str:
    qualities, picture = _COMPARED.parts(findings)
    return "\n\n".join(
        [qualities, note("accelerated"), _force_table(findings), note("acceleration"), picture]
    )


def _force_table(findings: Findings) -> str:
    """The forces of the sampled forms, relative to those of the full sum."""
    rows = []
    for data, title in _DATASETS.items():
        for method in _METHODS:
            result = findings.store.results(_force_run(findings.scale, data, method))
            if result is None:
                continue
            full, *others = result["forms"].values()
            cells = [title, method]
            for form in others:
                pull, push = (form[force] / full[force] for force in ("attraction", "repulsion"))
                cells += [number(pull, 2), number(push, 2), number(pull / push, 2)]
            rows.append(cells)
    columns = ("attraction", "repulsion", "their ratio")
    header = ["data", "map of", *(f"{form}: {column}" for form in list(_FORMS)[1:] for column in columns)]
    return table(header, rows)


EXPERIMENT = Experiment(
    "accelerated",
    "Accelerated GDR",
    "Adding scalar sampling makes GDR another 2 times faster, and its maps look the same (appendix).",
    _runs,
    _render,
)
