"""Layouts by two builds of ActUp, on different kinds of data: time and quality.

    python benchmarks/layout_kinds.py OLD_PYTHON NEW_PYTHON [--kinds table] [--presets umap] [--again]
    python benchmarks/layout_kinds.py OLD_PYTHON NEW_PYTHON --small
    python benchmarks/layout_kinds.py [--small] --markdown

Each build is named by an interpreter that imports it. Both start from the same graph and places, on one
thread, in processes of their own. --small takes kinds of up to 20,000 points, and the mean of three starts,
instead of kinds of many points and one start. Each kind is saved in benchmarks/results/layout_kinds.json or
layout_kinds_small.json as soon as it is measured, and not measured again without --again. --markdown only
prints the table of saved results.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from kinds_of_data import KINDS, SMALL_KINDS, Kind
from report import save, saved

from actup import embed, quality
from actup.graph import Graph
from actup.recipe import preset
from layout import umap_loss

PRESETS = ("umap", "tsne")
BUILDS = ("old", "new")
SMALL_STARTS = 3

# Runs in the process of a build: file of the graph and the start, preset, file of the map.
PROGRAM = """
import json, sys, time
import numpy as np
from actup.backends import load_backend
from actup.graph import Graph
from actup.recipe import preset
z = np.load(sys.argv[1])
graph, start = Graph(z["offsets"], z["indices"], z["weights"]), z["start"]
begin = time.process_time()
layout = load_backend("cpu").make_layout(graph, start, preset(sys.argv[2]), 0, 1)
layout.run(layout.n_epochs)
seconds = time.process_time() - begin
np.save(sys.argv[3], layout.embedding())
print(json.dumps({"cpu_seconds": seconds, "epochs": layout.n_epochs}))
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("pythons", nargs="*", help="the interpreters of the old and the new build")
    arguments.add_argument("--small", action="store_true", help="kinds of up to 20,000 points")
    arguments.add_argument("--kinds", nargs="+", help="default: all")
    arguments.add_argument("--presets", nargs="+", choices=PRESETS, default=list(PRESETS))
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--markdown", action="store_true", help="only print the table of saved results")
    options = arguments.parse_args()
    kinds = SMALL_KINDS if options.small else KINDS
    file = "layout_kinds_small" if options.small else "layout_kinds"
    starts = SMALL_STARTS if options.small else 1
    unknown = set(options.kinds or ()) - set(kinds)
    if unknown:
        arguments.error(f"--kinds: there is no {', '.join(unknown)}; give some of {', '.join(kinds)}")
    results = saved(file)
    if not options.markdown:
        if len(options.pythons) != len(BUILDS):
            arguments.error("give the interpreters of the old and the new build")
        for name in options.kinds or kinds:
            rows = results.get(name, {})
            missing = [each for each in options.presets if options.again or each not in rows]
            if missing:
                make, points = kinds[name]
                results[name] = rows | compare(make(points), options.pythons, missing, starts)
                save(file, results, ["actup", "numpy", "scipy"])
                print(markdown({name: results[name]}), flush=True)
    print(markdown(results))


def compare(kind: Kind, pythons: list[str], presets: list[str], starts: int) -> dict:
    """Seconds and quality of both builds with every preset: means over the starts."""
    rows: dict = {"points": len(kind.X)}
    for name in presets:
        found: dict[str, list[dict[str, float]]] = {build: [] for build in BUILDS}
        for seed in range(starts):
            before = embed(kind.X, preset(name).but(metric=kind.metric, epochs=0, prune=False), seed=seed)
            with tempfile.TemporaryDirectory() as folder:
                source, target = Path(folder) / "graph.npz", Path(folder) / "map.npy"
                arrays = {part: getattr(before.graph, part) for part in ("offsets", "indices", "weights")}
                np.savez(source, start=before.embedding, **arrays)
                for build, python in zip(BUILDS, pythons, strict=True):
                    command = [python, "-c", PROGRAM, str(source), name, str(target)]
                    row = json.loads(subprocess.check_output(command, text=True))
                    found[build].append(row | map_quality(kind, name, before.graph, np.load(target)))
        rows[name] = {build: mean_of(found[build]) for build in BUILDS}
    return rows


def mean_of(rows: list[dict[str, float]]) -> dict[str, float]:
    """The mean of every figure; the number of epochs, which is always the same, stays whole."""
    return {figure: type(value)(np.mean([row[figure] for row in rows])) for figure, value in rows[0].items()}


def map_quality(kind: Kind, name: str, graph: Graph, Y: np.ndarray) -> dict[str, float]:
    """What the preset minimises, and measures of the neighbourhoods."""
    tsne = name == "tsne"
    measures = {
        "loss": quality.kl_divergence(graph, Y, method="auto") if tsne else umap_loss(graph, Y, 1_000),
        "recall_at_10": quality.neighbor_recall(kind.X, Y, 10, sample=2000, metric=kind.metric),
        "trustworthiness": quality.trustworthiness(kind.X, Y, 15, sample=500, metric=kind.metric),
        "radius": float(np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean())),
    }
    if kind.y is not None:
        measures["knn_accuracy"] = quality.knn_accuracy(Y, kind.y)
    return {measure: float(value) for measure, value in measures.items()}


def markdown(results: dict) -> str:
    """The table: old → new."""
    lines = [
        "| data | preset | epochs | CPU s of the layout | loss | recall@10 | trustworthiness | accuracy |",
        "|---|---|---|---|---|---|---|---|",
    ]
    formats = {"epochs": "d", "cpu_seconds": ".3g", "loss": ".3f", "recall_at_10": ".4f"}
    formats |= {"trustworthiness": ".4f", "knn_accuracy": ".4f"}
    for kind, rows in results.items():
        for name in (each for each in PRESETS if each in rows):
            cells = [f"{kind}, {rows['points']:,}", f"`{name}`"]
            for figure, form in formats.items():
                values = [rows[name][build].get(figure) for build in BUILDS]
                cells.append("" if None in values else " → ".join(format(value, form) for value in values))
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
