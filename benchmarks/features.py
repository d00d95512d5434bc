"""UMAP's features beside umap-learn's, in one run: labels, densMAP, aligned maps, added rows.

    python benchmarks/features.py [--data mnist] [--points 10000] [--seeds 0 1 2 3 4]
                                  [--only labels densmap aligned added] [--libraries actup umap-learn]

Each feature is measured by seconds and by what it is for: the accuracy of held-out rows on a supervised map,
the correlation of log radii of densMAP, how far related points move between slices, how far old points move
when rows are added. umap-learn's first call compiles; a small run before each measurement takes that out.
Every seed is a run. benchmarks/results/features.json has all runs, as soon as they are measured, with the
mean and the standard error of each measure. The table that is printed in the end compares the two libraries.
"""

from __future__ import annotations

import argparse
import math
import statistics
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from report import save, saved, timed
from sklearn.neighbors import KNeighborsClassifier

import actup
from actup.datasets import load
from actup.quality import trustworthiness

LIBRARIES = ["actup", "umap-learn"]
PACKAGES = ["actup", "umap-learn", "numpy", "scikit-learn"]
SLICES = 5  # of the aligned maps; neighbouring ones share three quarters of their rows


def module(name):
    """The module with UMAP and AlignedUMAP of a library."""
    if name == "actup":
        return actup
    import umap

    return umap


def accuracy(Y, y, new, y_new) -> float:
    return float(KNeighborsClassifier(5).fit(Y, y).score(new, y_new))


def log_radii(X) -> np.ndarray:
    """The logarithm of each row's mean squared distance to its 15 nearest neighbours."""
    distances = actup.nearest_neighbors(np.ascontiguousarray(X, np.float32), 15).distances
    return np.log(1e-8 + (distances.astype(np.float64) ** 2).mean(axis=1))


def labels(library, X, y, seed) -> dict:
    """A supervised map of three quarters of the rows; the others are placed on it."""
    half = len(X) * 3 // 4
    model, fit_seconds = timed(lambda: library.UMAP(random_state=seed).fit(X[:half], y[:half]))
    new, transform_seconds = timed(lambda: model.transform(X[half:]))
    return {
        "fit_seconds": fit_seconds[0],
        "transform_seconds": transform_seconds[0],
        "training_accuracy": accuracy(model.embedding_, y[:half], model.embedding_, y[:half]),
        "held_out_accuracy": accuracy(model.embedding_, y[:half], new, y[half:]),
    }


def densmap(library, X, y, seed) -> dict:
    """How well local radii of the map follow those of the data, by one formula for both libraries."""
    Y, seconds = timed(lambda: library.UMAP(densmap=True, random_state=seed).fit_transform(X))
    half = len(X) // 2
    return {
        "seconds": seconds[0],
        "radius_correlation": float(np.corrcoef(log_radii(X), log_radii(Y))[0, 1]),
        "accuracy": accuracy(Y[:half], y[:half], Y[half:], y[half:]),
        "trustworthiness": float(trustworthiness(X[:2000], Y[:2000])),
    }


def aligned(library, X, y, seed) -> dict:
    """Slices that overlap by three quarters; the movement of a point between neighbouring slices."""
    size = len(X) // 2
    step = size // 4
    begins = [i * step for i in range(SLICES)]
    slices = [X[begin : begin + size] for begin in begins]
    relations = [{step + i: i for i in range(size - step)}] * (SLICES - 1)
    model = library.AlignedUMAP(random_state=seed)
    maps, seconds = timed(lambda: model.fit_transform(slices, relations=relations))
    maps = [np.asarray(Y) for Y in maps]
    moved = [np.sqrt(((a[step:] - b[:-step]) ** 2).sum(axis=1)).mean() for a, b in pairwise(maps)]
    radius = np.mean([np.sqrt(Y.var(axis=0).sum()) for Y in maps])
    return {
        "seconds": seconds[0],
        "movement_over_radius": float(np.mean(moved) / radius),
        "accuracy": float(np.mean([accuracy(Y[::2], y[b : b + size][::2], Y[1::2], y[b : b + size][1::2])
                                   for Y, b in zip(maps, begins, strict=True)])),
        "trustworthiness": float(np.mean([trustworthiness(X[b : b + size][:2000], Y[:2000])
                                          for Y, b in zip(maps, begins, strict=True)])),
    }  # fmt: skip


def added(library, X, y, seed) -> dict:
    """A fifth of the rows is added to a map of the others."""
    count = len(X) * 4 // 5
    model = library.UMAP(random_state=seed).fit(X[:count])
    before = model.embedding_.copy()
    _, seconds = timed(lambda: model.update(X[count:]))
    Y = model.embedding_
    radius = np.sqrt(before.var(axis=0).sum())
    moved = np.sqrt(((Y[:count] - before) ** 2).sum(axis=1))
    return {
        "seconds": seconds[0],
        "movement_over_radius": float(moved.mean() / radius),
        "largest_movement_over_radius": float(moved.max() / radius),
        "accuracy_of_added_rows": accuracy(Y[:count], y[:count], Y[count:], y[count:]),
    }


FEATURES = {"labels": labels, "densmap": densmap, "aligned": aligned, "added": added}


# Measures of which less is better; of the others more is better.
LESS_IS_BETTER = ("seconds", "movement_over_radius")


def summary(runs: dict[str, dict]) -> dict:
    """The runs of all seeds, with the mean and the standard error of each measure."""
    measures = next(iter(runs.values()))
    values = {name: [run[name] for run in runs.values()] for name in measures}
    error = {
        name: statistics.stdev(numbers) / math.sqrt(len(numbers))
        for name, numbers in values.items()
        if len(numbers) > 1
    }
    return {
        "runs": runs,
        "mean": {name: statistics.mean(numbers) for name, numbers in values.items()},
        "standard_error": error,
    }


def print_comparison(feature: str, libraries: dict[str, dict]) -> None:
    """One line per measure: means, standard errors, and by how much ActUp is better."""
    if set(libraries) != set(LIBRARIES):
        return
    ours, theirs = (libraries[name] for name in LIBRARIES)
    for name in ours["mean"]:
        means = [row["mean"][name] for row in (ours, theirs)]
        errors = [row["standard_error"].get(name, math.nan) for row in (ours, theirs)]
        better = (means[0] - means[1]) * (-1 if name.endswith(LESS_IS_BETTER) else 1)
        difference = math.hypot(*errors)
        values = [f"{mean:8.4f} ± {error:.4f}" for mean, error in zip(means, errors, strict=True)]
        in_errors = f" ({better / difference:+.1f} standard errors)" if difference > 0 else ""
        print(
            f"{feature:8} {name:29} {values[0]}  umap-learn {values[1]}  better by {better:+.4f}{in_errors}"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", default="mnist")
    arguments.add_argument("--points", type=int, default=10_000)
    arguments.add_argument("--only", nargs="+", choices=FEATURES, default=list(FEATURES))
    arguments.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = arguments.parse_args()
    data = load(options.data)
    order = np.random.default_rng(0).permutation(len(data.X))[: options.points]
    X, y = np.ascontiguousarray(data.X[order], np.float32), np.asarray(data.y)[order]
    results = saved("features")
    of_data = results.setdefault(f"{options.data} {len(X)}", {})
    for feature in options.only:
        rows = of_data.setdefault(feature, {})
        for name in options.libraries:
            if name == "umap-learn" and find_spec("umap") is None:
                print("skipped umap-learn: it is not installed")
                continue
            FEATURES[feature](module(name), X[:600], y[:600], 0)  # compiles what umap-learn needs
            runs: dict[str, dict] = {}
            for seed in options.seeds:
                runs[str(seed)] = FEATURES[feature](module(name), X, y, seed)
                print(feature, name, seed, runs[str(seed)], flush=True)
                rows[name] = summary(runs)
                save("features", results, PACKAGES)
    for feature in options.only:
        print_comparison(feature, of_data[feature])


if __name__ == "__main__":
    main()
