"""Experiment: the paper's two theorems on real maps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.tables import number, table
from actup._experiments.paper.forces import attraction, from_all_points, from_some_points, repulsion
from actup._experiments.paper.methods import PAPER
from actup._experiments.results import Found, Store
from actup._experiments.workspace import Workspace

_SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_MOST_POINTS = 20_000
_MAPS = ("GDR_tsne", "GDR_umap")
_SETTINGS = {"normalised": "GDR_tsne", "not normalised": "GDR_umap"}
_NEGATIVES = (1, 4, 16, 64, 256, 1024)
_DRAWN = 4096  # negatives of a point in all draws together: the fewer at a time, the more draws
_MOST_DRAWS = 512


def measure_balance(run: Run, workspace: Workspace, store: Store) -> dict:
    """Attraction over repulsion at the run's map, in both settings, and for several numbers of negatives."""
    threads = workspace.threads
    made = workspace.embed(run.recipe, run.seed)
    Y, graph = made.embedding, made.graph.pruned(1 / made.n_epochs)
    figures: dict = {"settings": {}, "negatives": {}}
    forces = {}
    for setting, method in _SETTINGS.items():
        recipe = from_all_points(PAPER[method])
        forces[setting] = attraction(graph, Y, recipe, threads), repulsion(graph, Y, recipe, 0, threads)
        pull, push = map(_mean_length, forces[setting])
        figures["settings"][setting] = pull / push
    pull, exact = forces["normalised"]
    for m in (m for m in _NEGATIVES if m < len(Y)):
        recipe = from_some_points(PAPER["GDR_tsne"], m)
        draws = range(1, 1 + min(_MOST_DRAWS, _DRAWN // m))
        pushes = (repulsion(graph, Y, recipe, seed, threads) for seed in draws)
        figures["negatives"][str(m)] = over_draws(pushes, exact, _mean_length(pull))
    return figures | _conditions(Y, graph)


def over_draws(pushes: Iterable[np.ndarray], exact: np.ndarray, pulled: float) -> dict:
    """Attraction over the mean sampled repulsion, along the exact one and by length.

    Parameters
    ----------
    pushes : iterable of ndarray of shape (n, dimensions)
        At least two draws.
    exact : ndarray of shape (n, dimensions)
    pulled : float
        Mean length of the attractions.

    Returns
    -------
    dict
        ``along`` and its standard error ``along_error``, ``length``, and the number of ``draws``.
    """
    direction = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-300)
    figures = [(float((push * direction).sum(axis=1).mean()), _mean_length(push)) for push in pushes]
    along, length = np.array(figures).T
    ratio = pulled / along.mean()
    error = along.std(ddof=1) / np.sqrt(len(along)) / along.mean()
    return {
        "along": float(ratio),
        "along_error": float(ratio * error),
        "length": float(pulled / length.mean()),
        "draws": len(along),
    }


def _mean_length(forces: np.ndarray) -> float:
    return float(np.linalg.norm(forces, axis=1).mean())


def _conditions(Y: np.ndarray, graph) -> dict:
    """How many edges fulfil what the first theorem and its proof suppose."""
    rows = np.repeat(np.arange(len(Y)), np.diff(graph.offsets))
    q = 1 / (1 + ((Y[rows].astype(np.float64) - Y[graph.indices]) ** 2).sum(axis=1))
    return {
        "far_edges": float((graph.weights < 1 / (len(Y) ** 2 + 1)).mean()),
        "edges_q_above_half": float((q > 0.5).mean()),
    }


def _run(scale: Scale, data: str, method: str) -> Run:
    return Run(
        data, PAPER[method], measure="balance", points=scale.of(_MOST_POINTS), label=f"{method}, forces"
    )


def _runs(scale: Scale) -> list[Run]:
    return [_run(scale, data, method) for data in _SETS for method in _MAPS]


def _render(found: Found) -> str:
    first, second, departures, draws = [], [], [], {}
    for data, title in _SETS.items():
        for method in _MAPS:
            result = found.store.results(_run(found.scale, data, method))
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
    many = [f"m = {m}" for m in _NEGATIVES]
    second = [row + [number(None)] * (len(many) + 2 - len(row)) for row in second]
    header = ["", *_SETTINGS, "factor", "edges beyond the theorem's distance", "edges with q > ½"]
    return "\n\n".join([
        "**Theorem 1.** Mean length of attractions over mean length of repulsions, all at the same map:",
        table(header, first), note("theorem_1"),
        "**Theorem 2.** The same ratio, normalised, for several numbers m of sampled repulsions per point:",
        table(["", "repulsion measured", *many], second), _verdict(departures, draws), note("theorem_2"),
    ])  # fmt: skip


def _with_error(value: dict) -> str:
    """A ratio, and the standard error of its mean over the draws where there were several."""
    error = value.get("along_error")
    return number(value["along"], 3) + ("" if error is None else f" ± {number(error, 3)}")


def _verdict(departures: list[float], draws: dict[str, int]) -> str:
    many = ", ".join(f"{count} (m = {m})" for m, count in draws.items())
    return (
        f"Draws that are averaged: {many}; ± is the standard error. Along the exact force no mean departs by "
        f"more than {100 * max(departures):.1f} % from the ratio of the exact forces."
    )


EXPERIMENT = Experiment(
    "theorems",
    "The two theorems",
    "Theorem 1: the normalisation changes the ratio of attraction to repulsion. Theorem 2: in the normalised "
    "setting that ratio does not depend on the number of sampled repulsions.",
    _runs,
    _render,
)
