"""The neighbour search compared with pynndescent and faiss, on several data sets and processor levels.

    python benchmarks/neighbors.py [--parts searches levels scale umap] [--repeats 3]

Prints each result as it is measured, and the section of docs/benchmarks.md at the end. Results are saved in
benchmarks/results/neighbors.json; parts that were not run keep their earlier results. Data sets are those of
actup.datasets, and ``noise``: 100,000 rows of 30 independent normal columns.

    searches   seconds and recall of ActUp, pynndescent (after compilation) and faiss's HNSW, in one process
    levels     the same search with the engines for older processors, each in a fresh process
    scale      100 thousand to a million rows: MNIST's 50 leading principal components with noise
    umap       UMAP of MNIST with the import, compared with umap-learn; both in fresh processes
"""

from __future__ import annotations

import argparse
import json
import math
from functools import partial

import numpy as np
from neighbor_peers import THREADS, faiss_hnsw, fresh_umap, in_level, installed, warm_pynndescent
from neighbor_section import markdown
from report import RESULTS, save, summary, timed
from sklearn.metrics import pairwise_distances_chunked

from actup import quality
from actup.datasets import load
from actup.neighbors import nearest_neighbors
from actup.neighbors._calibration import shares_found

METRIC = {"glove_50k_100d": "cosine"}
SAMPLED_ROWS = 500
PACKAGES = ["actup", "pynndescent", "faiss-cpu", "umap-learn", "numpy", "scipy"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    arguments.add_argument(
        "--sets", nargs="+", default=["mnist", "fashion_mnist", "usps", "coil100_32", "noise"]
    )
    arguments.add_argument("--neighbors", nargs="+", type=int, default=[15, 90])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--points", type=int, default=None, help="use only this many rows")
    arguments.add_argument("--scale-points", nargs="+", type=int, default=[100_000, 300_000, 1_000_000])
    options = arguments.parse_args()
    path = RESULTS / "neighbors.json"
    results = json.loads(path.read_text())["results"] if path.exists() else {}
    for name in options.parts:
        results[name] = PARTS[name](options)
        print("saved", save("neighbors", results, PACKAGES), flush=True)
    print(markdown(results))


def searches(options) -> list[dict]:
    """Every data set, number of neighbours and search; only ActUp reads dtypes other than float32."""
    contestants = {"actup": partial(nearest_neighbors, n_jobs=THREADS)}
    if installed("pynndescent"):
        contestants["pynndescent"] = warm_pynndescent()
    if installed("faiss"):
        contestants["faiss HNSW"] = faiss_hnsw
    rows = []
    for name in options.sets:
        for dtype, X in dtypes_of(name, options.points):
            for k in options.neighbors:
                metric = METRIC.get(name, "euclidean")
                sample, true = true_neighbors(X, k, metric)
                for contestant, search in contestants.items():
                    if contestant != "actup" and dtype != "float32":
                        continue
                    if contestant == "faiss HNSW" and k > 15:
                        continue
                    row = {"data": name, "shape": X.shape, "dtype": dtype, "k": k, "engine": contestant}
                    row |= measured(partial(search, X, k, metric=metric), options.repeats, sample, true)
                    rows.append(row)
    return rows


def levels(options) -> list[dict]:
    """MNIST in float32, k = 15, with the engine of each level that this processor supports."""
    _, X = list(dtypes_of("mnist", options.points))[-1]
    sample, true = true_neighbors(X, 15, "euclidean")
    rows = []
    for level in ("v4", "v3", "v2", "plain"):
        found = in_level(level, X, 15, options.repeats)
        if found is None:
            print(f"level {level} is not built, or this processor does not support it")
            continue
        distances, seconds = found
        row = {"level": level, **summary(seconds), "recall": recall(distances, sample, true)}
        rows.append(row)
        print(f"level {level}: {row['min']:.2f} s, recall {row['recall']:.4f}", flush=True)
    return rows


def scale(options) -> dict:
    """How ActUp's time grows with the number of rows, and pynndescent at the largest number."""
    rows = []
    for n in options.scale_points:
        X = upsampled(n)
        sample, true = true_neighbors(X, 15, "euclidean")
        row = {"data": "upsampled", "shape": X.shape, "dtype": "float32", "k": 15, "engine": "actup"}
        rows.append(
            row | measured(partial(nearest_neighbors, X, 15, n_jobs=THREADS), options.repeats, sample, true)
        )
    first, last = rows[0], rows[-1]
    lower_recall = {**row, "engine": "actup, recall=0.95"}
    rows.append(
        lower_recall
        | measured(
            partial(nearest_neighbors, X, 15, recall=0.95, n_jobs=THREADS), options.repeats, sample, true
        )
    )
    if installed("pynndescent"):
        search = warm_pynndescent()
        row = {**row, "engine": "pynndescent"}
        rows.append(row | measured(partial(search, X, 15, metric="euclidean"), options.repeats, sample, true))
    exponent = math.log(last["min"] / first["min"]) / math.log(last["shape"][0] / first["shape"][0])
    print(f"exponent {exponent:.2f}", flush=True)
    return {"rows": rows, "exponent": exponent}


def umap(options) -> dict:
    """UMAP of MNIST in fresh processes: import and first fit, then a second fit."""
    mnist = load("mnist")
    X, y = np.ascontiguousarray(mnist.X[: options.points], np.float32), mnist.y[: options.points]
    packages = ("actup", *(["umap"] if installed("umap") else []))
    runs = {package: [] for package in packages}
    for _ in range(options.repeats):  # alternating, so that a slow phase of the machine affects both
        for package in packages:
            runs[package].append(fresh_umap(package, X))
    rows = {}
    for package, done in runs.items():
        Y = done[-1]["embedding"]
        rows[package] = {
            "cold": min(run["cold"] for run in done),
            "warm": min(run["warm"] for run in done),
            "knn_accuracy": quality.knn_accuracy(Y, y),
            "v_measure": quality.v_measure(Y, y, n_init=10),
            "recall_at_10": quality.neighbor_recall(X, Y, 10, sample=3000),
            "trustworthiness": quality.trustworthiness(X, Y, 15),
        }
        print(package, {name: round(value, 4) for name, value in rows[package].items()}, flush=True)
    return rows


PARTS = {"searches": searches, "levels": levels, "scale": scale, "umap": umap}


def dtypes_of(name: str, points: int | None):
    """Yield a data set in its stored dtype, if that is not float32, and as float32."""
    if name == "noise":
        X = np.random.default_rng(0).normal(size=(100_000, 30)).astype(np.float32)
    else:
        X = load(name).X
    X = np.ascontiguousarray(X[:points])
    if X.dtype != np.float32:
        yield X.dtype.name, X
    yield "float32", X.astype(np.float32, copy=False)


def upsampled(n: int) -> np.ndarray:
    """n rows of MNIST's 50 leading principal components, drawn with replacement, with noise."""
    from sklearn.decomposition import PCA

    base = PCA(50, random_state=0).fit_transform(load("mnist").X.astype(np.float32)).astype(np.float32)
    rng = np.random.default_rng(0)
    X = base[rng.integers(len(base), size=n)]
    X += 0.3 * base.std(axis=0) * rng.standard_normal(X.shape, np.float32)
    return X


def measured(work, repeats: int, sample: np.ndarray, true: np.ndarray) -> dict:
    """Seconds and recall of a search."""
    found, seconds = timed(work, repeats)
    row = {**summary(seconds), "recall": recall(found.distances, sample, true)}
    print(f"{row['min']:8.2f} s  recall {row['recall']:.4f}", flush=True)
    return row


def true_neighbors(X: np.ndarray, k: int, metric: str):
    """A sample of rows, and the true distances to their k nearest other rows."""
    rows = np.linspace(0, len(X) - 1, SAMPLED_ROWS).astype(int)
    blocks = pairwise_distances_chunked(X[rows].astype(np.float64), X.astype(np.float64), metric=metric)
    nearest = [np.sort(np.partition(block, k, axis=1)[:, : k + 1], axis=1) for block in blocks]
    return rows, np.concatenate(nearest)[:, 1:]  # the row itself comes first


def recall(distances: np.ndarray, rows: np.ndarray, true: np.ndarray) -> float:
    """The mean share of true neighbours among those found."""
    return float(shares_found(distances[rows], true).mean())


if __name__ == "__main__":
    main()
