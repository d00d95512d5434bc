"""The runner: does the missing runs, data set by data set, and stores each result at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from actup._experiments.experiment import Run
from actup._experiments.measures import measure
from actup._experiments.results import Store
from actup._experiments.workspace import Workspace
from actup.datasets import Dataset, MissingDataset, load


@dataclass(frozen=True)
class DataSource:
    """Where data sets come from: a folder (None: the one ACTUP_DATA names) and, if allowed, OpenML."""

    folder: Path | None = None
    download: bool = False

    def load(self, name: str, points: int | None) -> Dataset:
        """Load a data set, or a random sample of its points."""
        return load(name, folder=self.folder, download=self.download, n_samples=points)


def run_missing(
    runs: Iterable[Run],
    store: Store,
    source: DataSource,
    threads: int,
    before_each: Callable[[], object] = lambda: None,
) -> list[str]:
    """Do all runs that are not in the store; return the names of data sets that could not be loaded.

    ``before_each`` is called before every run; what it raises ends the work.
    """
    pending = [run for run in dict.fromkeys(runs) if run not in store]
    groups: dict[tuple[str, int | None], list[Run]] = {}
    for run in pending:
        groups.setdefault((run.data, run.points), []).append(run)
    done = 0
    missing: list[str] = []
    for (name, points), group in groups.items():
        if name in missing:
            done += len(group)
            continue
        try:
            dataset = source.load(name, points)
        except MissingDataset as reason:
            print(f"actup: skipped {len(group)} runs: {reason}", file=sys.stderr, flush=True)
            missing.append(name)
            done += len(group)
            continue
        max_neighbors = max(run.recipe.neighbors_searched(len(dataset)) for run in group)
        workspace = Workspace(dataset, threads, max_neighbors)
        for run in group:
            done += 1
            before_each()
            run_one(run, workspace, store, f"[{done}/{len(pending)}]")
    return missing


def run_one(run: Run, workspace: Workspace, store: Store, progress: str) -> None:
    """Do one run, store its result and print a line about it."""
    begin = time.perf_counter()
    results = measure(run, workspace, store)
    if workspace.dataset.y is not None:
        store.save_labels(run, workspace.dataset.y)
    seconds = time.perf_counter() - begin
    store.append(run, results, seconds, workspace.threads)
    values = ", ".join(
        f"{name} {results[name]:.3g}" for name in ("knn_accuracy", "v_measure", "unrolled") if name in results
    )
    what = (
        f"{run.data} ({run.points or len(workspace.dataset):,}), {run.label or run.measure}, seed {run.seed}"
    )
    print(f"actup: {progress} {what}: {values or 'done'} in {seconds:.1f} s", file=sys.stderr, flush=True)
