"""Presets on MNIST compared with the paper's numbers, and TSNE on digits compared with scikit-learn.

    python benchmarks/presets.py [--points 60000] [--again]
    python benchmarks/presets.py --markdown

Measures the accuracy of a vote of 100 neighbours, the V-measure of k-means, the KL divergence from t-SNE's
similarities (perplexity 30) and the recall of the 10 nearest neighbours. The paper printed accuracy and
V-measure (Draganov et al., IJCAI 2023). Each result is saved in benchmarks/results/presets.json as soon as it
is measured, and not measured again without --again. --markdown only prints the tables of saved results.
"""

from __future__ import annotations

import argparse

import numpy as np
from report import save, saved, summary, timed

import actup
from actup import embed, nearest_neighbors, quality
from actup.backends import load_backend
from actup.datasets import load
from actup.graph import Graph
from actup.recipe import preset

THREADS = 2
PACKAGES = ["actup", "scikit-learn", "numpy", "scipy"]
PERPLEXITIES = (5, 30, 100)
PUBLISHED = {  # on MNIST: accuracy in percent, V-measure in percent
    "paper_tsne": (95.1, 70.9),
    "paper_gdr_tsne": (96.1, 67.8),
    "paper_umap": (95.4, 82.5),
    "paper_gdr_umap": (96.2, 84.0),
    "tsne": None,
    "sampled_tsne": None,
    "gdr_tsne": None,
    "sampled_gdr_tsne": None,
    "umap": None,
    "sampled_umap": None,
    "gdr_umap": None,
    "sampled_gdr_umap": None,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--points", type=int, default=60_000, help="use only this many rows of MNIST")
    arguments.add_argument("--presets", nargs="+", choices=PUBLISHED, default=list(PUBLISHED))
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--markdown", action="store_true", help="only print the tables of saved results")
    options = arguments.parse_args()
    results = saved("presets")
    if not options.markdown:
        measure_presets(options, results)
        measure_digits(options, results)
    print(markdown(results))


def measure_presets(options, results: dict) -> None:
    mnist = load("mnist")
    X, y = np.ascontiguousarray(mnist.X[: options.points], np.float32), mnist.y[: options.points]
    rows = results.setdefault(f"mnist {len(X)}", {})
    missing = [name for name in options.presets if name not in rows or options.again]
    if not missing:
        return
    recipe = preset("tsne")
    neighbors = nearest_neighbors(X, recipe.neighbors_searched(len(X)))
    similarities = load_backend("cpu").affinity_graph(neighbors, recipe, THREADS)
    for name in missing:
        found, seconds = _run(X, preset(name), neighbors)
        rows[name] = summary(seconds) | {
            "knn_accuracy": quality.knn_accuracy(found, y),
            "v_measure": quality.v_measure(found, y, n_init=10),
            "kl": quality.kl_divergence(similarities, found),
            "recall_at_10": quality.neighbor_recall(X, found, 10, sample=3000),
        }
        save("presets", results, PACKAGES)
        print(name, rows[name], flush=True)


def _run(X, recipe, neighbors):
    """The map, and the seconds of graph, start and layout."""
    result, seconds = timed(lambda: embed(X, recipe, neighbors=neighbors, threads=THREADS))
    return result.embedding, seconds


def measure_digits(options, results: dict) -> None:
    from sklearn.datasets import load_digits
    from sklearn.manifold import TSNE

    X = np.float32(load_digits().data)
    rows = results.setdefault("digits", {})
    for perplexity in PERPLEXITIES:
        if str(perplexity) in rows and not options.again:
            continue
        ours = actup.TSNE(perplexity=perplexity, random_state=0, n_jobs=THREADS)
        theirs = TSNE(perplexity=perplexity, random_state=0, n_jobs=THREADS)
        _, our_seconds = timed(lambda model=ours: model.fit(X), 3)
        Y, their_seconds = timed(lambda model=theirs: model.fit_transform(X))
        graph = Graph(ours.graph_.indptr, ours.graph_.indices, ours.graph_.data)
        rows[str(perplexity)] = {
            "actup": summary(our_seconds) | {"kl": ours.kl_divergence_},
            "scikit-learn": summary(their_seconds) | {"kl": quality.kl_divergence(graph, Y)},
        }
        save("presets", results, PACKAGES)
        print("digits", perplexity, rows[str(perplexity)], flush=True)


def markdown(results: dict) -> str:
    """The section of the page."""
    lines = []
    for name, rows in results.items():
        lines += [*(_digits_table(rows) if name == "digits" else _presets_table(name, rows)), ""]
    return "\n".join(lines)


def _presets_table(name: str, rows: dict) -> list[str]:
    data, points = name.split()
    lines = [
        f"| preset, {data}, {int(points):,} points | published | accuracy | V | KL | recall@10 | s |",
        "|---|---|---|---|---|---|---|",
    ]
    for preset_name in PUBLISHED:
        if preset_name in rows:
            row, published = rows[preset_name], PUBLISHED[preset_name]
            lines.append(
                f"| `{preset_name}` | {'{}; {}'.format(*published) if published else ''}"
                f" | {100 * row['knn_accuracy']:.1f} | {100 * row['v_measure']:.1f} | {row['kl']:.3f}"
                f" | {row['recall_at_10']:.4f} | {row['min']:.1f} |"
            )
    return lines


def _digits_table(rows: dict) -> list[str]:
    lines = [
        "| digits, perplexity | KL `actup.TSNE()` | KL scikit-learn | s `actup.TSNE()` | s scikit-learn |",
        "|---|---|---|---|---|",
    ]
    for perplexity, row in rows.items():
        ours, theirs = row["actup"], row["scikit-learn"]
        losses = f"{ours['kl']:.4f} | {theirs['kl']:.4f}"
        lines.append(f"| {perplexity} | {losses} | {ours['min']:.2f} | {theirs['min']:.2f} |")
    return lines


if __name__ == "__main__":
    main()
