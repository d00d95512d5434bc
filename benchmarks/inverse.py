"""Rows for places of a finished map, compared with umap-learn: seconds and error against the true rows.

    python benchmarks/inverse.py [--data mnist fashion_mnist] [--points 10000] [--places 300] [--dimensions 2]
                                 [--metric euclidean] [--only actup ...]

A map of the first rows is made, and held-out rows are placed on it. ``inverse_transform`` then gives rows for
these places, and for the places of training rows; both are compared with the rows that lie there. Each result
is saved in benchmarks/results/inverse.json as soon as it is measured.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import numpy as np
from report import save, saved, timed

import actup
from actup._threads import count_threads
from actup.datasets import load
from actup.transform._inverse import rows_of_places
from actup.transform._new_rows import TrainingRows

PACKAGES = ["actup", "umap-learn", "numpy"]


def parameters_of(options) -> dict:
    """The parameters that all estimators share."""
    return {"n_components": options.dimensions, "metric": options.metric}


class ActUp:
    """ActUp's map, and the linear fit around each place."""

    def fit(self, X, options):
        self.model = actup.UMAP(**parameters_of(options), random_state=0).fit(X)
        return self.model.embedding_

    def invert(self, places):
        model = self.model
        return rows_of_places(model._training, places, model.embedding_, model.recipe_, count_threads(-1))


class UmapLearn:
    """umap-learn's map, its Delaunay triangulation and its stochastic descent."""

    def fit(self, X, options):
        import umap

        self.model = umap.UMAP(**parameters_of(options), random_state=0, n_jobs=1)
        return self.model.fit(X).embedding_

    def invert(self, places):
        return self.model.inverse_transform(places)


class SameMap:
    """ActUp's rows for places of umap-learn's map: the same places, another inverse."""

    def fit(self, X, options):
        import umap

        self.model = umap.UMAP(**parameters_of(options), random_state=0, n_jobs=1)
        self._recipe = actup.preset("sampled_umap").but(**parameters_of(options))
        self._rows = TrainingRows(X, self._recipe)
        return self.model.fit(X).embedding_

    def invert(self, places):
        map_ = self.model.embedding_
        return rows_of_places(self._rows, places, map_, self._recipe, count_threads(-1))


CONTESTANTS = {  # name: (package, class)
    "actup": ("actup", ActUp),
    "umap-learn": ("umap", UmapLearn),
    "actup on umap-learn's map": ("umap", SameMap),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="+", default=["mnist", "fashion_mnist"])
    arguments.add_argument("--points", type=int, default=10_000, help="number of rows of the map")
    arguments.add_argument("--places", type=int, default=300, help="number of places of each kind")
    arguments.add_argument("--dimensions", type=int, default=2)
    arguments.add_argument("--metric", default="euclidean")
    arguments.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    options = arguments.parse_args()
    results = saved("inverse")
    for data in options.data:
        X = np.ascontiguousarray(load(data).X, np.float32)
        X = X[np.random.default_rng(0).permutation(len(X))[: options.points + options.places]]
        for name in options.only:
            package, make = CONTESTANTS[name]
            if find_spec(package) is None:
                print(f"skipped {name}: {package} is not installed")
                continue
            row = measured(make(), X, options)
            kind = f"{data} {options.points}+{options.places} {options.dimensions}-D {options.metric}"
            results.setdefault(kind, {})[name] = row
            print(kind, name, row, flush=True)
            print("saved", save("inverse", results, PACKAGES), flush=True)


def measured(contestant, X, options) -> dict:
    """Seconds and errors of one contestant."""
    old, new = X[: options.points], X[options.points :]
    map_ = np.asarray(contestant.fit(old, options))
    held_out = np.asarray(contestant.model.transform(new))
    contestant.invert(map_[:2])  # compiles or loads what later calls reuse
    row = {}
    for kind, places, truth in (("held_out", held_out, new), ("training", map_[: len(new)], old[: len(new)])):
        rows, seconds = timed(lambda places=places: contestant.invert(places))
        row[kind] = {
            "seconds": seconds[0],
            "root_mean_square": float(np.sqrt(((rows - truth) ** 2).mean())),
            "mean_absolute": float(np.abs(rows - truth).mean()),
        }
    return row


if __name__ == "__main__":
    main()
