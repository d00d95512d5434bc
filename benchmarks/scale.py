"""Maps of rows in files: bits, recall, memory and time, beside the run in memory.

    python benchmarks/scale.py [--parts bits recall quality workers memory] [--rows 10000000] [--work FOLDER]

``bits``     hashes of lists, graph and map: in process at 1 and 2 threads, on 1, 2 and 3 Dask workers, on
             workers of different levels, after SIGKILL of a worker in every stage, and of clients
``recall``   measured on 1,000 rows that decided nothing, for several kinds of rows and numbers of groups; the
             processor time of the neighbours beside that of the search in memory
``quality``  label accuracy, kept neighbours and trustworthiness of the map beside the map in memory
``workers``  two Dask workers that may use twice the memory of the plan: how much they use, and whether Dask
             pauses or ends one
``memory``   end to end from parquet files: peak of anonymous memory, seconds, files

Rows are convex combinations of three near rows of MNIST, reduced to 50 columns, with noise: the label is that
of the heaviest of the three. Each part runs in processes of its own. Results are saved in
benchmarks/results/scale.json as soon as they are measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from report import save, saved

PACKAGES = ["actup", "numpy", "scipy", "scikit-learn", "dask", "distributed", "pyarrow"]
SEARCH_STAGES = ["scan", "cells", "assign", "truth", "choose", "search", "merge"]
HELD_ROWS = 1000


# --- rows ---


class Blend:
    """Random convex combinations of three near rows of MNIST, plus noise.

    Parameters
    ----------
    pixels : bool, default=False
        Whether rows are the 784 pixels; otherwise, their 50 leading principal components.
    """

    def __init__(self, pixels: bool = False) -> None:
        from sklearn.decomposition import PCA

        import actup
        from actup.datasets import load

        mnist = load("mnist")
        X, self.y = mnist.X, mnist.y
        components = PCA(50, random_state=0).fit_transform(X.astype(np.float32)).astype(np.float32)
        self.near = actup.nearest_neighbors(components, 10).indices
        self.rows = X.astype(np.float32) if pixels else components

    def draw(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows (count, columns) float32 and their labels."""
        random = np.random.default_rng(seed)
        first = random.integers(len(self.rows), size=count)
        others = self.near[first[:, None], random.integers(10, size=(count, 2))]
        members = np.column_stack([first, others])
        weights = random.dirichlet([1.0, 1.0, 1.0], size=count).astype(np.float32)
        rows = np.einsum("nj,njc->nc", weights, self.rows[members])
        rows += random.normal(scale=20, size=rows.shape).astype(np.float32)
        return rows, self.y[members[np.arange(count), weights.argmax(axis=1)]]


def write_blend(folder: Path, rows: int, shard_rows: int, kind: str) -> np.ndarray:
    """Write rows as .npy or parquet files into a folder; returns their labels."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = [min(shard_rows, rows - begin) for begin in range(0, rows, shard_rows)]
    paths = [folder / f"part-{number:05d}.{kind}" for number in range(len(counts))]
    with ProcessPoolExecutor(initializer=_make_blend) as pool:
        return np.concatenate(list(pool.map(_write_part, range(len(counts)), counts, paths)))


_blend: Blend | None = None  # of each process that writes files


def _make_blend() -> None:
    global _blend
    _blend = Blend()


def _write_part(number: int, count: int, path: Path) -> np.ndarray:
    assert _blend is not None
    part, labels = _blend.draw(count, number)
    if path.suffix == ".npy":
        np.save(path, part)
    else:
        write_parquet(path, part)
    return labels


def write_parquet(path: Path, rows: np.ndarray) -> None:
    """One column of lists of equal lengths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({"vector": lists}), path, row_group_size=2**16)


def hard_rows(kind: str, seed: int = 0) -> np.ndarray:
    """Rows that are hard to divide, or to search."""
    random = np.random.default_rng(seed)
    if kind == "words":
        from actup.datasets import load

        return load("word_vectors").X.astype(np.float32)
    if kind == "noise":
        return random.normal(size=(300_000, 20)).astype(np.float32)
    rows = Blend().draw(200_000, seed)[0]
    half = len(rows) // 2
    if kind == "giant_cell":  # half of all rows in one tight cluster
        rows[:half] = rows[0] + random.normal(scale=2, size=(half, rows.shape[1]))
    else:  # heavy duplicates: half of all rows are equal, a quarter comes ten times
        rows[:half] = rows[0]
        rows[half : half + half // 2] = np.repeat(rows[half : half + half // 20], 10, axis=0)[: half // 2]
    return rows[random.permutation(len(rows))]


def cluster(workers: int, memory_limit: str | int):
    """A Dask client with workers in processes of their own."""
    from distributed import Client, LocalCluster

    local = LocalCluster(
        n_workers=workers, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=None
    )
    return Client(local)


# --- recall ---


def run_recall(work: Path, rows: int) -> dict:
    """Recall of held rows and processor time, beside the search in memory."""
    results = {}
    write_blend(work / "blend", rows, 250_000, "npy")
    blend = sorted((work / "blend").iterdir())
    loaded = np.concatenate([np.load(path) for path in blend])
    memory = in_memory_search(loaded)
    held = Held(loaded)
    for groups in (4, 8, 16):
        results[f"blend {rows}, {groups} groups"] = measured(work, blend, groups, held, memory)
    del loaded, held
    for kind in ("words", "noise", "giant_cell", "duplicates"):
        X = hard_rows(kind)
        path = work / f"{kind}.npy"
        np.save(path, X)
        results[kind] = measured(work, [path], 8, Held(X), in_memory_search(X))
    return results


def in_memory_search(X: np.ndarray) -> dict:
    """Processor seconds and recall of the search in memory."""
    import actup

    begin = time.process_time()
    found = actup.nearest_neighbors(X, 14)
    return {"processor_seconds": time.process_time() - begin, "recall": found.recall}


class Held:
    """The true neighbours of some rows, which decide nothing in a run."""

    def __init__(self, X: np.ndarray) -> None:
        import actup

        self.rows = np.sort(np.random.default_rng(99).choice(len(X), HELD_ROWS, replace=False))
        found = actup.NeighborIndex(X, algorithm="exact").query(X[self.rows], 15)
        is_self = found.indices == self.rows[:, None]
        order = np.argsort(is_self, axis=1, kind="stable")[:, :14]
        self.true = np.take_along_axis(np.where(is_self, np.inf, found.distances), order, 1)


def measured(work: Path, files: list[Path], groups: int, held: Held, memory: dict) -> dict:
    """Run the stages up to the lists; recall of held rows, processor time and its ratio."""
    import actup
    from actup.distributed import _tasks, make_plan
    from actup.neighbors._calibration import shares_found

    folder = work / "run"
    plan = make_plan(files, actup.preset("umap"), work=folder, backend="cpu")
    plan = replace(plan, groups=groups, block_rows=min(plan.block_rows, plan.rows))
    seconds = {}
    for stage in _tasks.STAGES:
        if stage.name not in SEARCH_STAGES:
            break
        records = [_tasks.run_task(plan, stage, part, 2) for part in _tasks.parts_of(plan, stage)]
        seconds[stage.name] = sum(record["processor_seconds"] for record in records)
        if stage.name == "choose":
            decided = records[0]
    distances = held_distances(plan, held.rows)
    shutil.rmtree(folder)
    total = sum(seconds.values())
    return {
        "groups": groups,
        "spill": decided["spill"],
        "coverage": decided["coverage"][-1],
        "extra_rows": decided["extra_rows"],
        "recall": float(shares_found(distances, held.true.astype(np.float32)).mean()),
        "processor_seconds": seconds,
        "in_memory": memory,
        "ratio": total / memory["processor_seconds"],
    }


def held_distances(plan, rows: np.ndarray) -> np.ndarray:
    """The distances in the merged lists of rows of the source."""
    from actup.distributed._numbering import Numbering

    numbering = Numbering.of(plan)
    ids = np.empty(plan.rows, np.int64)
    for number, block in enumerate(plan.blocks):
        order = plan.folder.read(f"order/{number}").astype(np.int64)
        first = plan.first_row_of_shard[block.shard] + block.begin
        ids[first + order] = numbering.ids_at(number, np.arange(block.rows))
    lists = np.concatenate([plan.folder.read(f"lists/distances.{group}") for group in range(plan.groups)])
    return lists[ids[rows]]


# --- quality ---


def run_quality(work: Path) -> dict:
    """The map of 400,000 rows in 8 groups beside the map in memory."""
    import actup
    from actup.distributed import make_plan
    from actup.distributed._api import run_plan
    from actup.progress import Progress

    labels = write_blend(work / "rows", 400_000, 50_000, "npy")
    files = sorted((work / "rows").iterdir())
    plan = replace(make_plan(files, "umap", work=work / "run", backend="cpu"), groups=8)
    result = run_plan(plan, None, None, 2, Progress())
    X = np.concatenate([np.load(path) for path in files])
    maps = {"files": np.load(result.embedding), "memory": actup.embed(X, "umap").embedding}
    sample = np.random.default_rng(0).choice(len(X), 10_000, replace=False)
    report = {name: actup.quality_report(X[sample], Y[sample], labels[sample]) for name, Y in maps.items()}
    return {
        name: {measure: float(value) for measure, value in values.items()} for name, values in report.items()
    }


# --- workers ---


def run_workers(work: Path, rows: int = 1_000_000) -> dict:
    """A run on two workers whose limit is twice the memory of the plan."""
    from actup.distributed import make_plan
    from actup.distributed._api import run_plan
    from actup.distributed._needs import Needs
    from actup.progress import Progress

    write_blend(work / "rows", rows, 125_000, "npy")
    plan = make_plan(sorted((work / "rows").iterdir()), "umap", work=work / "run", backend="cpu")
    planned = Needs.of(plan).peak
    with cluster(2, 2 * planned) as client:
        before = set(client.run(os.getpid).values())
        result = run_plan(plan, client, None, 2, Progress())
        workers = list(client.scheduler_info(n_workers=-1)["workers"])  # which log their changes of status
        events = [event for worker in workers for _, event in client.get_events(worker) or ()]
        after = set(client.run(os.getpid).values())
    paused = [event for event in events if isinstance(event, dict) and event.get("status") == "paused"]
    return {
        "rows": rows,
        "groups": plan.groups,
        "planned_bytes": planned,
        "peak_bytes": result.peak_bytes,
        "pauses": len(paused),
        "workers_ended": len(before - after),
        "recall": result.recall,
    }


# --- memory ---

_MEASURED = """
import json, sys, threading, time
peak, done = [0], threading.Event()
def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))
def watch():
    while not done.wait(0.02):
        peak[0] = max(peak[0], anonymous())
threading.Thread(target=watch, daemon=True).start()
base = anonymous()
from actup import distributed
begin = time.perf_counter()
work, out, memory, *files = sys.argv[1:]
source = files if len(files) > 1 else files[0]
result = distributed.embed(source, "umap", work=work, out=out, memory=int(memory), backend="cpu")
done.set()
print(json.dumps(dict(peak=peak[0], base=base, seconds=time.perf_counter() - begin, recall=result.recall,
    groups=result.groups, spill=result.spill, extra_rows=result.extra_rows, stages=result.seconds,
    processor_seconds=result.processor_seconds)))
"""


def run_memory(work: Path, rows: int, memory: int, kind: str) -> dict:
    """A map of files in a process of its own: peak of anonymous memory, seconds, files."""
    source = work / f"{kind}-{rows}"
    write_blend(source, rows, 500_000, kind)
    largest, stop = [0], threading.Event()

    def watch_files() -> None:
        while not stop.wait(1):
            sizes = (path.stat().st_size for path in (work / "run").rglob("*") if path.is_file())
            try:
                largest[0] = max(largest[0], sum(sizes))
            except FileNotFoundError:  # removed meanwhile
                continue

    watch = threading.Thread(target=watch_files)
    watch.start()
    files = [str(source)] if kind == "parquet" else sorted(map(str, source.iterdir()))
    command = [
        sys.executable,
        "-c",
        _MEASURED,
        str(work / "run"),
        str(work / f"map.{kind}"),
        str(memory),
        *files,
    ]
    try:
        finished = subprocess.run(command, check=True, capture_output=True, text=True)
    finally:
        stop.set()
        watch.join()
    shutil.rmtree(work / "run")
    measured = json.loads(finished.stdout)
    measured |= {
        "rows": rows,
        "bytes_per_row": measured["peak"] / rows,
        "files_bytes": largest[0],
        "limit": memory,
    }
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", default=["bits", "recall", "quality", "workers", "memory"])
    parser.add_argument("--rows", type=int, nargs="+", default=[4_000_000, 10_000_000], help="of part memory")
    parser.add_argument("--kind", choices=["parquet", "npy"], default="parquet", help="files of part memory")
    parser.add_argument("--recall-rows", type=int, default=2_000_000)
    parser.add_argument("--work", type=Path, default=None)
    options = parser.parse_args()
    results = saved("scale")
    for part in options.parts:
        folder = Path(tempfile.mkdtemp(dir=options.work))
        try:
            if part == "bits":
                from scale_bits import run_bits

                results["bits"] = run_bits(folder)
            elif part == "recall":
                results["recall"] = run_recall(folder, options.recall_rows)
            elif part == "quality":
                results["quality"] = run_quality(folder)
            elif part == "workers":
                results["workers"] = run_workers(folder)
            else:
                for rows in options.rows:
                    memory = 5 * 10**9 if rows > 4_000_000 else 350 * rows
                    results[f"memory {rows}"] = run_memory(folder, rows, memory, options.kind)
                    save("scale", results, PACKAGES)
                    print(json.dumps(results[f"memory {rows}"], indent=1))
            save("scale", results, PACKAGES)
            print(json.dumps(results.get(part, {}), indent=1))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
