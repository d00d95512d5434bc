"""ActUp and its peers at every size: rows, columns and threads, with the quality of each map.

    python benchmarks/sizes.py [--methods umap tsne neighbors] [--rows 500 2000 ...] [--columns 10 50 784]
                               [--threads 1 2] [--levels v3] [--peer-python PATH] [--again] [--page-only]

Rows are convex combinations of three near rows of MNIST with noise: pixels, or their leading principal
components. Each contestant runs in a fresh process that may use some of the cores. The first run, which
compiles, is not counted; the others (5, or fewer of slow ones) give the median. ``--levels v3`` also measures
ActUp's engine for processors without AVX-512. Results are saved in benchmarks/results/sizes.json as they are
measured and not measured again; at the end docs/benchmarks-sizes.md and its picture are written. The page
names every size at which ActUp is not ahead.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from race import map_quality, reason
from report import save, saved
from scale import Blend
from size_page import write_page

WORKERS = Path(__file__).parent
# method: ActUp's contestant, the peer's, and the largest number of rows at which the peer is run
METHODS = {
    "umap": ("actup UMAP", "umap-learn", 1_000_000),
    "tsne": ("actup TSNE", "openTSNE", 200_000),
    "neighbors": ("actup", "pynndescent", 1_000_000),
}
RUNS = 6  # the first is not counted
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
    arguments.add_argument("--peer-python", default=sys.executable, help="interpreter of the peers")
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--page-only", action="store_true", help="write the page from saved results")
    options = arguments.parse_args()
    results = saved("sizes")
    for entry in [] if options.page_only else entries(options):
        if "seconds" in results.get(entry.key, {}) and not options.again:
            continue
        is_peer = entry.contestant == METHODS[entry.method][1]
        row = asdict(entry) | run(entry, options.peer_python if is_peer else sys.executable)
        print(entry.key, row.get("seconds") or row.get("failed") or row.get("absent"), flush=True)
        if "absent" in row and entry.key in results:
            continue  # keep what another environment measured
        results[entry.key] = row
        save("sizes", results, PACKAGES)
    write_page(list(results.values()))


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
    environment = {
        **os.environ,
        **{name: str(entry.threads) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")},
    }
    if entry.level:
        environment["ACTUP_CPU"] = entry.level
    program = "neighbor_worker.py" if entry.method == "neighbors" else "contestants.py"
    cores = sorted(os.sched_getaffinity(0))[: entry.threads]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "X.npy", Path(folder) / "Y.npy"
        np.save(source, X)
        done = subprocess.run(
            [python, str(WORKERS / program), entry.contestant, str(source), str(target), str(RUNS)],
            capture_output=True, text=True, check=False, env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )  # fmt: skip
        if done.returncode:
            return {"failed": reason(done)}
        row = json.loads(done.stdout.strip().splitlines()[-1])
        if "absent" in row:
            return row
        found = np.load(target)
    warm = row["seconds"][1:] or row["seconds"]
    figures = {"recall": row["recall"]} if entry.method == "neighbors" else map_quality(X, found, y)
    return {
        "seconds": float(np.median(warm)),
        "runs": len(warm),
        "versions": row["versions"],
        "quality": figures,
    }


if __name__ == "__main__":
    main()
