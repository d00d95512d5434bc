"""What can be measured of a run; each function gives the figures that are kept."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from actup import quality as metrics
from actup._experiments.experiment import Run
from actup._experiments.results import Store
from actup._experiments.workspace import Workspace
from actup.datasets import unrolled

Measure = Callable[[Run, Workspace, Store], dict]

_SAMPLE = 1_000  # points whose neighbourhoods are compared

# name: (module, function); a module is imported when a run needs it
_MEASURES = {
    "map": ("actup._experiments.measures", "measure_map"),
    "angles": ("actup._experiments.paper.sampling_angles", "measure_angles"),
    "acceleration": ("actup._experiments.paper.accelerated", "measure_acceleration"),
    "balance": ("actup._experiments.paper.theorems", "measure_balance"),
    "stray": ("actup._experiments.paper.frobenius", "measure_stray"),
    "stages": ("actup._experiments.paper.runtimes", "measure_stages"),
}


def measure(run: Run, workspace: Workspace, store: Store) -> dict:
    """The figures of a run."""
    module, function = _MEASURES[run.measure]
    return getattr(import_module(module), function)(run, workspace, store)


def measure_map(run: Run, workspace: Workspace, store: Store) -> dict:
    """Make the map, keep it if it is of the first seed, and judge it."""
    made = workspace.embed(run.recipe, run.seed)
    if run.seed == 0:
        store.keep_map(run, made.embedding)
    figures = {"epochs": made.n_epochs, "layout_seconds": made.seconds["layout"], "start": made.init_used}
    return figures | judge(made.embedding, workspace, run.recipe.metric)


def judge(Y: np.ndarray, workspace: Workspace, metric: str = "euclidean") -> dict:
    """The quality of a map; measures that need classes only where there are some."""
    dataset, threads = workspace.dataset, workspace.threads
    figures = {"extent": float(np.ptp(Y, axis=0).max())}
    if not np.isfinite(Y).all():
        return figures | {"finite": False}
    sample = min(_SAMPLE, len(Y))
    figures["neighbor_recall"] = metrics.neighbor_recall(
        workspace.X, Y, min(10, len(Y) - 1), metric=str(metric), sample=sample, n_jobs=threads
    )
    if dataset.name == "swiss_roll":
        figures["unrolled"] = metrics.distance_correlation(
            unrolled(dataset), Y, sample=50 * sample, n_jobs=threads
        )
    elif dataset.y is not None:
        voters = min(100, len(Y) - 1)
        figures["knn_accuracy"] = 100 * metrics.knn_accuracy(
            Y, dataset.y, voters, shrink=False, n_jobs=threads
        )
        figures["fair_knn_accuracy"] = 100 * metrics.knn_accuracy(
            Y, dataset.y, min(10, len(Y) - 1), shrink=False, n_jobs=threads
        )
        figures["v_measure"] = 100 * metrics.v_measure(Y, dataset.y, n_jobs=threads)
    return figures
