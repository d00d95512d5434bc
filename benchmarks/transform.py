"""Placing new rows on a finished map, compared with umap-learn and openTSNE: seconds, accuracy, stability.

    python benchmarks/transform.py [--data mnist] [--new 10000] [--points 60000] [--repeats 3] [--backend cpu]
                                   [--only "actup UMAP" ...]

The last rows are held out and placed on a map of the others. Each result is saved in
benchmarks/results/transform.json as soon as it is measured; contestants that were not run keep their results.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import numpy as np
from report import save, saved, summary, timed
from sklearn.neighbors import KNeighborsClassifier

import actup
from actup.datasets import load
from actup.transform._placement import neighbors_needed, row_recipe

PACKAGES = ["actup", "umap-learn", "openTSNE", "numpy", "scikit-learn"]
VOTERS = 10
SINGLE_ROWS = 5  # rows that are also placed one by one


class ActUp:
    """One of ActUp's estimators."""

    def __init__(self, estimator, **parameters):
        self._estimator, self._parameters = estimator, parameters

    def fit(self, X, backend: str):
        self.model = self._estimator(**self._parameters, random_state=0, backend=backend).fit(X)
        return self.model.embedding_

    def transform(self, X):
        return self.model.transform(X)

    def query_seconds(self, X, X_new, repeats: int) -> dict:
        """Seconds of the neighbour search alone, with the index that ``transform`` uses on the CPU."""
        index = actup.NeighborIndex(X)
        k = neighbors_needed(row_recipe(self.model.recipe_), len(X))
        index.query(X_new[:10], k)
        return summary(timed(lambda: index.query(X_new, k), repeats)[1])


class UmapLearn:
    def fit(self, X, backend: str):
        import umap

        self.model = umap.UMAP(random_state=0, n_jobs=1).fit(X)
        return self.model.embedding_

    def transform(self, X):
        return self.model.transform(X)


class OpenTsne:
    def fit(self, X, backend: str):
        import openTSNE

        self.model = openTSNE.TSNE(random_state=0, n_jobs=-1).fit(X)
        return np.array(self.model)

    def transform(self, X):
        return np.array(self.model.transform(X))


CONTESTANTS = {  # name: (package, function that makes the contestant)
    "actup UMAP": ("actup", lambda: ActUp(actup.UMAP)),
    "actup TSNE": ("actup", lambda: ActUp(actup.TSNE)),
    "actup GDR": ("actup", lambda: ActUp(actup.GDR)),
    "actup GDR normalized": ("actup", lambda: ActUp(actup.GDR, normalized=True)),
    "umap-learn": ("umap", UmapLearn),
    "openTSNE": ("openTSNE", OpenTsne),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", default="mnist")
    arguments.add_argument(
        "--points", type=int, default=60_000, help="number of rows, including the new ones"
    )
    arguments.add_argument("--new", type=int, default=10_000, help="number of rows that are held out")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--backend", default="cpu", help="ActUp's backend")
    arguments.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    options = arguments.parse_args()
    data = load(options.data)
    X, y = np.ascontiguousarray(data.X[: options.points], np.float32), data.y[: options.points]
    results = saved("transform")
    for name in options.only:
        package, make = CONTESTANTS[name]
        if find_spec(package) is None:
            print(f"skipped {name}: {package} is not installed")
            continue
        other_backend = package == "actup" and options.backend != "cpu"
        row = measured(make(), X, y, options)
        kind = f"{options.data} {len(X) - options.new}+{options.new}"
        results.setdefault(kind, {})[f"{name} ({options.backend})" if other_backend else name] = row
        print(name, row, flush=True)
        print("saved", save("transform", results, PACKAGES), flush=True)
    print(markdown(results))


def measured(contestant, X, y, options) -> dict:
    """Times, accuracies and stability of one contestant."""
    old, new = X[: -options.new], X[-options.new :]
    map_ = np.array(contestant.fit(old, options.backend))
    # The first call builds or compiles what later calls reuse.
    _, first = timed(lambda: contestant.transform(new[: 2 * SINGLE_ROWS]))
    places, seconds = timed(lambda: contestant.transform(new), options.repeats)
    votes = KNeighborsClassifier(VOTERS).fit(map_, y[: len(old)])
    # Labels of the neighbours of every training point, without the point itself.
    others = y[: len(old)][votes.kneighbors(return_distance=False)]
    alone = np.concatenate([contestant.transform(new[i : i + 1]) for i in range(SINGLE_ROWS)])
    row = {
        "first": first[0],
        **summary(seconds),
        "held_out": votes.score(places, y[len(old) :]),
        "training": float(np.mean([np.bincount(labels).argmax() for labels in others] == y[: len(old)])),
        "moved_alone": float(np.abs(alone - places[:SINGLE_ROWS]).max() / np.ptp(map_, axis=0).max()),
        "training_moved": float(
            np.abs(contestant.transform(old[:1000]) - map_[:1000]).max() / np.ptp(map_, axis=0).max()
        ),
    }
    if hasattr(contestant, "query_seconds") and options.backend == "cpu":
        row["query"] = contestant.query_seconds(old, new, options.repeats)
    return row


INTRODUCTION = f"""`python benchmarks/transform.py`: the last rows are held out and placed on a map of the
others. Times are medians; the first call places {2 * SINGLE_ROWS} rows and builds or compiles what later
calls reuse. Accuracy is that of a vote of the {VOTERS} nearest training points. *Moves if alone*: the largest
distance between the places of a row in a batch and alone, for {SINGLE_ROWS} rows; *known rows move*: the
largest distance between the place that `transform` gives a training row and its place on the map, for 1,000
rows; both relative to the size of the map."""

HEAD = (
    "| | first call s | all rows s | search alone s | held-out accuracy | training accuracy "
    "| moves if alone | known rows move |\n|---|---|---|---|---|---|---|---|"
)


def markdown(results: dict) -> str:
    """The section of the page: one table per data set."""
    parts = [INTRODUCTION]
    for kind, rows in results.items():
        lines = [f"**{kind.replace('+', ' rows and ')} new rows**", "", HEAD]
        for name, row in rows.items():
            search = f"{row['query']['median']:.2f}" if "query" in row else ""
            accuracies = " | ".join(f"{100 * row[part]:.1f}" for part in ("held_out", "training"))
            moves = " | ".join(f"{row[part]:.2g}" for part in ("moved_alone", "training_moved"))
            seconds = f"{row['first']:.2f} | {row['median']:.2f} | {search}"
            lines.append(f"| {name} | {seconds} | {accuracies} | {moves} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
