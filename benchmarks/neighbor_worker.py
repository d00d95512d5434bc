"""One search in a fresh process: ``python neighbor_worker.py NAME X.npy IDS.npy RUNS [SECONDS]``.

No run is begun after SECONDS of runs, without the first one, which may compile. Prints one JSON line: seconds
of every run, versions, and the recall on 300 rows against all pairs. This file imports ActUp only to run it,
so pynndescent can be installed in another environment.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from contestants import versions_of

K = 15
HELD_ROWS = 300
MAX_SECONDS = 60.0  # unless another number is given


def actup_search(X):
    import actup

    return actup.nearest_neighbors(X, K).indices


def pynndescent_search(X):
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=K + 1, random_state=0).neighbor_graph[0][:, 1:]


SEARCHES = {"actup": (["actup"], actup_search), "pynndescent": (["pynndescent", "numba"], pynndescent_search)}


def held_recall(X: np.ndarray, found: np.ndarray) -> float:
    """The share of found neighbours of some rows that are as near as the true ones."""
    rows = np.random.default_rng(99).choice(len(X), min(HELD_ROWS, len(X)), replace=False)
    hits = 0
    for row in rows:
        distances = np.square(X - X[row], dtype=np.float64).sum(axis=1)
        distances[row] = np.inf
        reach = np.partition(distances, K - 1)[K - 1] * (1 + 2e-5) + 1e-12
        hits += int((distances[found[row]] <= reach).sum())
    return hits / (len(rows) * K)


def main() -> None:
    name, source, target, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    max_seconds = float(sys.argv[5]) if len(sys.argv) > 5 else MAX_SECONDS
    packages, search = SEARCHES[name]
    X = np.load(source)
    seconds: list[float] = []
    while len(seconds) < runs and sum(seconds[1:]) < max_seconds:
        begin = time.perf_counter()
        found = search(X)
        seconds.append(time.perf_counter() - begin)
    np.save(target, found)
    print(
        json.dumps({"seconds": seconds, "versions": versions_of(packages), "recall": held_recall(X, found)})
    )


if __name__ == "__main__":
    main()
