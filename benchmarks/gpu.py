"""Every stage on one GPU: MNIST, and up to a hundred million points made from it.

    python benchmarks/gpu.py [--only mnist three_dimensions million ...] [--repeats 5]

``mnist``             neighbours, and maps of all presets beside those of the CPU
``three_dimensions``  maps in three dimensions: with the tree, and with sums over all pairs
``million`` and ``ten_million``                   rows of MNIST drawn with replacement, with noise
``blended_million`` and ``blended_ten_million``   convex combinations of three near rows, with little noise
``hundred_million``   blended rows once, with the peak of the GPU's memory
``first_use``         the first map of a process, from a NumPy array: once with no kernel compiled before,
                      once with all kernels on disk

The input is on the GPU; times are medians after a warm-up run, which compiles the kernels. Quality is
measured on the CPU, recall on rows that no search has used. Results are saved in
benchmarks/results/gpu.json; parts that were not run keep their earlier results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from report import save, saved, summary

import actup
from actup import preset, quality
from actup.backends import load_backend
from actup.datasets import load

PRESETS = ("gdr_umap", "umap", "tsne")
MAPS = (*PRESETS, "sampled_umap")
FIRST_MAP = """
import json, sys, time
import numpy as np
begin = time.perf_counter()
from actup import embed
from actup.datasets import load
imported = time.perf_counter() - begin
X = np.ascontiguousarray(load("mnist").X, np.float32)
begin = time.perf_counter()
embed(X, sys.argv[1], backend="cuda")
print(json.dumps({"import": imported, "seconds": time.perf_counter() - begin}))
"""
NOISE = 0.5  # added to repeated points, relative to each column's standard deviation
BLEND_NOISE = 20.0  # the standard deviation of what is added to blended rows
COLUMNS = 50
CHUNK = 1_000_000  # points that are made at a time
RECALL_CHUNK = 10_000_000  # rows that a row is compared with at a time
QUALITY_POINTS = 100_000  # quality is measured on at most this many points


def main() -> None:
    import cupy as cp

    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--no-quality", action="store_true", help="times only")
    options = arguments.parse_args()
    data = load("mnist")
    X, y = cp.asarray(np.ascontiguousarray(data.X, np.float32)), data.y
    device = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)
    results = saved("gpu")
    results |= {"gpu": device["name"].decode(), "memory": int(device["totalGlobalMem"])}
    for part in options.only:
        results[part] = MEASURES[part](X, y, options.repeats, not options.no_quality)
        print(markdown({part: results[part], "gpu": results["gpu"]}), flush=True)
        path = save("gpu", results, ["actup", "cupy-cuda12x", "cupy-cuda13x", "numpy", "scipy"])
        print("saved", path)


def mnist(X, y, repeats: int, with_quality: bool) -> dict:
    result = {"neighbors": {f"k={k}": time_neighbors(X, k, repeats) for k in (15, 90)}}
    result["maps"] = time_maps(X, MAPS, y, repeats, with_quality)
    if with_quality:
        host = X.get()
        for name, row in result["maps"].items():
            made = actup.embed(host, name)
            row["cpu"] = {"seconds": sum(made.seconds.values()), **map_quality(host, made, y)}
    return result


def million(X, y, repeats: int, with_quality: bool) -> dict:
    points, labels = upsampled(X, y, 1_000_000)
    result = {"neighbors": {f"k={k}": time_neighbors(points, k, repeats) for k in (15, 90)}}
    result["maps"] = time_maps(points, MAPS, labels, repeats, with_quality)
    return result


def ten_million(X, y, repeats: int, with_quality: bool) -> dict:
    return measure_ten_million(*upsampled(X, y, 10_000_000), repeats, with_quality)


def blended_million(X, y, repeats: int, with_quality: bool) -> dict:
    points, labels = blended(X, y, 1_000_000)
    result = {"neighbors": {f"k={k}": time_neighbors(points, k, repeats) for k in (15, 90)}}
    result["maps"] = time_maps(points, ("umap", "tsne"), labels, repeats, with_quality)
    return result


def blended_ten_million(X, y, repeats: int, with_quality: bool) -> dict:
    return measure_ten_million(*blended(X, y, 10_000_000), repeats, with_quality)


def measure_ten_million(points, labels, repeats: int, with_quality: bool) -> dict:
    repeats = min(repeats, 3)
    result = {"neighbors": {"k=15": time_neighbors(points, 15, repeats, sample=64)}}
    result["maps"] = time_maps(points, ("gdr_umap",), labels, repeats, with_quality)
    return result


def hundred_million(X, y, repeats: int, with_quality: bool) -> dict:
    """One map, which is the first of this size, and the most of the GPU's memory that is in use meanwhile."""
    import cupy as cp

    points, labels = blended(X, y, 100_000_000)
    actup.embed(points[:1_000_000], "gdr_umap", backend="cuda")  # compiles the kernels
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    with PeakMemory() as memory:
        made, seconds, _ = timed_on_device(partial(actup.embed, points, "gdr_umap", backend="cuda"), 0)
    row = {"stages": made.seconds, "epochs": made.n_epochs, "peak_bytes": memory.peak, **summary([seconds])}
    pool.free_all_blocks()
    if with_quality:
        row |= map_quality(points, made, labels)
    recall = held_recall(points, made.neighbors.indices, 64)
    neighbors = {"shape": list(points.shape), "recall": recall, "engine": made.neighbors.method}
    neighbors |= {"median": made.seconds["neighbors"]}
    return {"neighbors": {"k=15": neighbors}, "maps": {"gdr_umap": row}}


class PeakMemory:
    """Watches how much of the GPU's memory is in use, whoever uses it, whenever CuPy takes more of it."""

    def __init__(self):
        import cupy as cp

        watch = self

        class Hook(cp.cuda.memory_hook.MemoryHook):
            name = "PeakMemory"

            def alloc_postprocess(self, **_):
                free, total = cp.cuda.Device().mem_info
                watch.peak = max(watch.peak, total - free)

        self.peak = 0
        self._hook = Hook()

    def __enter__(self):
        self._hook.__enter__()
        return self

    def __exit__(self, *exception):
        self._hook.__exit__(*exception)


def three_dimensions(X, y, repeats: int, with_quality: bool) -> dict:
    recipes = {}
    for name in ("umap", "tsne"):
        recipes[name] = preset(name).but(n_components=3)
        recipes[f"{name}, all pairs"] = recipes[name].but(repulsion="exact")
    return {"maps": time_maps(X, recipes, y, repeats, with_quality)}


def first_use(X, y, repeats: int, with_quality: bool) -> dict:
    """Seconds of the first map of a process, with the import of CuPy and the start of the GPU, by preset."""
    result = {}
    for name in PRESETS:
        runs = {"empty": [], "filled": []}
        for _ in range(min(repeats, 3)):
            with TemporaryDirectory() as folder:  # caches of CuPy's kernels and of those in CUDA's libraries
                caches = {
                    "CUPY_CACHE_DIR": str(Path(folder) / "cupy"),
                    "CUDA_CACHE_PATH": str(Path(folder) / "cuda"),
                }
                for state in runs:
                    runs[state].append(first_map(name, {**os.environ, **caches}))
        result[name] = {state: summary([run["seconds"] for run in made]) for state, made in runs.items()}
        result[name]["import"] = summary([run["import"] for made in runs.values() for run in made])
    return result


def first_map(name: str, environment: dict) -> dict:
    """Compute the first map of a new process; return the seconds it reports."""
    command = [sys.executable, "-c", FIRST_MAP, name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


MEASURES = {
    "mnist": mnist,
    "three_dimensions": three_dimensions,
    "million": million,
    "ten_million": ten_million,
    "blended_million": blended_million,
    "blended_ten_million": blended_ten_million,
    "hundred_million": hundred_million,
    "first_use": first_use,
}


def leading_scores(X):
    """The rows' scores along the leading principal components."""
    import cupy as cp

    centered = X - X.mean(axis=0)
    _, axes = np.linalg.eigh((centered.T @ centered).get().astype(np.float64))
    return centered @ cp.asarray(axes[:, ::-1][:, :COLUMNS], cp.float32)


def upsampled(X, y, n: int):
    """n points and labels: rows of X's leading principal components, drawn with replacement, with noise."""
    import cupy as cp

    scores = leading_scores(X)
    random = cp.random.default_rng(0)
    rows = random.integers(0, len(X), n)
    points = scores[rows]
    width = NOISE * scores.std(axis=0)
    for begin in range(0, n, CHUNK):
        chunk = points[begin : begin + CHUNK]
        chunk += width * random.standard_normal(chunk.shape, dtype=cp.float32)
    return points, y[rows.get()]


def blended(X, y, n: int):
    """n points and labels: random convex combinations of three near rows of X's leading principal components.

    They are as ``Blend`` of scale.py draws them, but on the GPU. The label is that of the heaviest row.
    """
    import cupy as cp

    scores = leading_scores(X)
    near = load_backend("cuda").nearest_neighbors(scores, 10, "euclidean", 0).indices
    random = cp.random.default_rng(0)
    points, heaviest = cp.empty((n, COLUMNS), cp.float32), np.empty(n, np.int32)
    for begin in range(0, n, CHUNK):
        chunk = points[begin : begin + CHUNK]
        first = random.integers(0, len(X), len(chunk))
        others = near[first[:, None], random.integers(0, 10, (len(chunk), 2))]
        members = cp.column_stack([first, others])
        weights = random.standard_exponential(members.shape, dtype=cp.float32)  # of a flat Dirichlet
        weights /= weights.sum(axis=1, keepdims=True)
        chunk[...] = BLEND_NOISE * random.standard_normal(chunk.shape, dtype=cp.float32)
        for member in range(3):
            chunk += weights[:, member, None] * scores[members[:, member]]
        heaviest[begin : begin + CHUNK] = cp.take_along_axis(
            members, weights.argmax(axis=1)[:, None], axis=1
        )[:, 0].get()
    return points, y[heaviest]


def timed_on_device(work, repeats: int):
    """Call ``work``; return its last result, the seconds of the first call and those of the others."""
    import cupy as cp

    seconds = []
    for _ in range(repeats + 1):
        result = None
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        result = work()
        cp.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - begin)
    return result, seconds[0], seconds[1:]


def held_recall(X, indices, sample: int) -> float:
    """The recall of some rows' neighbours against all pairs, summed in double precision."""
    import cupy as cp

    k, found = indices.shape[1], 0
    rows = cp.linspace(0, len(X) - 1, sample).astype(cp.int64).get()
    for row in rows:
        nearest = []  # of each chunk: distances and numbers of its k nearest rows
        for begin in range(0, len(X), RECALL_CHUNK):
            distances = cp.square(X[begin : begin + RECALL_CHUNK] - X[row]).sum(axis=1, dtype=cp.float64)
            if begin <= row < begin + RECALL_CHUNK:
                distances[row - begin] = cp.inf
            best = cp.argpartition(distances, k)[:k]
            nearest.append((distances[best], best + begin))
        distances, numbers = map(cp.concatenate, zip(*nearest, strict=True))
        found += int(cp.isin(indices[row], numbers[cp.argsort(distances)[:k]]).sum())
    return found / (sample * k)


def time_neighbors(X, k: int, repeats: int, sample: int = 500) -> dict:
    """Seconds of the search, and its recall."""
    search = load_backend("cuda").nearest_neighbors
    neighbors, first, seconds = timed_on_device(lambda: search(X, k, "euclidean", 0), repeats)
    return {
        "shape": list(X.shape),
        "first_seconds": first,
        "recall": held_recall(X, neighbors.indices, sample),
        "engine": neighbors.method,
        **summary(seconds),
    }


def time_maps(X, recipes, labels, repeats: int, with_quality: bool) -> dict:
    """Seconds in total and by stage; after all maps are timed, the quality of the last map of each recipe.

    ``recipes`` are names of presets, or a dict of recipes by the name of their result.
    """
    rows, maps = {}, {}
    for name in recipes:
        recipe = recipes[name] if isinstance(recipes, dict) else name
        made, first, seconds = timed_on_device(partial(actup.embed, X, recipe, backend="cuda"), repeats)
        rows[name] = {"first_seconds": first, "stages": made.seconds, "epochs": made.n_epochs}
        rows[name] |= summary(seconds)
        maps[name] = made
    if with_quality:
        for name, made in maps.items():
            rows[name] |= map_quality(X, made, labels)
    return rows


def map_quality(X, made, labels) -> dict:
    """Accuracy, V-measure and recall; of many points, a regular sample is measured, without the recall."""
    Y = made.embedding.get() if hasattr(made.embedding, "get") else made.embedding
    step = max(1, len(Y) // QUALITY_POINTS)
    shown, kept = Y[::step], labels[::step]
    row = {
        "knn_accuracy": float(quality.knn_accuracy(shown, kept)),
        "v_measure": float(quality.v_measure(shown, kept, n_init=10)),
    }
    if step == 1:
        host = X.get() if hasattr(X, "get") else X
        row["recall_at_10"] = float(quality.neighbor_recall(host, Y, 10, sample=3000))
        if made.recipe.normalized:
            row["kl_divergence"] = float(made.layout.loss())
    return row


def markdown(results: dict) -> str:
    """The section of the page."""
    lines = [f"{results['gpu']}.", ""]
    lines += ["| neighbours | rows | k | s | recall | first use s |", "|---|---|---|---|---|---|"]
    for part in MEASURES:
        for k, row in results.get(part, {}).get("neighbors", {}).items():
            shape = " x ".join(map(str, row["shape"]))
            first = f"{row['first_seconds']:.2f}" if "first_seconds" in row else ""
            figures = f"{row['median']:.4f} | {row['recall']:.4f} | {first}"
            lines.append(f"| {part} | {shape} | {k[2:]} | {figures} |")
    lines += ["", "| map | s | neighbours, graph, start, layout s | accuracy | V | recall@10 | KL |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for part in MEASURES:
        for name, row in results.get(part, {}).get("maps", {}).items():
            lines.append(_map_row(f"{part} `{name}`", row, row["median"]))
            if "cpu" in row:
                lines.append(_map_row(f"{part} `{name}` on the CPU", row["cpu"], row["cpu"]["seconds"]))
    for row in results.get("hundred_million", {}).get("maps", {}).values():
        lines += [
            "",
            f"The map of a hundred million points took {row['peak_bytes'] / 1e9:.1f} GB at the peak.",
        ]
    if "first_use" in results:
        lines += [
            "",
            "| first map of a process | no kernel compiled s | kernels on disk s | imports before s |",
        ]
        lines += ["|---|---|---|---|"]
        for name, row in results["first_use"].items():
            seconds = " | ".join(f"{row[state]['median']:.2f}" for state in ("empty", "filled", "import"))
            lines.append(f"| `{name}` | {seconds} |")
    return "\n".join(lines)


def _map_row(name: str, row: dict, seconds: float) -> str:
    stages = " ".join(f"{value:.3f}" for value in row.get("stages", {}).values())
    figures = [
        f"{scale * row[key]:.{digits}f}" if key in row else ""
        for key, scale, digits in (
            ("knn_accuracy", 100, 2),
            ("v_measure", 100, 1),
            ("recall_at_10", 1, 4),
            ("kl_divergence", 1, 3),
        )
    ]
    return f"| {name} | {seconds:.3f} | {stages} | {' | '.join(figures)} |"


if __name__ == "__main__":
    main()
