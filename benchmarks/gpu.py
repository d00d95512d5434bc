"""Every stage on one GPU: MNIST, and a million and ten million points made from it.

    python benchmarks/gpu.py [--only mnist million ten_million first_use] [--repeats 5]

The input is on the GPU; times are medians after a warm-up run, which compiles the kernels. Quality is
measured on the CPU, and compared with maps of the CPU backend. ``first_use`` measures the first map of a
process, from a NumPy array: once with no kernel compiled before, once with all kernels on disk. Results are
saved in benchmarks/results/gpu.json; parts that were not run keep their earlier results.
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
from actup import quality
from actup.backends import load_backend
from actup.datasets import load

PARTS = ("mnist", "million", "ten_million", "first_use")
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
COLUMNS = 50
QUALITY_POINTS = 100_000  # quality is measured on at most this many points


def main() -> None:
    import cupy as cp

    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
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
    points, labels = upsampled(X, y, 10_000_000)
    repeats = min(repeats, 3)
    result = {"neighbors": {"k=15": time_neighbors(points, 15, repeats, sample=64)}}
    result["maps"] = time_maps(points, ("gdr_umap",), labels, repeats, with_quality)
    return result


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


MEASURES = {"mnist": mnist, "million": million, "ten_million": ten_million, "first_use": first_use}


def upsampled(X, y, n: int):
    """n points and labels: rows of X's leading principal components, drawn with replacement, with noise."""
    import cupy as cp

    centered = X - X.mean(axis=0)
    _, axes = np.linalg.eigh((centered.T @ centered).get().astype(np.float64))
    scores = centered @ cp.asarray(axes[:, ::-1][:, :COLUMNS], cp.float32)
    random = cp.random.default_rng(0)
    rows = random.integers(0, len(X), n)
    points = scores[rows]
    width = NOISE * scores.std(axis=0)
    for begin in range(0, n, 1_000_000):
        chunk = points[begin : begin + 1_000_000]
        chunk += width * random.standard_normal(chunk.shape, dtype=cp.float32)
    return points, y[rows.get()]


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


def time_neighbors(X, k: int, repeats: int, sample: int = 500) -> dict:
    """Seconds of the search, and its recall on some rows against all pairs in double precision."""
    import cupy as cp

    search = load_backend("cuda").nearest_neighbors
    neighbors, first, seconds = timed_on_device(lambda: search(X, k, "euclidean", 0), repeats)
    rows = cp.linspace(0, len(X) - 1, sample).astype(cp.int64)
    found = true_neighbors = 0
    for row in rows.get():
        distances = cp.square(X - X[row]).sum(axis=1, dtype=cp.float64)
        distances[row] = cp.inf
        nearest = cp.argpartition(distances, k)[:k]
        found += int(cp.isin(neighbors.indices[row], nearest).sum())
        true_neighbors += k
    return {
        "shape": list(X.shape),
        "first_seconds": first,
        "recall": found / true_neighbors,
        "engine": neighbors.method,
        **summary(seconds),
    }


def time_maps(X, names, labels, repeats: int, with_quality: bool) -> dict:
    """Seconds in total and by stage; after all maps are timed, the quality of the last map of each preset."""
    rows, maps = {}, {}
    for name in names:
        made, first, seconds = timed_on_device(partial(actup.embed, X, name, backend="cuda"), repeats)
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
    lines += ["| neighbours | k | s | recall | first use s |", "|---|---|---|---|---|"]
    for part in PARTS:
        for k, row in results.get(part, {}).get("neighbors", {}).items():
            shape = " x ".join(map(str, row["shape"]))
            figures = f"{row['median']:.4f} | {row['recall']:.4f} | {row['first_seconds']:.2f}"
            lines.append(f"| {shape} | {k[2:]} | {figures} |")
    lines += ["", "| map | s | neighbours, graph, start, layout s | accuracy | V | recall@10 | KL |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for part in PARTS:
        for name, row in results.get(part, {}).get("maps", {}).items():
            lines.append(_map_row(f"{part} `{name}`", row, row["median"]))
            if "cpu" in row:
                lines.append(_map_row(f"{part} `{name}` on the CPU", row["cpu"], row["cpu"]["seconds"]))
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
