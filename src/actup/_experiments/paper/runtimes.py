"""Experiment: run time of each stage against the number of points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from actup._experiments.environment import describe_environment
from actup._experiments.experiment import Experiment, JsonDict, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Chart, Curve, draw_charts
from actup._experiments.page.tables import number, table
from actup._experiments.results import Findings, Store
from actup._experiments.workspace import Workspace
from actup.backends import load_backend
from actup.graph import Graph
from actup.neighbors import nearest_neighbors
from actup.recipe import Recipe, preset
from actup.start._start import make_start

_SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_RECIPE = preset("umap")  # all layouts use its graph and start
_LAYOUTS = {
    "UMAP": preset("umap"),
    "GDR_umap": preset("gdr_umap"),
    "GDR_tsne": preset("gdr_tsne"),
    "GDR_umap, paper": preset("paper_gdr_umap"),
    "GDR_tsne, paper": preset("paper_gdr_tsne"),
    "accelerated GDR_umap, paper": preset("paper_accelerated_gdr_umap"),
    "accelerated GDR_tsne, paper": preset("paper_accelerated_gdr_tsne"),
}
_STAGES = ("neighbors", "graph", "start")
_CHUNK_IMAGES = 20_000  # images generated at a time
_REPEATS = 3
_MAX_REPEATED_POINTS = 100_000  # runs with more points are timed once

_T = TypeVar("_T")


def measure_stages(run: Run, workspace: Workspace, store: Store) -> JsonDict:
    """Seconds of each stage, the minimum of some repeats; all layouts share neighbours, graph and start."""
    assert run.points is not None  # _run always sets it
    X, threads = upsampled(workspace.dataset.X, run.points, run.seed), workspace.threads
    backend = load_backend("cpu")
    repeats = _REPEATS if len(X) <= _MAX_REPEATED_POINTS else 1
    seconds = {}
    k = _RECIPE.neighbors_searched(len(X))
    neighbors, seconds["neighbors"] = _timed(lambda: nearest_neighbors(X, k, n_jobs=threads), repeats)
    graph, seconds["graph"] = _timed(lambda: backend.affinity_graph(neighbors, _RECIPE, threads), repeats)
    (start, _), seconds["start"] = _timed(
        lambda: make_start(X, graph, _RECIPE, None, run.seed, threads, backend), repeats
    )
    layouts = {}
    for name, recipe in _LAYOUTS.items():
        epochs, taken = _timed(partial(_descend, graph, start, recipe, run.seed, threads), repeats)
        layouts[name] = {"seconds": taken, "epochs": epochs}
    return {"stages": seconds, "layouts": layouts, "recall": neighbors.recall, "repeats": repeats}


def _timed(work: Callable[[], _T], repeats: int) -> tuple[_T, float]:
    """The last result of ``work()``, and the fewest seconds that a call took."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        made = work()
        seconds.append(time.perf_counter() - begin)
    return made, min(seconds)


def _descend(graph: Graph, start: np.ndarray, recipe: Recipe, seed: int, threads: int) -> int:
    """Run a layout to its end; return its number of epochs."""
    layout = load_backend("cpu").make_layout(graph, start, recipe, seed, threads)
    layout.run(layout.n_epochs)
    return int(layout.n_epochs)


def upsampled(images: np.ndarray, n: int, seed: int) -> np.ndarray:
    """The images and random copies of them, shifted by up to two pixels and with 2 % noise: n rows in all.

    Copies with noise alone, as in the paper, would be nearer to each other than to any other image. With as
    many copies as neighbours the graph would fall apart into one component per image.

    Parameters
    ----------
    images : ndarray of shape (m, side²)
    n : int
        The number of rows; at most m: a random choice of the images.
    seed : int

    Returns
    -------
    ndarray of shape (n, side²), with the dtype of ``images``
    """
    random = np.random.default_rng(seed)
    if n <= len(images):
        return np.ascontiguousarray(images[random.permutation(len(images))[:n]])
    side, low, high = math.isqrt(images.shape[1]), images.min(), images.max()
    larger = np.empty((n, images.shape[1]), images.dtype)
    larger[: len(images)] = images
    for begin in range(len(images), n, _CHUNK_IMAGES):
        chunk = larger[begin : begin + _CHUNK_IMAGES]
        copies = images[random.integers(0, len(images), len(chunk))].reshape(-1, side, side)
        shifts = random.integers(-2, 3, (2, len(chunk), 1))
        pixels = np.arange(side)
        rows, columns = ((pixels - shift) % side for shift in shifts)
        shifted = copies[np.arange(len(chunk))[:, None, None], rows[:, :, None], columns[:, None, :]]
        noise = random.normal(0, 0.02 * float(high), shifted.shape).astype(np.float32)
        chunk[:] = np.clip(shifted + noise, low, high).reshape(chunk.shape)
    return larger


def _run(size: int) -> Run:
    return Run("mnist", _RECIPE, measure="stages", points=size, label="run time")


def _sizes(scale: Scale) -> list[int]:
    if scale.points is None:
        return list(_SIZES)
    return [size for size in _SIZES if size <= 5 * scale.points] or [scale.points]


def _runs(scale: Scale) -> list[Run]:
    return [_run(size) for size in _sizes(scale)]


def _render(findings: Findings) -> str:
    records = {}
    for size in _sizes(findings.scale):
        record = findings.store.record(_run(size))
        if record is not None:
            records[size] = record
    results = {size: record["results"] for size, record in records.items()}
    rows = [
        [
            f"{size:,}",
            *(number(result["stages"][stage], 2) for stage in _STAGES),
            *(number(result["layouts"][name]["seconds"], 2) for name in _LAYOUTS),
        ]
        for size, result in results.items()
    ]
    epochs = [
        ", ".join(f"{name} {layout['epochs']}" for name, layout in result["layouts"].items())
        for result in list(results.values())[-1:]
    ]
    picture = findings.draw("runtimes", lambda path: _draw(path, results))
    unit = f"{_repeats(results)} Epochs of the largest run: {epochs[0]}." if epochs else ""
    parts = [table(["points", *_STAGES, *_LAYOUTS], rows), unit, _verdict(results), note("runtimes")]
    parts += [provenance(records.values()), picture]
    return "\n\n".join(part for part in parts if part)


def _repeats(results: dict[int, JsonDict]) -> str:
    """How often the runs were timed, by size."""
    sizes: dict[int, list[int]] = {}
    for size, result in results.items():
        sizes.setdefault(result.get("repeats", 1), []).append(size)
    if list(sizes) == [1]:
        return "Seconds of one run."
    return (
        "Seconds, the minimum of "
        + ", ".join(
            f"{repeats} run{'s' if repeats > 1 else ''} (up to {max(own):,} points)"
            for repeats, own in sizes.items()
        )
        + "."
    )


def provenance(records: Iterable[JsonDict]) -> str:
    """The environments in which runs were measured; old records have none."""
    known = (
        describe_environment(record["machine"], record["versions"])
        for record in records
        if "versions" in record
    )
    return "\n\n".join(f"*{measured}.*" for measured in dict.fromkeys(known))


def _verdict(results: dict[int, JsonDict]) -> str:
    """The speedup of the accelerated form at the largest size."""
    if not results:
        return ""
    size, result = max(results.items())
    seconds = {name: layout["seconds"] for name, layout in result["layouts"].items()}
    ratios = [
        f"{number(seconds[f'{name}, paper'] / seconds[f'accelerated {name}, paper'], 2)} ({name})"
        for name in ("GDR_umap", "GDR_tsne")
    ]
    speedups = " and ".join(ratios)
    return (
        f"At {size:,} points the accelerated form is {speedups} times as fast as the full sum (the paper: 2)."
    )


# Dashed, because each of these lines nearly coincides with a solid one.
_DASHED = ("GDR_umap", "GDR_tsne, paper", "accelerated GDR_tsne, paper")


def _draw(path: Path, results: dict[int, JsonDict]) -> None:
    sizes = list(results)
    colors = dict(zip(_STAGES, ("#6b7280", "#9c3418", "#a3156f"), strict=True))
    stages = [
        Curve(stage, sizes, [results[n]["stages"][stage] for n in sizes], dashed=True, color=colors[stage])
        for stage in _STAGES
    ]
    layouts = [
        Curve(name, sizes, [results[n]["layouts"][name]["seconds"] for n in sizes], dashed=name in _DASHED)
        for name in _LAYOUTS
    ]
    charts = [
        Chart("before the layout", stages, "points", "seconds", (True, True)),
        Chart("layouts", layouts, "points", "seconds", (True, True)),
    ]
    draw_charts(path, charts, height=4.4)


EXPERIMENT = Experiment(
    "runtimes",
    "Run time against the number of points",
    "GDR's descent is about 10 times faster than umap-learn's, its accelerated form another 2 times, and the "
    "normalised setting needs about twice the epochs (appendix, figure 5; no seconds printed).",
    _runs,
    _render,
    timing=True,
)
