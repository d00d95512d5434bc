"""Experiment: the angle between sampled and exact repulsion during the descent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from actup._experiments.experiment import Experiment, JsonDict, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Chart, Curve, draw_charts
from actup._experiments.page.tables import number, table
from actup._experiments.paper.forces import repulsion, with_exact_repulsion, with_sampled_repulsion
from actup._experiments.paper.methods import PAPER
from actup._experiments.results import Findings, Store
from actup._experiments.workspace import Workspace
from actup.backends import load_backend
from actup.graph import Graph
from actup.recipe import Recipe
from actup.start._start import make_start

_DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_MAX_POINTS = 20_000  # the exact repulsion takes quadratic time
_EPOCHS = (1, 10, 25, 50, 100, 200, 250, 300, 400, 500)
_NEGATIVES = (1, 16, 64, 256, 1024)
_PER_EDGE = "one per edge"
_AVERAGED = "one per edge, mean of 10 epochs"
# (colour, marker): colours grow lighter with m, and markers help to tell the lines apart.
_LINE_STYLES = {
    "m = 1": ("#2b0a4d", "o"),
    "m = 16": ("#3a57c4", "s"),
    "m = 64": ("#1ba0b8", "^"),
    "m = 256": ("#2e8b3d", "D"),
    "m = 1024": ("#a3b80f", "v"),
    _PER_EDGE: ("#d55e00", "o"),
    _AVERAGED: ("#cc79a7", "s"),
}


def measure_angles(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """Compare sampled repulsions with the exact one at several epochs of the run's descent."""
    recipe, threads = run.recipe, workspace.threads
    graph = workspace.graph(recipe)
    backend = load_backend("cpu")
    start, _ = make_start(workspace.X, graph, recipe, None, run.seed, threads, backend)
    layout = backend.make_layout(graph, start, recipe, run.seed, threads)
    graph = graph.pruned(1 / layout.n_epochs)
    epochs = [epoch for epoch in _EPOCHS if epoch <= layout.n_epochs]
    series: dict[str, list[JsonDict]] = {}
    for epoch in epochs:
        layout.run(epoch)
        Y = layout.embedding()
        exact = repulsion(graph, Y, with_exact_repulsion(recipe), 0, threads)
        for name, sampled in _estimates(graph, Y, recipe, threads):
            series.setdefault(name, []).append(compare(sampled, exact))
    return {"at": epochs, "series": series}


def _estimates(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield names and sampled repulsions; different seeds stand for the draws of different epochs."""
    for m in _NEGATIVES:
        if m < len(Y):
            yield f"m = {m}", repulsion(graph, Y, with_sampled_repulsion(recipe, m), 1, threads)
    draws = [repulsion(graph, Y, recipe, seed, threads) for seed in range(1, 11)]
    yield _PER_EDGE, draws[0]
    yield _AVERAGED, np.mean(draws, axis=0)


def compare(sampled: np.ndarray, exact: np.ndarray) -> JsonDict:
    """Median angle in degrees, ratios of lengths, and the component along the exact force (1: unbiased)."""
    length, true_length = np.linalg.norm(sampled, axis=1), np.linalg.norm(exact, axis=1)
    used = (length > 0) & (true_length > 0)
    cosine = (sampled * exact).sum(axis=1)[used] / (length * true_length)[used]
    along = (sampled * exact).sum() / (exact**2).sum()
    return {
        "angle": float(np.degrees(np.arccos(np.clip(np.median(cosine), -1, 1)))),
        "mean_cosine": float(cosine.mean()),
        "median_ratio": float(np.median(length[used] / true_length[used])),
        "mean_ratio": float(length.mean() / true_length.mean()),
        "along": float(along),
    }


def _run(scale: Scale, data: str) -> Run:
    return Run(data, PAPER["GDR_tsne"], measure="angles", points=scale.limit(_MAX_POINTS), label="angles")


def _runs(scale: Scale) -> list[Run]:
    return [_run(scale, data) for data in _DATASETS]


def _render(findings: Findings) -> str:
    results = {}
    for data in _DATASETS:
        result = findings.store.results(_run(findings.scale, data))
        if result is not None:
            results[data] = result
    rows = []
    for data, result in results.items():
        for name, values in result["series"].items():
            last = values[-1]
            rows.append([
                _DATASETS[data], name, number(values[0]["angle"], 0), number(last["angle"], 0),
                number(last["mean_ratio"], 2), number(last["median_ratio"], 2), number(last["along"], 2),
            ])  # fmt: skip
    header = [
        "data",
        "negatives",
        "angle, first epoch",
        "angle, last epoch",
        "length ratio, last: of means",
        "median",
        "component along the exact one",
    ]
    picture = findings.draw("sampling_angles", lambda path: _draw(path, results))
    return "\n\n".join([table(header, rows), note("sampling_angles"), picture])


def _draw(path: Path, results: dict[str, JsonDict]) -> None:
    """Draw angles above and ratios of mean lengths below, with one column for each data set."""
    angles = [
        Chart(_DATASETS[data], _curves(result, "angle"), "", "angle, degrees", y_limits=(0, 90))
        for data, result in results.items()
    ]
    ratios = [
        Chart("", _curves(result, "mean_ratio"), "epoch", "length, sampled over exact", (False, True))
        for result in results.values()
    ]
    draw_charts(path, angles + ratios, height=5.6, rows=2)


def _curves(result: JsonDict, quantity: str) -> list[Curve]:
    curves = []
    for name, values in result["series"].items():
        color, marker = _LINE_STYLES[name]
        shown = [value[quantity] for value in values]
        curves.append(Curve(name, result["at"], shown, "per edge" in name, color, marker))
    return curves


EXPERIMENT = Experiment(
    "sampling_angles",
    "Sampled and exact repulsion",
    "The sampled repulsion has the direction of the exact one throughout the descent (figure 4; no numbers "
    "printed).",
    _runs,
    _render,
)
