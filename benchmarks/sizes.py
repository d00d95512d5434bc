"""ActUp and its peers at every size: rows, columns and threads, with the quality of each map.

    python benchmarks/sizes.py [--methods umap tsne neighbors] [--rows 500 2000 ...] [--columns 10 50 784]
                               [--threads 1 2] [--levels v3] [--minutes M] [--peer-python PATH] [--again]
                               [--page-only]

Rows are convex combinations of three near rows of MNIST with noise: pixels, or their leading principal
components. Each contestant runs in a fresh process that may use some of the cores. The first run, which
compiles, is not counted; the others (5, or fewer of slow ones) give the median. ``--levels v3`` also measures
ActUp's engine for processors without AVX-512. Results are saved in benchmarks/results/sizes.json as they are
measured and not measured again, smallest sizes first. With ``--minutes`` nothing is begun that is not
expected to end in time: the same command goes on where it stopped. At the end docs/benchmarks-sizes.md and
its picture are written. The page names every size at which ActUp is not ahead.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product

import numpy as np
from race import map_quality
from report import load, save, saved
from scale import Blend
from size_page import write_page
from workers import Conditions, run_worker

# method: ActUp's contestant, the peer's, and the largest number of rows at which the peer is run
METHODS = {
    "umap": ("actup UMAP", "umap-learn", 1_000_000),
    "tsne": ("actup TSNE", "openTSNE", 200_000),
    "neighbors": ("actup", "pynndescent", 1_000_000),
}
RUNS = 6  # the first is not counted
SECONDS = 10.0  # no run of a worker is begun after as many of counted ones
FIRST_WORKER_SECONDS = 30.0  # what a worker is expected to take before one of its sort has been measured
PACKAGES = ["actup", "umap-learn", "openTSNE", "pynndescent", "numpy", "scipy", "scikit-learn"]


@dataclass(frozen=True)
class Entry:
    """One contestant at one size.

    Attributes
    ----------
    method, contestant : str
    rows, columns, threads : int
    level : str
        The level of ActUp's engine; "": that of the processor.
    """

    method: str
    contestant: str
    rows: int
    columns: int
    threads: int
    level: str = ""

    @property
    def key(self) -> str:
        return " ".join(map(str, asdict(self).values())).strip()


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    sizes = [500, 2_000, 5_000, 20_000, 60_000, 200_000, 1_000_000]
    arguments.add_argument("--rows", nargs="+", type=int, default=sizes)
    arguments.add_argument("--columns", nargs="+", type=int, default=[10, 50, 784])
    arguments.add_argument("--threads", nargs="+", type=int, default=sorted({1, min(2, cores), cores}))
    arguments.add_argument("--levels", nargs="*", default=[])
    arguments.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    arguments.add_argument("--peer-python", default=sys.executable, help="interpreter of the peers")
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--page-only", action="store_true", help="write the page from saved results")
    options = arguments.parse_args()
    results, end = saved("sizes"), time.perf_counter() + 60 * options.minutes
    for entry in [] if options.page_only else entries(options):
        if "seconds" in results.get(entry.key, {}) and not options.again:
            continue
        if time.perf_counter() + expected_seconds(entry, results) > end:
            print(f"{entry.key}: not in this time", flush=True)
            continue
        is_peer = entry.contestant == METHODS[entry.method][1]
        row = asdict(entry) | run(entry, options.peer_python if is_peer else sys.executable)
        print(entry.key, row.get("seconds") or row.get("failed") or row.get("absent"), flush=True)
        if "absent" in row and entry.key in results:
            continue  # keep what another environment measured
        results[entry.key] = row
        save("sizes", results, PACKAGES)
    write_page(load("sizes"))


def entries(options: argparse.Namespace) -> list[Entry]:
    """What to run, the smallest sizes first; a peer runs right after ActUp."""
    chosen = []
    for rows, method, columns, threads in product(
        sorted(options.rows), options.methods, options.columns, options.threads
    ):
        own, peer, most = METHODS[method]
        chosen.append(Entry(method, own, rows, columns, threads))
        if rows <= most:
            chosen.append(Entry(method, peer, rows, columns, threads))
        chosen += [Entry(method, own, rows, columns, threads, level) for level in options.levels]
    return chosen


@cache
def blend(columns: int) -> Blend:
    return Blend(pixels=columns > 50)


def rows_of(entry: Entry) -> tuple[np.ndarray, np.ndarray]:
    """The rows and labels of an entry."""
    X, y = blend(entry.columns).draw(entry.rows, seed=0)
    return np.ascontiguousarray(X[:, : entry.columns]), y


def run(entry: Entry, python: str) -> dict:
    """Run a contestant in a fresh process; returns its seconds and quality, or why it did not run."""
    X, y = rows_of(entry)
    program = "neighbor_worker.py" if entry.method == "neighbors" else "contestants.py"
    conditions = Conditions(RUNS, python, SECONDS, entry.threads, entry.level)
    begin = time.perf_counter()
    row, found = run_worker(program, entry.contestant, X, conditions)
    if found is None:
        return row
    warm = row["seconds"][1:]
    figures = {"recall": row["recall"]} if entry.method == "neighbors" else map_quality(X, found, y)
    return {
        "seconds": float(np.median(warm or row["seconds"])),
        "runs": len(warm),  # 0: only the first one, which may have compiled
        "worker_seconds": time.perf_counter() - begin,
        "versions": row["versions"],
        "quality": figures,
    }


def expected_seconds(entry: Entry, results: dict[str, dict]) -> float:
    """The time of a worker, from that of the next smaller size that was measured."""

    def sort(row: dict | Entry) -> tuple:
        row = asdict(row) if isinstance(row, Entry) else row
        return tuple(row[name] for name in ("method", "contestant", "columns", "threads", "level"))

    smaller = [
        row
        for row in results.values()
        if "worker_seconds" in row and sort(row) == sort(entry) and row["rows"] < entry.rows
    ]
    if not smaller:
        return FIRST_WORKER_SECONDS
    last = max(smaller, key=lambda row: row["rows"])
    return float(last["worker_seconds"]) * max(1.0, entry.rows / last["rows"] / RUNS)


if __name__ == "__main__":
    main()
