"""Experiment: the paper's two theorems, tested on maps of real data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from actup._csr import entry_rows
from actup._experiments.experiment import Experiment, JsonDict, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.tables import number, table
from actup._experiments.paper.forces import (
    attraction,
    repulsion,
    with_exact_repulsion,
    with_sampled_repulsion,
)
from actup._experiments.paper.methods import PAPER
from actup._experiments.results import Findings, Store
from actup._experiments.workspace import Workspace
from actup.graph import Graph

_DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_MAX_POINTS = 20_000  # the exact repulsion takes quadratic time
_MAPS = ("GDR_tsne", "GDR_umap")
_SETTINGS = {"normalised": "GDR_tsne", "not normalised": "GDR_umap"}
_NEGATIVES = (1, 4, 16, 64, 256, 1024)
_TOTAL_NEGATIVES = 4096  # per point over all draws: draws of fewer negatives are repeated more often
_MAX_DRAWS = 512


def measure_balance(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """The ratio of attraction to repulsion at the run's map: both settings, several numbers of negatives."""
    threads = workspace.threads
    made = workspace.embed(run.recipe, run.seed)
    Y, graph = made.embedding, made.graph.pruned(1 / made.n_epochs)
    ratios: JsonDict = {"settings": {}, "negatives": {}}
    forces = {}
    for setting, method in _SETTINGS.items():
        recipe = with_exact_repulsion(PAPER[method])
        forces[setting] = attraction(graph, Y, recipe, threads), repulsion(graph, Y, recipe, 0, threads)
        pull, push = map(_mean_length, forces[setting])
        ratios["settings"][setting] = pull / push
    attractions, exact = forces["normalised"]
    for m in (m for m in _NEGATIVES if m < len(Y)):
        recipe = with_sampled_repulsion(PAPER["GDR_tsne"], m)
        seeds = range(1, 1 + min(_MAX_DRAWS, _TOTAL_NEGATIVES // m))
        draws = (repulsion(graph, Y, recipe, seed, threads) for seed in seeds)
        ratios["negatives"][str(m)] = average_over_draws(draws, exact, _mean_length(attractions))
    return ratios | _conditions(Y, graph)


def average_over_draws(draws: Iterable[np.ndarray], exact: np.ndarray, mean_attraction: float) -> JsonDict:
    """The ratio of attraction to the sampled repulsion, averaged over draws.

    The repulsion is measured in two ways: by its component along the exact force, and by its length.

    Parameters
    ----------
    draws : iterable of ndarray of shape (n, dimensions)
        At least two draws of the sampled repulsion.
    exact : ndarray of shape (n, dimensions)
        The exact repulsion.
    mean_attraction : float
        Mean length of the attractions.

    Returns
    -------
    dict
        ``along`` and its standard error ``along_error``, ``length``, and the number of ``draws``.
    """
    direction = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-300)
    means = [(float((push * direction).sum(axis=1).mean()), _mean_length(push)) for push in draws]
    along, length = np.array(means).T
    ratio = mean_attraction / along.mean()
    error = along.std(ddof=1) / np.sqrt(len(along)) / along.mean()
    return {
        "along": float(ratio),
        "along_error": float(ratio * error),
        "length": float(mean_attraction / length.mean()),
        "draws": len(along),
    }


def _mean_length(forces: np.ndarray) -> float:
    return float(np.linalg.norm(forces, axis=1).mean())


def _conditions(Y: np.ndarray, graph: Graph) -> JsonDict:
    """The shares of edges that meet the conditions of the first theorem and of its proof."""
    rows = entry_rows(graph.offsets)
    q = 1 / (1 + ((Y[rows].astype(np.float64) - Y[graph.indices]) ** 2).sum(axis=1))
    return {
        "far_edges": float((graph.weights < 1 / (len(Y) ** 2 + 1)).mean()),
        "edges_q_above_half": float((q > 0.5).mean()),
    }


def _run(scale: Scale, data: str, method: str) -> Run:
    return Run(
        data, PAPER[method], measure="balance", points=scale.limit(_MAX_POINTS), label=f"{method}, forces"
    )


def _runs(scale: Scale) -> list[Run]:
    return [_run(scale, data, method) for data in _DATASETS for method in _MAPS]


def _render(findings: Findings) -> str:
    first, second, departures, draws = [], [], [], {}
    for data, title in _DATASETS.items():
        for method in _MAPS:
            result = findings.store.results(_run(findings.scale, data, method))
            if result is None:
                continue
            where = f"{title}, map of {method}"
            ratios = result["settings"]
            first.append([
                where, *(number(ratios[setting], 3) for setting in _SETTINGS),
                number(ratios["not normalised"] / ratios["normalised"], 2),
                f"{100 * result['far_edges']:.0f} %", f"{100 * result['edges_q_above_half']:.0f} %",
            ])  # fmt: skip
            values = list(result["negatives"].values())
            second.append([where, "along the exact force", *map(_with_error, values)])
            second.append([where, "length of the draw", *(number(value["length"], 3) for value in values)])
            departures += [abs(value["along"] / ratios["normalised"] - 1) for value in values]
            draws = {m: value.get("draws", 1) for m, value in result["negatives"].items()}
    columns = [f"m = {m}" for m in _NEGATIVES]
    second = [row + [number(None)] * (len(columns) + 2 - len(row)) for row in second]
    header = ["", *_SETTINGS, "factor", "edges beyond the theorem's distance", "edges with q > ½"]
    return "\n\n".join([
        "**Theorem 1.** Mean length of attractions over mean length of repulsions, all at the same map:",
        table(header, first), note("theorem_1"),
        "**Theorem 2.** The same ratio, normalised, for several numbers m of sampled repulsions per point:",
        table(["", "repulsion measured", *columns], second), _verdict(departures, draws), note("theorem_2"),
    ])  # fmt: skip


def _with_error(value: JsonDict) -> str:
    """A ratio and, of several draws, its standard error."""
    error = value.get("along_error")
    return number(value["along"], 3) + ("" if error is None else f" ± {number(error, 3)}")


def _verdict(departures: list[float], draws: dict[str, int]) -> str:
    """How many draws were averaged, and how far their means are from the ratio of the exact forces."""
    counts = ", ".join(f"{count} (m = {m})" for m, count in draws.items())
    return (
        f"Number of draws averaged: {counts}; ± is the standard error. Along the exact force, every "
        f"mean is within {100 * max(departures):.1f} % of the ratio of the exact forces."
    )


EXPERIMENT = Experiment(
    "theorems",
    "The two theorems",
    "Theorem 1: the normalisation changes the ratio of attraction to repulsion. Theorem 2: in the normalised "
    "setting that ratio does not depend on the number of sampled repulsions.",
    _runs,
    _render,
)
