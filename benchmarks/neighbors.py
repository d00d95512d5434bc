"""The neighbour search against pynndescent's: same data, same process, compilation excluded.

    python benchmarks/neighbors.py [--sets mnist,fashion_mnist,...] [--repeats 3]

Prints seconds, CPU-seconds and recall of both, and saves them under benchmarks/results/neighbors.json. Data
sets are those of actup.datasets, and ``noise``: 100,000 rows of 30 independent normal columns.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from report import save
from sklearn.metrics import pairwise_distances_chunked

from actup.datasets import load
from actup.neighbors import nearest_neighbors

METRIC = {"glove_50k_100d": "cosine"}
SAMPLED_ROWS = 500


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sets", default="mnist,fashion_mnist,noise", help="names, separated by commas")
    arguments.add_argument("--neighbors", default="15,90", help="numbers of neighbours, separated by commas")
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    searches = {"actup": nearest_neighbors}
    try:
        searches["pynndescent"] = warm_pynndescent()
    except ImportError:
        print("pynndescent is not installed (pip install actup[bench]): no comparison")
    results = []
    for name in options.sets.split(","):
        for dtype, X in forms(name):
            metric = METRIC.get(name, "euclidean")
            for k in map(int, options.neighbors.split(",")):
                rows, radii = true_radii(X, k, metric)
                for engine, search in searches.items():
                    if engine == "pynndescent" and dtype != "float32":
                        continue
                    row = {"data": name, "shape": X.shape, "dtype": dtype, "k": k, "engine": engine}
                    row |= race(lambda: search(X, k, metric=metric), options.repeats)  # noqa: B023
                    row["recall"] = float(np.mean(row.pop("distances")[rows] <= radii * (1 + 1e-4) + 1e-6))
                    results.append(row)
                    print(
                        f"{name:18} {dtype:8} k={k:<3} {engine:12} {row['seconds']:7.2f} s "
                        f"{row['cpu_seconds']:7.2f} CPU-s  recall {row['recall']:.4f}",
                        flush=True,
                    )
    print("saved", save("neighbors", {"searches": results}, ["actup", "pynndescent", "numpy"]))


def forms(name: str):
    """A data set as it is stored, and as float32."""
    if name == "noise":
        X = np.random.default_rng(0).normal(size=(100_000, 30)).astype(np.float32)
    else:
        X = np.ascontiguousarray(load(name).X)
    if X.dtype != np.float32:
        yield X.dtype.name, X
    yield "float32", X.astype(np.float32, copy=False)


def warm_pynndescent():
    """pynndescent's search as a function, compiled already."""
    from pynndescent import NNDescent

    def search(X, k, metric):
        graph = NNDescent(X, metric=metric, n_neighbors=k + 1).neighbor_graph  # it counts the point itself
        return type("Lists", (), {"indices": graph[0][:, 1:], "distances": graph[1][:, 1:]})

    warm_up = np.random.default_rng(0).normal(size=(5_000, 40)).astype(np.float32)
    for metric in ("euclidean", "cosine"):
        search(warm_up, 15, metric)
    return search


def race(work, repeats: int) -> dict:
    """The fastest of some runs."""
    runs = []
    for _ in range(repeats):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        found = work()
        runs.append((time.perf_counter() - begin, time.process_time() - cpu_begin))
    seconds, cpu_seconds = (min(run) for run in zip(*runs, strict=True))
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "distances": found.distances}


def true_radii(X: np.ndarray, k: int, metric: str):
    """Some rows, and how far their k-th nearest other row is."""
    rows = np.linspace(0, len(X) - 1, SAMPLED_ROWS).astype(int)
    blocks = pairwise_distances_chunked(X[rows].astype(np.float64), X.astype(np.float64), metric=metric)
    radii = np.concatenate([np.partition(block, k, axis=1)[:, k] for block in blocks])  # itself is first
    return rows, radii[:, None]


if __name__ == "__main__":
    main()
