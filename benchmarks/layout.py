"""The layouts of UMAP and GDR compared with umap-learn's: same graph, start, number of epochs and process.

    python benchmarks/layout.py [--quick]

Prints a table of speedups and quality measures and saves it in benchmarks/results/layout.json. Also times the
stages before the layout, and measures the import time, the installed size and the memory of the layout.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from report import save, summary, timed

import actup
from actup import quality
from actup._experiments.page.tables import table
from actup.backends import load_backend
from actup.datasets import load
from actup.graph import Graph
from actup.neighbors import nearest_neighbors
from actup.recipe import Extent, Recipe, preset
from actup.start._coordinates import scale_start

EPOCHS = 200
SEEDS = (1, 2, 3)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="5,000 points instead of 60,000")
    quick = arguments.parse_args().quick
    n = 5_000 if quick else 60_000
    mnist = load("mnist")
    X, y = np.ascontiguousarray(mnist.X[:n], np.float32), mnist.y[:n]

    results = {"points": n, "import_seconds": import_seconds()}
    results["installed_megabytes"] = sum(installed_megabytes())
    graph, start, results["stages"] = stages(X)
    results["layouts"] = race(X, y, graph, start)
    results["layout_memory"] = layout_memory(graph, start)
    show(results)
    print(
        "saved",
        save("layout_quick" if quick else "layout", results, ["actup", "umap-learn", "numpy", "scipy"]),
    )


def stages(X: np.ndarray):
    """Graph, spectral start, and the seconds of each stage."""
    cpu = load_backend("cpu")
    recipe = preset("umap")
    neighbors, neighbor_seconds = timed(lambda: nearest_neighbors(X, 14))
    graph, graph_seconds = timed(lambda: cpu.affinity_graph(neighbors, recipe, 2), repeats=5)
    coordinates, start_seconds = timed(lambda: cpu.spectral_coordinates(graph, 2, 0, 2), repeats=5)
    seconds = {
        "neighbors": summary(neighbor_seconds),
        "graph": summary(graph_seconds),
        "spectral": summary(start_seconds),
    }
    return graph, scale_start(coordinates, Extent.BOX, 10.0), seconds


def race(X, y, graph: Graph, start) -> dict:
    """Seconds and quality of each layout; umap-learn runs without a seed and therefore on all cores.

    All layouts are timed before any quality is measured, and umap-learn last, because idle threads of numba,
    BLAS and OpenMP would take processor time away from the others.
    """
    names = ("umap", "gdr_umap", "sampled_umap", "sampled_gdr_umap")
    runs = {name: (actup_layout(graph, start, preset(name).but(epochs=EPOCHS)), 5) for name in names}
    for name in ("umap", "gdr_umap"):
        runs[f"{name}, its own epochs"] = (actup_layout(graph, start, preset(name)), 5)
    maps, rows = {}, {}
    for name, (layout, repeats) in runs.items():
        maps[name], rows[name] = time_seeds(layout, repeats)
    maps["umap-learn"], rows["umap-learn"] = time_seeds(umap_learn_layout(X, graph, start), 1)
    for name, row in rows.items():
        for figure in ("min", "median"):
            row[f"times_faster_by_{figure}"] = rows["umap-learn"][figure] / row[figure]
        row |= map_quality(X, y, maps[name])
        row["umap_loss"] = [umap_loss(graph, Y) for Y in maps[name]]
    return rows


def time_seeds(layout, repeats: int):
    """One map per seed, and a summary of the seconds of all runs."""
    maps, seconds = [], []
    for seed in SEEDS:
        Y, taken = timed(lambda seed=seed: layout(seed), repeats)
        maps.append(Y)
        seconds += taken
    return maps, summary(seconds)


def umap_learn_layout(X, graph: Graph, start):
    from umap import UMAP
    from umap.umap_ import find_ab_params, simplicial_set_embedding

    matrix = graph.to_scipy().tocoo()
    a, b = find_ab_params(1.0, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        UMAP(n_epochs=10, init="random").fit(X[:5000, :20])  # compiles all functions

    def layout(seed: int):
        state = np.random.RandomState(seed)
        Y, _ = simplicial_set_embedding(
            X, matrix, 2, 1.0, a, b, 1.0, 5, EPOCHS, start.copy(), state, "euclidean", {}, False, {}, False,
            parallel=True,
        )  # fmt: skip
        return Y

    return layout


def actup_layout(graph: Graph, start, recipe: Recipe):
    def layout(seed: int):
        descent = load_backend("cpu").make_layout(graph, start, recipe, seed, 2)
        descent.run(descent.n_epochs)
        return descent.embedding()

    return layout


def map_quality(X, y, maps) -> dict:
    """Quality measures of several maps: a list of values for each measure."""
    measures = {
        "knn_accuracy": lambda Y: quality.knn_accuracy(Y, y),
        "v_measure": lambda Y: quality.v_measure(Y, y, n_init=10),
        "recall_at_10": lambda Y: quality.neighbor_recall(X, Y, 10, sample=3000),
        "trustworthiness": lambda Y: quality.trustworthiness(X, Y, 15),
        "largest_radius": largest_radius,
    }
    return {name: [float(measure(Y)) for Y in maps] for name, measure in measures.items()}


def umap_loss(graph: Graph, Y: np.ndarray, sample: int = 4_000) -> float:
    """The loss per point that umap-learn's descent minimises on average.

    A stored edge of weight w attracts both its points, w times per round, and each time its first point is
    repelled by five random points. Moving one point of a pair lowers the pair's loss half as much as moving
    both. Counting each repulsion by half is therefore exact if the edges of all points have the same total
    weight. The repulsion is estimated on ``sample`` points.
    """
    a, b = preset("umap").kernel()
    n = len(Y)
    Y = np.float64(Y)
    strength = np.add.reduceat(np.float64(graph.weights), graph.offsets[:-1])  # every point has an edge
    heads = np.repeat(np.arange(n), np.diff(graph.offsets))
    squared = ((Y[heads] - Y[graph.indices]) ** 2).sum(axis=1)
    pulled = graph.weights @ np.log1p(a * squared**b) / n
    rows = np.linspace(0, n - 1, min(n, sample)).astype(int)
    pushed = 0.0
    for chunk in np.array_split(rows, max(1, len(rows) // 100)):
        squared = ((Y[chunk][:, None] - Y) ** 2).sum(axis=2) + 0.001  # umap-learn's epsilon
        non_edge_loss = np.log1p(1 / (a * squared**b))  # -log(1 - q)
        non_edge_loss[np.arange(len(chunk)), chunk] = 0
        pushed += strength[chunk] @ non_edge_loss.sum(axis=1)
    return float(pulled + 5 / 2 * pushed / n / len(rows))


def largest_radius(Y: np.ndarray) -> float:
    """The largest distance of a point from the median, relative to the 99 % quantile of these distances."""
    radius = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    return float(radius.max() / np.quantile(radius, 0.99))


_MEMORY = """
import sys, numpy as np
from actup.backends import load_backend
from actup.graph import Graph
from actup.recipe import preset
def status(key):
    return 1024 * next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key))
z = np.load(sys.argv[1])
graph = Graph(z["offsets"], z["indices"], z["weights"])
start, cpu = z["start"], load_backend("cpu")
small = Graph([0, 1, 2], [1, 0], [1.0, 1.0])
cpu.make_layout(small, np.eye(2, dtype=np.float32), preset(sys.argv[2]), 0, 2).run(1)
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS:")
layout = cpu.make_layout(graph, start, preset(sys.argv[2]).but(epochs=200), 0, 2)
layout.run(5)
print(status("VmHWM:") - before, graph.nbytes)
"""


def layout_memory(graph: Graph, start) -> dict:
    """Bytes per point that a layout adds beyond one copy of the graph, from a fresh process (Linux)."""
    import tempfile

    added = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        np.savez(path, offsets=graph.offsets, indices=graph.indices, weights=graph.weights, start=start)
        for name in ("umap", "sampled_umap", "gdr_umap", "gdr_tsne", "paper_gdr_tsne"):
            output = subprocess.check_output([sys.executable, "-c", _MEMORY, str(path), name], text=True)
            peak, graph_bytes = map(int, output.split())
            added[name] = (peak - graph_bytes) / len(graph)
    return added


def import_seconds() -> float:
    """Seconds of the fastest of five imports in fresh processes, without the start of the interpreter."""
    code = "import time; t = time.perf_counter(); import actup; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))


def installed_megabytes() -> tuple[float, float]:
    """The size of the installed package: of all compiled modules, and of everything else."""
    folder = Path(actup.__file__).parent
    others = {
        p
        for p in folder.rglob("*")
        if p.is_file() and p.suffix != ".so" and not {"__pycache__", "_native"} & set(p.parts)
    }
    compiled = Path(sys.modules["actup._processor"].__file__).parent.glob("_*.so")
    sizes = [sum(path.stat().st_size for path in files) / 1e6 for files in (compiled, others)]
    return sizes[0], sizes[1]


def markdown(results: dict) -> str:
    """The section of the page."""
    header = ["layout", "min s", "median s", "times faster (min, median)"]
    rows = []
    for name, row in results["layouts"].items():
        rows.append([
            _title(name),
            f"{row['min']:.2f}",
            f"{row['median']:.2f}",
            f"{row['times_faster_by_min']:.1f}, {row['times_faster_by_median']:.1f}",
            f"{100 * np.mean(row['knn_accuracy']):.2f}",
            f"{100 * np.mean(row['v_measure']):.1f}",
            f"{np.mean(row['recall_at_10']):.4f}",
            f"{np.mean(row['trustworthiness']):.3f}",
            f"{np.mean(row['umap_loss']):.3f}",
        ])  # fmt: skip
    stages = ", ".join(f"{stage} {seconds['min']:.3f} s" for stage, seconds in results["stages"].items())
    memory = max(results["layout_memory"].values())
    before = (
        f"`python benchmarks/layout.py`: layouts of MNIST, {results['points']:,} points, from the same graph"
        f" and start in one process, with {EPOCHS} epochs unless stated otherwise. Quality is the mean over"
        f" {len(SEEDS)} seeds."
    )
    after = (
        "*UMAP's loss* is, per point, the loss that umap-learn's random draws minimise on average. Stages"
        f" before the layout: {stages}. `import actup` takes {results['import_seconds']:.3f} s; the installed"
        f" package has {results['installed_megabytes']:.1f} MB. A layout needs memory for one copy of the"
        f" graph and at most {memory:.0f} bytes per point."
    )
    quality_header = ["accuracy", "V", "recall@10", "trustworthiness", "UMAP's loss"]
    return "\n\n".join([before, table(header + quality_header, rows), after])


def _title(name: str) -> str:
    """The name of a layout in the table."""
    if name == "umap-learn":
        return name
    preset_name, own_epochs, _ = name.partition(", its own epochs")
    return f"ActUp `{preset_name}`" + (", its default epochs" if own_epochs else "")


def show(results: dict) -> None:
    print(f"{results['points']} points; import {results['import_seconds']:.3f} s; "
          f"installed {results['installed_megabytes']:.1f} MB")  # fmt: skip
    for stage, seconds in results["stages"].items():
        print(f"{stage:<12} {seconds['min']:8.3f} s (min) {seconds['median']:8.3f} s (median)")
    columns = "min s (faster), median s (faster), 100-NN, V, recall@10, trust, loss, largest radius"
    print(f"{'layout':<25} {columns}")
    for name, row in results["layouts"].items():
        print(
            f"{name:<25} {row['min']:8.3f} ({row['times_faster_by_min']:5.1f}x)"
            f" {row['median']:14.3f} ({row['times_faster_by_median']:5.1f}x)"
            f" {100 * np.mean(row['knn_accuracy']):10.2f} {100 * np.mean(row['v_measure']):5.1f}"
            f" {np.mean(row['recall_at_10']):7.4f} {np.mean(row['trustworthiness']):6.3f}"
            f" {np.mean(row['umap_loss']):7.3f} {np.max(row['largest_radius']):7.2f}"
        )
    for name, bytes_per_point in results["layout_memory"].items():
        print(f"memory of {name}: one graph and {bytes_per_point:.0f} bytes per point")


if __name__ == "__main__":
    main()
