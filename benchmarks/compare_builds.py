"""Compare two builds of ActUp in turns: what a change of the engine costs, stage by stage.

    python benchmarks/compare_builds.py OLD/src NEW/src [--levels v4 v3] [--rounds 3]

Both folders hold the package and its compiled modules. Maps of MNIST (60,000 rows) are made by both in turn,
in processes of their own, on one thread and on two; figures are the least of all runs, in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

from actup.datasets import load

STAGES = ("neighbors", "graph", "start", "layout")
PRESETS = ("umap", "tsne")
RUNS_PER_PROCESS = 3

# Runs in the process of a build: preset, threads, number of runs.
PROGRAM = """
import json, sys, time
import actup
from actup.datasets import load
X = load("mnist").X[:60000]
preset, threads, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
actup.embed(X[:3000], actup.preset(preset).but(epochs=5), threads=threads)
results = []
for _ in range(runs):
    cpu, wall = time.process_time(), time.perf_counter()
    result = actup.embed(X, preset, threads=threads)
    results.append({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, **result.seconds,
                    "recall": result.neighbors.recall})
print(json.dumps(results))
"""


def run_build(folder: str, level: str, preset: str, threads: int) -> list[dict[str, float]]:
    environment = {**os.environ, "PYTHONPATH": folder, "ACTUP_CPU": level}
    command = [sys.executable, "-c", PROGRAM, preset, str(threads), str(RUNS_PER_PROCESS)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode:
        sys.exit(finished.stderr)
    results: list[dict[str, float]] = json.loads(finished.stdout)
    return results


def compare(folders: list[str], level: str, preset: str, threads: int, rounds: int) -> str:
    """One row of the table."""
    results: list[list[dict[str, float]]] = [[], []]
    for _ in range(rounds):
        for build, folder in enumerate(folders):
            results[build] += run_build(folder, level, preset, threads)
    cells = [level, f"`{preset}`", str(threads)]
    for figure in ("cpu", "wall", *STAGES):
        old, new = (min(run[figure] for run in runs) for runs in results)
        cells.append(f"{old:.3f} → {new:.3f} ({100 * (new / old - 1):+.0f} %)")
    cells.append(" → ".join(f"{runs[0]['recall']:.4f}" for runs in results))
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser: Any = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--levels", nargs="+", default=["v4", "v3"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    load("mnist")  # before any build is timed
    print("| level | map | threads | CPU s | wall s | neighbours s | graph s | start s | layout s | recall |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for level in options.levels:
        for preset in PRESETS:
            for threads in (1, 2):
                folders = [options.old, options.new]
                print(compare(folders, level, preset, threads, options.rounds), flush=True)


if __name__ == "__main__":
    main()
