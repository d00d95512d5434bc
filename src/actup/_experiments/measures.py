"""What a run can measure: a table of functions that return the values to store."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

import numpy as np

from actup import quality
from actup._experiments.experiment import JsonDict, Run
from actup._experiments.results import Store
from actup._experiments.workspace import Workspace
from actup.datasets import unrolled

Measure: TypeAlias = Callable[[Run, Workspace, Store], JsonDict]

_SAMPLED_POINTS = 1_000  # points whose neighbourhoods are compared

# name: (module, function). Modules are imported on first use, because the experiments import this one.
_MEASURES = {
    "map": ("actup._experiments.measures", "measure_map"),
    "angles": ("actup._experiments.paper.sampling_angles", "measure_angles"),
    "acceleration": ("actup._experiments.paper.accelerated", "measure_acceleration"),
    "balance": ("actup._experiments.paper.theorems", "measure_balance"),
    "stray": ("actup._experiments.paper.frobenius", "measure_stray"),
    "stages": ("actup._experiments.paper.runtimes", "measure_stages"),
}


def measure(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """Do a run and return the values it measured."""
    module, name = _MEASURES[run.measure]
    function: Measure = getattr(import_module(module), name)
    return function(run, workspace, store)


def measure_map(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """Compute the map, measure its quality and, for seed 0, save it for the pictures."""
    made = workspace.embed(run.recipe, run.seed)
    if run.seed == 0:
        store.save_map(run, made.embedding)
    values = {"epochs": made.n_epochs, "layout_seconds": made.seconds["layout"], "start": made.init_used}
    return values | map_quality(made.embedding, workspace, str(run.recipe.metric))


def map_quality(Y: np.ndarray, workspace: Workspace, metric: str = "euclidean") -> JsonDict:
    """The quality measures of a map; those that need classes only if the data set has them."""
    dataset, threads = workspace.dataset, workspace.threads
    values: JsonDict = {"extent": float(np.ptp(Y, axis=0).max())}
    if not np.isfinite(Y).all():
        return values | {"finite": False}
    sample = min(_SAMPLED_POINTS, len(Y))
    values["neighbor_recall"] = quality.neighbor_recall(
        workspace.X, Y, min(10, len(Y) - 1), metric=metric, sample=sample, n_jobs=threads
    )
    if dataset.name == "swiss_roll":
        values["unrolled"] = quality.distance_correlation(
            unrolled(dataset), Y, sample=50 * sample, n_jobs=threads
        )
    elif dataset.y is not None:
        voters = min(100, len(Y) - 1)
        values["knn_accuracy"] = 100 * quality.knn_accuracy(
            Y, dataset.y, voters, shrink=False, n_jobs=threads
        )
        values["fair_knn_accuracy"] = 100 * quality.knn_accuracy(
            Y, dataset.y, min(10, len(Y) - 1), shrink=False, n_jobs=threads
        )
        values["v_measure"] = 100 * quality.v_measure(Y, dataset.y, n_jobs=threads)
    return values
