"""Experiment: run time against the number of points, stage by stage."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from actup._experiments.environment import measured_with
from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Chart, Curve, draw_charts
from actup._experiments.page.tables import number, table
from actup._experiments.results import Found, Store
from actup._experiments.workspace import Workspace
from actup.backends import load_backend
from actup.neighbors._api import nearest_neighbors
from actup.recipe._presets import preset
from actup.start._start import make_start

_SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_RECIPE = preset("umap")  # its graph and start serve all layouts
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
_BATCH = 20_000  # images that are made at a time
_REPEATS = 3
_REPEATED = 100_000  # up to so many points; more are timed once


def measure_stages(run: Run, workspace: Workspace, store: Store) -> dict:
    """Seconds of each stage, the least of some repeats; all layouts share neighbours, graph and start."""
    X, threads, seconds = upsampled(workspace.dataset.X, run.points, run.seed), workspace.threads, {}
    backend = load_backend("cpu")

    repeats = _REPEATS if len(X) <= _REPEATED else 1

    def timed(work):
        taken = []
        for _ in range(repeats):
            begin = time.perf_counter()
            made = work()
            taken.append(time.perf_counter() - begin)
        return made, min(taken)

    k = _RECIPE.neighbors_searched(len(X))
    neighbors, seconds["neighbors"] = timed(lambda: nearest_neighbors(X, k, n_jobs=threads))
    graph, seconds["graph"] = timed(lambda: backend.affinity_graph(neighbors, _RECIPE, threads))
    (start, _), seconds["start"] = timed(
        lambda: make_start(X, graph, _RECIPE, None, run.seed, threads, backend)
    )
    layouts = {}
    for name, recipe in _LAYOUTS.items():

        def descend(recipe=recipe):
            layout = backend.make_layout(graph, start, recipe, run.seed, threads)
            layout.run(layout.n_epochs)
            return layout.n_epochs

        epochs, taken = timed(descend)
        layouts[name] = {"seconds": taken, "epochs": epochs}
    return {"stages": seconds, "layouts": layouts, "recall": neighbors.recall, "repeats": repeats}


def upsampled(images: np.ndarray, n: int, seed: int) -> np.ndarray:
    """n rows: those there are, then random copies, moved by up to two pixels, with a little noise.

    Copies with noise alone, as the paper made them, would all be nearer to each other than to anything else:
    with as many copies as neighbours the graph falls apart into one piece per image.

    Parameters
    ----------
    images : ndarray of shape (m, side²)
    n : int
    seed : int

    Returns
    -------
    ndarray of shape (n, side²), of the type of ``images``
    """
    random = np.random.default_rng(seed)
    if n <= len(images):
        return np.ascontiguousarray(images[random.permutation(len(images))[:n]])
    side, low, high = math.isqrt(images.shape[1]), images.min(), images.max()
    larger = np.empty((n, images.shape[1]), images.dtype)
    larger[: len(images)] = images
    for begin in range(len(images), n, _BATCH):
        batch = larger[begin : begin + _BATCH]
        copies = images[random.integers(0, len(images), len(batch))].reshape(-1, side, side)
        moves = random.integers(-2, 3, (2, len(batch), 1))
        places = np.arange(side)
        rows, columns = ((places - move) % side for move in moves)
        moved = copies[np.arange(len(batch))[:, None, None], rows[:, :, None], columns[:, None, :]]
        noise = random.normal(0, 0.02 * float(high), moved.shape).astype(np.float32)
        batch[:] = np.clip(moved + noise, low, high).reshape(batch.shape)
    return larger


def _run(size: int) -> Run:
    return Run("mnist", _RECIPE, measure="stages", points=size, label="run time")


def _sizes(scale: Scale) -> list[int]:
    if scale.points is None:
        return list(_SIZES)
    return [size for size in _SIZES if size <= 5 * scale.points] or [scale.points]


def _runs(scale: Scale) -> list[Run]:
    return [_run(size) for size in _sizes(scale)]


def _render(found: Found) -> str:
    results = {size: found.store.results(_run(size)) for size in _sizes(found.scale)}
    results = {size: result for size, result in results.items() if result is not None}
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
    picture = found.draw("runtimes", lambda path: _draw(path, results))
    unit = f"{_repeats(results)} Epochs of the largest run: {epochs[0]}." if epochs else ""
    parts = [table(["points", *_STAGES, *_LAYOUTS], rows), unit, _verdict(results), note("runtimes")]
    parts += [provenance(found.store.record(_run(size)) for size in results), picture]
    return "\n\n".join(part for part in parts if part)


def _repeats(results: dict) -> str:
    """How often each size was timed."""
    sizes: dict[int, list[int]] = {}
    for size, result in results.items():
        sizes.setdefault(result.get("repeats", 1), []).append(size)
    if list(sizes) == [1]:
        return "Seconds of one run."
    return (
        "Seconds, the least of "
        + ", ".join(
            f"{repeats} run{'s' if repeats > 1 else ''} (up to {max(own):,} points)"
            for repeats, own in sizes.items()
        )
        + "."
    )


def provenance(records: Iterable[dict]) -> str:
    """Machine and versions of runs, as far as they were kept."""
    known = (
        measured_with(record["machine"], record["versions"]) for record in records if "versions" in record
    )
    return "\n\n".join(f"*{measured}.*" for measured in dict.fromkeys(known))


def _verdict(results: dict) -> str:
    """What the acceleration brings, at the largest size."""
    if not results:
        return ""
    size, result = max(results.items())
    seconds = {name: layout["seconds"] for name, layout in result["layouts"].items()}
    ratios = [
        f"{number(seconds[f'{name}, paper'] / seconds[f'accelerated {name}, paper'], 2)} ({name})"
        for name in ("GDR_umap", "GDR_tsne")
    ]
    faster = " and ".join(ratios)
    return (
        f"At {size:,} points the accelerated form is {faster} times as fast as the full sum (the paper: 2)."
    )


_DASHED = ("GDR_umap", "GDR_tsne, paper", "accelerated GDR_tsne, paper")  # each takes as long as another


def _draw(path, results: dict) -> None:
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
    "GDR's descent is about 10 times faster than umap-learn's, the accelerated form 2 times more, and the "
    "normalised setting needs about twice the epochs (appendix, figure 5; no seconds printed).",
    _runs,
    _render,
    timing=True,
)
