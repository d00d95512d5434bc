"""t-SNE against openTSNE: the same similarities, the same start, the same process; then end to end.

    python benchmarks/tsne.py [--data mnist fashion_mnist] [--points 60000] [--skip-end-to-end]

Prints seconds, exact KL divergence, neighbour recall, label accuracy and V-measure of both, and saves them
under benchmarks/results/tsne.json.
"""

from __future__ import annotations

import argparse

import numpy as np
from report import save, summary, timed

import actup
from actup import metrics
from actup.backends import load_backend
from actup.cookbook import preset
from actup.datasets import load
from actup.initialization import make_start
from actup.neighbors import nearest_neighbors

THREADS = 2
RECIPES = ("tsne", "sampled_tsne", "gdr_tsne")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="+", default=["mnist", "fashion_mnist"])
    arguments.add_argument("--points", type=int, default=60_000)
    arguments.add_argument("--skip-end-to-end", action="store_true")
    chosen = arguments.parse_args()
    results = {}
    for name in chosen.data:
        data = load(name)
        X, y = np.ascontiguousarray(data.X[: chosen.points], np.float32), data.y[: chosen.points]
        results[name] = descents(X, y)
        if not chosen.skip_end_to_end:
            results[name]["end_to_end"] = end_to_end(X)
        show(name, results[name])
    print("saved", save("tsne", results, ["actup", "openTSNE", "numpy", "scipy"]))


def descents(X, y) -> dict:
    """openTSNE's descent and ours on the graph and the start of preset "tsne"."""
    cpu, recipe = load_backend("cpu"), preset("tsne")
    neighbors = nearest_neighbors(X, recipe.neighbors_searched(len(X)))
    graph = cpu.affinity_graph(neighbors, recipe, THREADS)
    start, _ = make_start(X, graph, recipe, None, 0, THREADS, cpu)
    runs = {"openTSNE": (lambda: open_tsne(graph, start), 1)}
    for name in RECIPES:
        variant = preset(name)
        runs[name] = (lambda variant=variant: layout(cpu, graph, start, variant), 3)
    rows = {}
    for name, (run, repeats) in runs.items():
        Y, seconds = timed(run, repeats)
        rows[name] = summary(seconds) | {
            "kl": metrics.kl_divergence(graph, Y),
            "recall_at_10": metrics.neighbor_recall(X, Y, 10, sample=3000),
            "knn_accuracy": metrics.knn_accuracy(Y, y),
            "v_measure": metrics.v_measure(Y, y, n_init=10),
            "trustworthiness": metrics.trustworthiness(X, Y, 15),
        }
    return {"points": len(X), "edges": len(graph.indices), "descents": rows}


def layout(cpu, graph, start, recipe):
    descent = cpu.make_layout(graph, start, recipe, 0, THREADS)
    descent.run(descent.n_epochs)
    return descent.embedding()


def open_tsne(graph, start):
    """openTSNE's default descent: 250 iterations with exaggeration 12, then 500, through its FFT."""
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PrecomputedAffinities

    affinities = PrecomputedAffinities(graph.to_scipy().astype(np.float64), normalize=True)
    small = 1e-4 * start / start[:, 0].std()
    embedding = TSNEEmbedding(
        small.astype(np.float64), affinities, negative_gradient_method="fft", n_jobs=THREADS
    )
    embedding.optimize(250, exaggeration=12, momentum=0.8, inplace=True)
    embedding.optimize(500, momentum=0.8, inplace=True)
    return np.asarray(embedding, np.float32)


def end_to_end(X) -> dict:
    import openTSNE

    _, theirs = timed(lambda: openTSNE.TSNE(n_jobs=THREADS, random_state=0).fit(X))
    _, ours = timed(lambda: actup.TSNE(n_jobs=THREADS, random_state=0).fit(X))
    return {"openTSNE": theirs[0], "actup": ours[0], "ratio": theirs[0] / ours[0]}


def show(name: str, result: dict) -> None:
    print(f"{name}: {result['points']} points, {result['edges'] / result['points']:.0f} edges each")
    print("descent          min s    ratio      KL  recall   100-NN      V  trust")
    slowest = result["descents"]["openTSNE"]["min"]
    for method, row in result["descents"].items():
        print(
            f"{method:<13} {row['min']:8.2f} {slowest / row['min']:7.1f}x {row['kl']:7.3f}"
            f" {row['recall_at_10']:7.4f} {100 * row['knn_accuracy']:8.2f} {100 * row['v_measure']:6.1f}"
            f" {row['trustworthiness']:6.3f}"
        )
    if "end_to_end" in result:
        whole = result["end_to_end"]
        print(
            f"end to end: openTSNE {whole['openTSNE']:.1f} s, ActUp {whole['actup']:.2f} s,"
            f" {whole['ratio']:.1f}x"
        )


if __name__ == "__main__":
    main()
