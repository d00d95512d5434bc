"""Whole fits of UMAP and TSNE on named data: seconds by stage and number of threads, beside peers.

    python benchmarks/fits.py [--data digits "mnist 2000" ...] [--methods umap tsne] [--threads 1 2]
                              [--peer-python PATH] [--results NAME]

Each contestant runs in a fresh process that may use some of the cores. The first run is not counted; up to
five others give the median. With an interpreter that has them, umap-learn and openTSNE run right after ActUp
at the largest number of threads. Rows of word vectors have length 1. Results are saved in
benchmarks/results/fits.json (``--results fits_16_cores``: another name) as they are measured; what was not
run keeps its earlier results.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys

import numpy as np
from kinds_of_data import KINDS, SMALL_KINDS
from race import map_quality
from report import save, saved
from workers import Conditions, run_worker

# method: ActUp's contestant and the peer
METHODS = {"umap": ("actup.UMAP()", "umap-learn"), "tsne": ("actup.TSNE()", "openTSNE")}
# name: the table of kinds_of_data.py, the kind, the methods, and whether the peer runs: it may take minutes
DATA = {
    "digits": (SMALL_KINDS, "digits", ("umap", "tsne"), True),
    "mnist 2,000": (SMALL_KINDS, "mnist 2000", ("umap", "tsne"), True),
    "mnist 5,000": (SMALL_KINDS, "mnist 5000", ("umap", "tsne"), True),
    "mnist": (KINDS, "mnist", ("umap", "tsne"), True),
    "table": (KINDS, "table", ("umap", "tsne"), False),
    "blended words": (KINDS, "blended words", ("umap",), False),
}
STAGES = ("neighbors", "graph", "start", "layout")
RUNS = 6  # the first is not counted
SECONDS = 60.0  # no run is begun after as many of counted ones
PACKAGES = ["actup", "umap-learn", "openTSNE", "pynndescent", "numpy", "scipy", "scikit-learn"]


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    arguments.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments.add_argument("--threads", nargs="+", type=int, default=sorted({1, cores}))
    arguments.add_argument("--peer-python", help="interpreter with umap-learn and openTSNE")
    arguments.add_argument("--results", default="fits", help="name of the file of results")
    options = arguments.parse_args()
    results = saved(options.results)
    for name in options.data:
        kinds, kind, methods, with_peer = DATA[name]
        make, n = kinds[kind]
        data = make(n)
        X, y = data.X, data.y
        if data.metric == "cosine":
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        for method in [method for method in methods if method in options.methods]:
            own, peer = METHODS[method]
            runs = [(own, threads, sys.executable) for threads in options.threads]
            if with_peer and options.peer_python:
                runs.append((peer, max(options.threads), options.peer_python))
            for contestant, threads, python in runs:
                row = {"data": name, "shape": X.shape, "contestant": contestant, "threads": threads}
                row |= run(contestant, X, y, Conditions(RUNS, python, SECONDS, threads))
                show(row)
                results[f"{name}, {contestant}, {threads}"] = row
                save(options.results, results, PACKAGES)


def run(contestant: str, X: np.ndarray, y: np.ndarray | None, conditions: Conditions) -> dict:
    """Run a contestant in a fresh process; gives its seconds, stages and quality, or why it did not run."""
    row, Y = run_worker("contestants.py", contestant, X, conditions)
    if Y is None:
        return row
    labels = np.zeros(len(X), int) if y is None else y
    figures = map_quality(X, Y, labels)
    if y is None:
        del figures["knn_accuracy"], figures["v_measure"]
    counted = row["seconds"][1:] or row["seconds"]
    return {
        "seconds": statistics.median(counted),
        "runs": len(row["seconds"]) - 1,  # 0: only the first one, which may have compiled
        "stages": row["stages"],
        "n_epochs": row["n_epochs"],
        "versions": row["versions"],
        "quality": figures,
    }


def show(row: dict) -> None:
    what = f"{row['data']}, {row['contestant']}, {row['threads']} threads"
    if "seconds" not in row:
        print(f"{what}: did not run: {row.get('failed') or row['absent']}", flush=True)
        return
    stages = ", ".join(f"{stage} {seconds:.4f}" for stage, seconds in row["stages"].items())
    figures = ", ".join(f"{name} {value:.4f}" for name, value in row["quality"].items())
    print(f"{what}: {row['seconds']:.4f} s ({stages}); {figures}", flush=True)


def markdown(results: dict) -> str:
    """The section of the page."""
    peers = {peer: method for method, (_, peer) in METHODS.items()}
    peer_seconds = {
        (row["data"], peers[row["contestant"]]): row["seconds"]
        for row in results.values()
        if row["contestant"] in peers and "seconds" in row
    }
    own = {contestant: method for method, (contestant, _) in METHODS.items()}
    lines = [
        "`python benchmarks/fits.py`: medians of five fits of one process after a first one. *Times faster* "
        "compares with umap-learn and openTSNE, with their defaults, at the same number of threads. Stages "
        "are those of the fastest fit.",
        "",
        "| data | rows x columns | contestant | threads | s | times faster | neighbors | graph | start "
        "| layout | accuracy | recall@10 | trustworthiness |",
        "|" + "---|" * 13,
    ]
    for row in results.values():
        if "seconds" not in row:
            continue
        most = max(other["threads"] for other in results.values() if other["data"] == row["data"])
        peer = peer_seconds.get((row["data"], own.get(row["contestant"])))
        ratio = f"{peer / row['seconds']:.1f}" if peer and row["threads"] == most else ""
        stages = " | ".join(
            f"{row['stages'][stage]:.3f}" if stage in row["stages"] else "" for stage in STAGES
        )
        quality = row["quality"]
        accuracy = f"{100 * quality['knn_accuracy']:.1f}" if "knn_accuracy" in quality else ""
        lines.append(
            f"| {row['data']} | {row['shape'][0]:,} x {row['shape'][1]} | {row['contestant']} "
            f"| {row['threads']} | {row['seconds']:.3f} | {ratio} | {stages} | {accuracy} "
            f"| {quality['recall_at_10']:.3f} | {quality['trustworthiness']:.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
