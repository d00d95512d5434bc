"""Layouts of many points by two builds of ActUp, on different kinds of data: time and quality.

    python benchmarks/layout_kinds.py OLD_PYTHON NEW_PYTHON [--kinds outliers table] [--again]
    python benchmarks/layout_kinds.py --markdown

Each build is named by an interpreter that imports it. Both start from the same graph and places, on one
thread, in processes of their own. Each kind is saved in benchmarks/results/layout_kinds.json as soon as it is
measured, and not measured again without --again. --markdown only prints the table of saved results.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from kinds_of_data import KINDS, Kind
from report import save, saved

from actup import embed, quality
from actup.graph import Graph
from actup.recipe import preset
from layout import umap_loss

PRESETS = ("umap", "tsne")
BUILDS = ("old", "new")

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
    arguments.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--markdown", action="store_true", help="only print the table of saved results")
    options = arguments.parse_args()
    results = saved("layout_kinds")
    if not options.markdown:
        if len(options.pythons) != len(BUILDS):
            arguments.error("give the interpreters of the old and the new build")
        for name in options.kinds:
            if name not in results or options.again:
                make, points = KINDS[name]
                results[name] = compare(make(points), options.pythons)
                save("layout_kinds", results, ["actup", "numpy", "scipy"])
                print(markdown({name: results[name]}), flush=True)
    print(markdown(results))


def compare(kind: Kind, pythons: list[str]) -> dict:
    """Seconds and quality of both builds with every preset."""
    rows: dict = {"points": len(kind.X)}
    for name in PRESETS:
        before = embed(kind.X, preset(name).but(metric=kind.metric, epochs=0, prune=False), seed=0)
        rows[name] = {}
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "graph.npz", Path(folder) / "map.npy"
            arrays = {part: getattr(before.graph, part) for part in ("offsets", "indices", "weights")}
            np.savez(source, start=before.embedding, **arrays)
            for build, python in zip(BUILDS, pythons, strict=True):
                command = [python, "-c", PROGRAM, str(source), name, str(target)]
                row = json.loads(subprocess.check_output(command, text=True))
                rows[name][build] = row | map_quality(kind, name, before.graph, np.load(target))
    return rows


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
    formats = {"epochs": "d", "cpu_seconds": ".2f", "loss": ".3f", "recall_at_10": ".4f"}
    formats |= {"trustworthiness": ".4f", "knn_accuracy": ".4f"}
    for kind, rows in results.items():
        for name in PRESETS:
            cells = [f"{kind}, {rows['points']:,}", f"`{name}`"]
            for figure, form in formats.items():
                values = [rows[name][build].get(figure) for build in BUILDS]
                cells.append("" if None in values else " → ".join(format(value, form) for value in values))
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
