"""Maps under output metrics, compared with umap-learn: seconds and trustworthiness.

    python benchmarks/output_metrics.py [--data digits] [--metrics haversine hyperboloid ...] [--neighbors 10]
                                        [--only actup ...]

Trustworthiness is measured with the distances of the output metric on the map. Each result is saved in
benchmarks/results/output_metrics.json as soon as it is measured.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import numpy as np
from report import save, saved, timed

import actup
from actup.backends._metric_layout import output_distances
from actup.datasets import load
from actup.recipe._output_metrics import OUTPUT_METRICS

PACKAGES = ["actup", "umap-learn", "numpy"]


def actup_map(X, recipe):
    return actup.embed(X, recipe, seed=0).embedding


def umap_learn_map(X, recipe):
    import umap

    parameters = {"n_components": recipe.n_components, "output_metric": recipe.output_metric}
    return umap.UMAP(**parameters, random_state=0, n_jobs=1).fit_transform(X)


CONTESTANTS = {"actup": ("actup", actup_map), "umap-learn": ("umap", umap_learn_map)}


def main() -> None:
    metrics = [name for name in OUTPUT_METRICS if name != "euclidean"]
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", default="digits")
    arguments.add_argument("--metrics", nargs="+", choices=metrics, default=metrics)
    arguments.add_argument("--neighbors", type=int, default=10)
    arguments.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    options = arguments.parse_args()
    X = np.ascontiguousarray(load(options.data).X, np.float32)
    ranks = ranks_of(X)
    results = saved("output_metrics")
    for metric in options.metrics:
        record = OUTPUT_METRICS[metric]
        dimensions = record.dimensions or max(2, record.least_dimensions)
        recipe = actup.preset("paper_umap").but(output_metric=metric, n_components=dimensions)
        for name in options.only:
            package, make = CONTESTANTS[name]
            if find_spec(package) is None:
                print(f"skipped {name}: {package} is not installed")
                continue
            try:
                Y, seconds = timed(lambda make=make, recipe=recipe: make(X, recipe))
            except ZeroDivisionError as error:
                row = {"error": str(error)}
            else:
                trust = trustworthiness(ranks, output_distances(Y, Y, recipe), options.neighbors)
                row = {"seconds": seconds[0], "trustworthiness": trust}
            results.setdefault(f"{options.data} {metric}", {})[name] = row
            print(metric, name, row, flush=True)
            save("output_metrics", results, PACKAGES)


def ranks_of(X: np.ndarray) -> np.ndarray:
    """The rank of every row among the neighbours of every other one, from 1."""
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * X @ X.T
    np.fill_diagonal(distances, np.inf)
    return distances.argsort(axis=1).argsort(axis=1) + 1


def trustworthiness(ranks: np.ndarray, distances: np.ndarray, k: int) -> float:
    """1 minus the share of neighbours on the map that are none in the data, weighted by their rank."""
    n = len(ranks)
    np.fill_diagonal(distances, np.inf)
    near = np.take_along_axis(ranks, distances.argsort(axis=1)[:, :k], 1)
    return float(1 - 2 / (n * k * (2 * n - 3 * k - 1)) * np.maximum(near - k, 0).sum())


if __name__ == "__main__":
    main()
