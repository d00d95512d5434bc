"""How well ``actup embed --dry-run`` estimates the time of a map, stage by stage.

    python benchmarks/estimates.py [--data digits mnist] [--points 1000 10000 60000]

Compares the estimate for one thread with the processor time that each stage takes, which depends little on
what else the machine does. Prints a table; the constants are in ``actup/_cli/estimate.py``.
"""

from __future__ import annotations

import argparse
import time

import actup
from actup._cli.estimate import estimate_map

METHODS = {"umap": actup.UMAP, "tsne": actup.TSNE}
STAGES = ("neighbors", "graph", "start", "layout")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="+", default=["digits"], help="names of actup.datasets")
    arguments.add_argument("--points", nargs="+", type=int, default=[500, 1000, 10_000, 60_000])
    options = arguments.parse_args()
    print("| data | points | columns | method |", *(f" {stage} |" for stage in STAGES), " all |", sep="")
    print("|---|---:|---:|---|---:|---:|---:|---:|---:|")
    for name in options.data:
        full = actup.datasets.load(name)
        for points in sorted({min(count, len(full)) for count in options.points}):
            X = actup.datasets.load(name, n_samples=points).X
            for method in METHODS:
                cells = compared(X, method)
                print(f"| {name} | {points:,} | {X.shape[1]} | {method} | {cells} |", flush=True)
    print("\nEstimated / measured seconds of one core.")


def compared(X, method: str) -> str:
    """The cells of one row."""
    estimated = estimate_map(X, actup.preset(method), threads=1).seconds
    begun, measured = {}, {}

    def note(stage: str, fraction: float, embedding: object) -> None:
        now = time.process_time()
        measured[stage] = now - begun.setdefault(stage, now)

    METHODS[method](random_state=0, callback=note).fit(X)
    cells = [f"{estimated[stage]:.2f} / {measured[stage]:.2f}" for stage in STAGES]
    return " | ".join([*cells, f"{sum(estimated.values()):.2f} / {sum(measured.values()):.2f}"])


if __name__ == "__main__":
    main()
