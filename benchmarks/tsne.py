"""t-SNE on all data sets, compared with openTSNE and scikit-learn: seconds, loss and quality of every map.

    python benchmarks/tsne.py [--data mnist usps] [--methods tsne openTSNE] [--points 60000] [--three-d]
                              [--repeats 5] [--again]
    python benchmarks/tsne.py --markdown

There are two kinds of runs. A *descent* gets the same similarities (perplexity 30) and the same PCA start for
all methods; a *whole run* gets the data. The KL divergence is always computed exactly, from ActUp's
similarities. Each result is saved in benchmarks/results/tsne.json as soon as it is measured, and not measured
again without --again. --markdown only prints the tables of saved results.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from report import save, saved, summary, timed

import actup
from actup import quality
from actup.backends import load_backend
from actup.datasets import load
from actup.neighbors import nearest_neighbors
from actup.recipe import Recipe, preset
from actup.start._start import make_start

THREADS = 2
TSNE = preset("tsne")
PACKAGES = ["actup", "openTSNE", "scikit-learn", "numpy", "scipy"]
DATA = {  # name: metric
    "mnist": "euclidean",
    "fashion_mnist": "euclidean",
    "usps": "euclidean",
    "coil100_32": "euclidean",
    "balf_liao2020_pca50": "euclidean",
    "glove_50k_100d": "cosine",
}


@dataclass
class Problem:
    """A data set, with the graph and the start that all descents share."""

    name: str
    X: np.ndarray
    y: np.ndarray | None
    metric: str
    dimensions: int = 2
    recipe: Recipe = TSNE

    def __post_init__(self):
        self.recipe = self.recipe.but(metric=self.metric, n_components=self.dimensions)

    @cached_property
    def graph(self):
        recipe = self.recipe
        neighbors = nearest_neighbors(self.X, recipe.neighbors_searched(len(self.X)), metric=self.metric)
        return load_backend("cpu").affinity_graph(neighbors, recipe, THREADS)

    @cached_property
    def start(self) -> np.ndarray:
        return make_start(self.X, self.graph, self.recipe, None, 0, THREADS, load_backend("cpu"))[0]

    @property
    def key(self) -> str:
        return f"{self.name} {len(self.X)}" + (" 3-D" if self.dimensions == 3 else "")

    def quality(self, Y: np.ndarray) -> dict[str, float]:
        found = {
            "kl": quality.kl_divergence(self.graph, Y),
            "recall_at_10": quality.neighbor_recall(self.X, Y, 10, metric=self.metric, sample=3000),
            "trustworthiness": quality.trustworthiness(self.X, Y, 15, metric=self.metric),
        }
        if self.y is not None:
            found["knn_accuracy"] = quality.knn_accuracy(Y, self.y)
            found["v_measure"] = quality.v_measure(Y, self.y, n_init=10)
        return found


# --- methods ---


def descend(problem: Problem, recipe: Recipe, start: np.ndarray) -> np.ndarray:
    """The map of a recipe's descent, from the problem's similarities."""
    layout = load_backend("cpu").make_layout(problem.graph, start, recipe, 0, THREADS)
    layout.run(layout.n_epochs)
    return layout.embedding()


def descent(name: str, **changes):
    """A method that runs the descent of a preset."""

    def run(problem: Problem) -> np.ndarray:
        recipe = preset(name).but(n_components=problem.dimensions, **changes)
        return descend(problem, recipe, problem.start)

    return run


def open_tsne_descent(problem: Problem) -> np.ndarray:
    """openTSNE's default descent: 250 iterations with exaggeration 12, then 500 without."""
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PrecomputedAffinities

    affinities = PrecomputedAffinities(problem.graph.to_scipy().astype(np.float64), normalize=True)
    small = (1e-4 * problem.start / problem.start[:, 0].std()).astype(np.float64)
    method = "fft" if len(small) >= 10_000 else "bh"  # openTSNE's own rule
    embedding = TSNEEmbedding(small, affinities, negative_gradient_method=method, n_jobs=THREADS)
    embedding.optimize(250, exaggeration=12, momentum=0.8, inplace=True)
    embedding.optimize(500, momentum=0.8, inplace=True)
    return np.asarray(embedding, np.float32)


def whole_actup(problem: Problem) -> np.ndarray:
    model = actup.TSNE(problem.dimensions, metric=problem.metric, n_jobs=THREADS, random_state=0)
    return model.fit_transform(problem.X)


def whole_open_tsne(problem: Problem) -> np.ndarray:
    import openTSNE

    model = openTSNE.TSNE(metric=problem.metric, n_jobs=THREADS, random_state=0)
    return np.asarray(model.fit(problem.X), np.float32)


def whole_scikit_learn(problem: Problem) -> np.ndarray:
    from sklearn.manifold import TSNE

    model = TSNE(problem.dimensions, metric=problem.metric, n_jobs=THREADS, random_state=0)
    return model.fit_transform(problem.X)


@dataclass(frozen=True)
class Method:
    """How a map is computed, and its name in the tables."""

    label: str
    run: object
    kind: str = "descent"
    ours: bool = True  # ActUp's methods are repeated, the others run once
    three_d: bool = True
    peer: str | None = None  # the method whose seconds it is compared with


METHODS = {
    "openTSNE": Method("openTSNE", open_tsne_descent, ours=False, three_d=False),
    "tsne": Method("ActUp `tsne`", descent("tsne"), peer="openTSNE"),
    "barnes_hut": Method(
        "ActUp `tsne`, Barnes-Hut", descent("tsne", repulsion="barnes_hut"), peer="openTSNE"
    ),
    "sampled": Method("ActUp `sampled_tsne`", descent("sampled_tsne"), peer="openTSNE"),
    "gdr_tsne": Method("ActUp `gdr_tsne`, the short schedule", descent("gdr_tsne"), peer="openTSNE"),
    "whole_openTSNE": Method("openTSNE.TSNE()", whole_open_tsne, "whole run", ours=False, three_d=False),
    "whole_scikit_learn": Method("sklearn.manifold.TSNE()", whole_scikit_learn, "whole run", ours=False),
    "whole_actup": Method("actup.TSNE()", whole_actup, "whole run", peer="whole_openTSNE"),
}


# --- running ---


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    arguments.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    arguments.add_argument("--points", type=int, default=60_000, help="use at most this many rows")
    arguments.add_argument("--repeats", type=int, default=5, help="of ActUp's methods; the others run once")
    arguments.add_argument("--three-d", action="store_true", help="maps in three dimensions")
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--markdown", action="store_true", help="only print the tables of saved results")
    options = arguments.parse_args()
    results = saved("tsne")
    if not options.markdown:
        for name in options.data:
            data = load(name)
            X = np.ascontiguousarray(data.X[: options.points], np.float32)
            y = None if data.y is None else data.y[: options.points]
            measure(Problem(name, X, y, DATA[name], 3 if options.three_d else 2), options, results)
    print(markdown(results))


def measure(problem: Problem, options, results: dict) -> None:
    """Measure the chosen methods that have no results yet, and save after each."""
    rows = results.setdefault(problem.key, {}).setdefault("methods", {})
    for name in options.methods:
        method = METHODS[name]
        if (name in rows and not options.again) or (problem.dimensions == 3 and not method.three_d):
            continue
        results[problem.key] |= {
            "data": problem.name,
            "metric": problem.metric,
            "dimensions": problem.dimensions,
            "points": len(problem.X),
            "edges": len(problem.graph.indices),
        }
        _ = problem.start  # compute graph and start before the clock runs
        Y, seconds = timed(lambda method=method: method.run(problem), options.repeats if method.ours else 1)
        rows[name] = summary(seconds) | problem.quality(Y) | {"map_deviation": float(Y.std())}
        save("tsne", results, PACKAGES)
        print(f"{time.strftime('%H:%M:%S')} {problem.key}: {name} {min(seconds):.2f} s", flush=True)


# --- tables ---


def markdown(results: dict) -> str:
    """The section of the page."""
    lines = []
    for result in results.values():
        title = f"{result['data']}, {result['points']:,} points"
        title += ", three dimensions" if result["dimensions"] == 3 else ""
        title += ", cosine distance" if result["metric"] == "cosine" else ""
        lines += [f"### {title}", ""]
        for kind in ("descent", "whole run"):
            rows = {name: METHODS[name] for name in METHODS if name in result["methods"]}
            rows = {name: method for name, method in rows.items() if method.kind == kind}
            if rows:
                lines += [*_table(kind, rows, result["methods"]), ""]
    return "\n".join(lines)


def _table(kind: str, methods: dict[str, Method], rows: dict) -> list[str]:
    lines = [
        f"| {kind} | min s | median s | times faster | KL | recall@10 | accuracy | V | trustworthiness |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, method in methods.items():
        row = rows[name]
        peer = rows.get(method.peer)
        cells = [
            method.label,
            f"{row['min']:.2f}",
            f"{row['median']:.2f}",
            f"{peer['min'] / row['min']:.1f}" if peer else "",
            f"{row['kl']:.3f}",
            f"{row['recall_at_10']:.4f}",
            f"{100 * row['knn_accuracy']:.2f}" if "knn_accuracy" in row else "",
            f"{100 * row['v_measure']:.1f}" if "v_measure" in row else "",
            f"{row['trustworthiness']:.4f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
