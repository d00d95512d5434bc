"""The race: ActUp and its peers on the same data and machine, each in a fresh process.

    python benchmarks/race.py [--quick] [--data mnist fashion_mnist] [--points 5000 20000 60000]
                              [--peer-python PATH] [--only NAME ...] [--again]

Measures the import, the first (cold) and the fastest (warm) run from the data to the map, the stages and the
time of an epoch where they are known, the peak memory, and the quality of the map. Every row is saved in
benchmarks/results/race.json as soon as it is measured, with versions and machine, and not measured again. A
contestant that is not installed (``pip install .[race]``) or crashes is saved with the reason, and tried
again the next time. ``--peer-python`` names the interpreter of another environment for the peers. ``--quick``
measures all its rows again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
from contestants import CONTESTANTS
from race_page import cold, markdown, warm
from report import save, saved
from workers import Conditions, run_worker

from actup import quality
from actup._experiments.environment import machine
from actup.datasets import load

ROOT = Path(__file__).parents[1]
RUNS = 3  # one cold, two warm
QUICK = ("actup UMAP", "actup GDR", "actup TSNE", "actup GDR, normalised", "umap-learn", "openTSNE")
LAST = "scikit-learn TSNE"  # six minutes at 60,000 points on two cores


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="2,000 points and only the main contestants")
    arguments.add_argument("--data", nargs="+", default=["mnist", "fashion_mnist"])
    arguments.add_argument("--points", nargs="+", type=int, default=[5_000, 20_000, 60_000])
    arguments.add_argument("--peer-python", default=sys.executable, help="interpreter of the peers")
    arguments.add_argument("--only", nargs="+", choices=list(CONTESTANTS), help="only these contestants")
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    options = arguments.parse_args()
    name = "race_quick" if options.quick else "race"
    again = options.again or options.quick
    rows = {} if options.quick else {key(row): row for row in saved(name).get("rows", [])}
    for wanted in entries(options):
        before = rows.get(key(wanted))
        if before is not None and "seconds" in before and not again:
            continue
        python = sys.executable if wanted["contestant"].startswith("actup") else options.peer_python
        row = wanted | run(wanted, python, 2 if options.quick else RUNS) | {"machine": machine()}
        show(row)
        if "absent" in row and before is not None and "seconds" in before:
            continue  # keep what another environment measured
        rows[key(row)] = row
        save(name, {"rows": in_order(rows)}, ["actup", "numpy", "scipy", "scikit-learn"])
    print(markdown({"rows": in_order(rows)}))


def in_order(rows: dict) -> list[dict]:
    """The rows in the order of the contestants."""
    places = {name: place for place, name in enumerate(CONTESTANTS)}
    return sorted(rows.values(), key=lambda row: places.get(row["contestant"], len(places)))


def entries(options: argparse.Namespace) -> list[dict]:
    """What to run, in order: contestant, data and number of points; the slowest contestant is last."""
    chosen = options.only or (QUICK if options.quick else CONTESTANTS)
    every = [
        {"contestant": contestant, "data": data, "points": points}
        for data, points in sizes(options)
        for contestant in chosen
    ]
    return sorted(every, key=lambda entry: entry["contestant"] == LAST)


def sizes(options: argparse.Namespace) -> list[tuple[str, int]]:
    """Data sets and numbers of points: all sizes of the first data set, the largest size of the others."""
    if options.quick:
        return [("digits", 1_797)] if missing("mnist") else [("mnist", 2_000)]
    first, *others = options.data
    largest = max(options.points)
    return [(first, points) for points in sorted(options.points)] + [(other, largest) for other in others]


def missing(name: str) -> bool:
    try:
        load(name)
    except FileNotFoundError:
        return True
    return False


def key(row: dict) -> tuple:
    return row["contestant"], row["data"], row["points"]


def run(wanted: dict, python: str, runs: int) -> dict:
    """Run one contestant in a fresh process: its times and quality, or the reason why it did not run."""
    dataset = load(wanted["data"], n_samples=wanted["points"])
    X = np.ascontiguousarray(dataset.X, np.float32)
    row, Y = run_worker("contestants.py", wanted["contestant"], X, Conditions(runs, python))
    if Y is None:
        return row
    if "actup" in row["versions"]:
        row["versions"]["actup"] += commit()
    return row | {"quality": map_quality(X, Y, dataset.y)}


def commit() -> str:
    """The commit that last changed ActUp's sources, because many commits share one version number."""
    try:
        command = ["git", "log", "-1", "--format=%h", "--", "src/actup"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" ({found})" if found else ""


def map_quality(X: np.ndarray, Y: np.ndarray, y: np.ndarray) -> dict:
    sample = min(2_000, len(X))
    return {
        "knn_accuracy": quality.knn_accuracy(Y, y),
        "v_measure": quality.v_measure(Y, y),
        "recall_at_10": quality.neighbor_recall(X, Y, 10, sample=sample),
        "trustworthiness": quality.trustworthiness(X, Y, 15, sample=sample),
    }


def show(row: dict) -> None:
    what = f"{row['data']} {row['points']:,} {row['contestant']}"
    if "seconds" not in row:
        print(f"{what}: did not run: {row.get('failed') or row['absent']}", flush=True)
        return
    again = warm(row)
    print(
        f"{what}: import {row['import']:.2f} s, cold {cold(row):.2f} s,"
        f" {'no warm run' if again is None else f'warm {again:.2f} s'},"
        f" {row['megabytes']:.0f} MB, accuracy {100 * row['quality']['knn_accuracy']:.1f},"
        f" recall {row['quality']['recall_at_10']:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
