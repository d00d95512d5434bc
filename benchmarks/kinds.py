"""Neighbours of many kinds of rows, beside rows of the same size made from MNIST: no kind may be far slower.

    python benchmarks/kinds.py [--backend cpu cuda] [--kinds tight_groups noise_30 ...] [--rows 200000]

For every kind of rows: seconds and recall of ActUp on each backend, of pynndescent (CPU, after compilation)
if it is installed, and of ActUp on rows of MNIST with as many rows and columns. Recall is measured on 300
rows that no search has used, against all pairs in double precision. Results are saved in
benchmarks/results/kinds.json; kinds that were not run keep their earlier results.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from neighbor_worker import K, held_recall
from report import save, saved
from scale import Blend

PACKAGES = ["actup", "pynndescent", "cupy-cuda12x", "cupy-cuda13x", "numpy", "scipy"]
_random = np.random.default_rng(0)


# --- kinds of rows ---


def one_hot(sizes: tuple[int, ...], rows: int, shares: np.ndarray | None = None) -> np.ndarray:
    return np.concatenate([np.eye(size)[_random.choice(size, rows, p=shares)] for size in sizes], axis=1)


def table(rows: int) -> np.ndarray:
    """Standardised numbers and categories, some of which are as rare as five rows in a million."""
    shares = np.geomspace(1, 5e-6, 40)
    numbers = (
        _random.normal(size=(rows, 10)) + 2 * _random.normal(size=(20, 10))[_random.integers(20, size=rows)]
    )
    X = np.concatenate([numbers, one_hot((4,), rows), one_hot((40,), rows, shares / shares.sum())], axis=1)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)


def tight_groups(rows: int, columns: int = 40, groups: int = 500, width: float = 1e3) -> np.ndarray:
    """Groups whose distances are ``width`` times those within."""
    centers = width * _random.normal(size=(groups, columns))
    return centers[_random.integers(groups, size=rows)] + _random.normal(size=(rows, columns))


def geographic(rows: int) -> np.ndarray:
    """Places in and around towns, in degrees."""
    towns = np.array([10.0, 50.0]) + 8 * _random.normal(size=(300, 2))
    return towns[_random.integers(300, size=rows)] + 0.05 * _random.standard_t(2, size=(rows, 2))


def words(rows: int) -> np.ndarray:
    from actup.datasets import load

    X = load("word_vectors").X.astype(np.float32)
    return (
        X
        if rows <= len(X)
        else X[_random.integers(len(X), size=rows)] + 0.05 * _random.normal(size=(rows, X.shape[1]))
    )


KINDS: dict[str, Callable[[int], np.ndarray]] = {
    "table": table,
    "counts": lambda n: _random.poisson(
        _random.gamma(0.3, 3, size=(n, 50)) * _random.gamma(1, 1, size=(n, 1))
    ),
    "one_hot": lambda n: one_hot((3, 5, 8, 12, 20), n),
    "tight_groups": tight_groups,
    "tight_groups_100": lambda n: tight_groups(n, 100),
    "few_tight_groups": lambda n: tight_groups(n, 20, 60, 100),
    "duplicates": lambda n: _random.normal(size=(n // 20, 30))[_random.integers(n // 20, size=n)],
    "words_cosine": words,
    "noise_30": lambda n: _random.normal(size=(n, 30)),
    "noise_500": lambda n: _random.normal(size=(n // 4, 500)),
    "huge_column": lambda n: np.concatenate(
        [1e6 * _random.random((n, 1)), _random.normal(size=(n, 30))], axis=1
    ),
    "pixels_3072": lambda n: mnist_like(n // 8, 3072),
    "geographic": geographic,
    "quantised": lambda n: np.round(2 * _random.normal(size=(n, 12))),
    "student_t": lambda n: _random.standard_t(3, size=(n, 30)),
    "outliers": lambda n: _random.normal(size=(n, 30)) * np.where(_random.random((n, 1)) < 1e-3, 1e3, 1.0),
}


def mnist_like(rows: int, columns: int, blend: Blend | None = None) -> np.ndarray:
    """Rows made from MNIST: 50 components, fewer of them, or pixels of several digits side by side."""
    if columns <= 50:
        return (blend or Blend()).draw(rows, 0)[0][:, :columns]
    from actup.datasets import load

    pixels = load("mnist").X.astype(np.float32)
    side_by_side = [pixels[_random.integers(len(pixels), size=rows)] for _ in range(-(-columns // 784))]
    X = np.concatenate(side_by_side, axis=1)[:, :columns]
    return X + 5 * _random.normal(size=X.shape).astype(np.float32)


# --- searches ---


def search_on_cpu(X: np.ndarray, metric: str) -> Callable[[], np.ndarray]:
    import actup

    return lambda: actup.nearest_neighbors(X, K, metric=metric).indices


def search_on_gpu(X: np.ndarray, metric: str) -> Callable[[], np.ndarray]:
    import cupy as cp

    from actup.backends import load_backend

    rows = cp.asarray(X)
    backend = load_backend("cuda")

    def search() -> np.ndarray:
        found = backend.nearest_neighbors(rows, K, metric, 0).indices
        backend.synchronize()
        return found

    return search


def search_by_pynndescent(X: np.ndarray, metric: str) -> Callable[[], np.ndarray]:
    from pynndescent import NNDescent

    return lambda: NNDescent(X, metric=metric, n_neighbors=K + 1, random_state=0).neighbor_graph[0][:, 1:]


SEARCHES = {"cpu": search_on_cpu, "cuda": search_on_gpu, "pynndescent": search_by_pynndescent}


def measure(name: str, X: np.ndarray, metric: str, repeats: int, on_gpu: bool) -> dict[str, float]:
    """Median seconds of a search after a first one, and its recall, which a GPU computes if there is one."""
    search = SEARCHES[name](X, metric)
    search()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = search()
        seconds.append(time.perf_counter() - begin)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    if on_gpu:
        import cupy as cp

        rows, found = cp.asarray(rows), cp.asarray(found)
    return {"seconds": float(np.median(seconds)), "recall": held_recall(rows, found)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--backend", nargs="+", choices=list(SEARCHES), default=["cpu", "pynndescent"])
    arguments.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    arguments.add_argument("--rows", type=int, default=200_000)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    results, blend = saved("kinds"), Blend()
    on_gpu = "cuda" in options.backend
    for kind in options.kinds:
        X = np.ascontiguousarray(KINDS[kind](options.rows), np.float32)
        metric = "cosine" if kind == "words_cosine" else "euclidean"
        row = results.setdefault(kind, {}) | {"rows": len(X), "columns": X.shape[1]}
        plain = np.ascontiguousarray(mnist_like(*X.shape, blend), np.float32)
        for name in options.backend:
            row[name] = measure(name, X, metric, options.repeats, on_gpu)
            if name != "pynndescent":
                plain_row = measure(name, plain, "euclidean", options.repeats, on_gpu)
                row[name]["mnist_like_seconds"] = plain_row["seconds"]
        results[kind] = row
        print(line(kind, row), flush=True)
        save("kinds", results, PACKAGES)


def line(kind: str, row: dict) -> str:
    """One row of the table: seconds (times those of rows like MNIST's), recall."""
    parts = [f"{kind} {row['rows']:,} x {row['columns']}"]
    for name in SEARCHES:
        if name in row:
            figures = row[name]
            ratio = (
                figures["seconds"] / figures["mnist_like_seconds"]
                if "mnist_like_seconds" in figures
                else None
            )
            beside = "" if ratio is None else f" ({ratio:.1f} x MNIST-like)"
            parts.append(f"{name} {figures['seconds']:.4f} s{beside} recall {figures['recall']:.3f}")
    return " | ".join(parts)


if __name__ == "__main__":
    main()
