"""The table of stages, and how one task of a stage is done: once, anywhere, or again after a crash.

A task is a pure function of the plan, of its part, and of files that earlier stages have written. It writes
its own files and then a record that says so. Whoever finds the record does not do the task again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

import actup
from actup._engine import level
from actup.distributed import _cells, _coverage, _graph, _lists, _map, _refine, _scan, _truth
from actup.distributed._disc import explained_full_disc
from actup.distributed._plan import REFINEMENT_ROUNDS, Plan


class Parts(Enum):
    """What a stage has a task for each of."""

    SHARDS = auto()
    GROUPS = auto()
    ONE = auto()


@dataclass(frozen=True)
class Stage:
    """One step of a run.

    Attributes
    ----------
    name : str
    parts : Parts
    function : callable
        ``function(plan, part, threads)``, or ``function(plan, threads)`` if there is one task; returns what
        its record holds.
    removes : tuple of str
        Files that nobody needs after the stage.
    shown_as : str
        The stage of ``actup.progress.Progress`` that it belongs to.
    share : float
        Its share of that stage.
    memory_of : str
        The line of ``plan.explain()`` that says how much memory a task takes.
    """

    name: str
    parts: Parts
    function: Callable[..., dict[str, Any]]
    removes: tuple[str, ...]
    shown_as: str
    share: float
    memory_of: str


def _refinement_rounds() -> Iterator[Stage]:
    for number in range(1, REFINEMENT_ROUNDS + 1):
        used = ("rows/*", "truth/*") if number == REFINEMENT_ROUNDS else ()
        judge, refine = (partial(function, number=number) for function in (_refine.judge, _refine.refine))
        yield Stage(f"judge-{number}", Parts.ONE, judge, (), "neighbors", 0.0, "scan")
        share = 0.1 / REFINEMENT_ROUNDS
        yield Stage(f"refine-{number}", Parts.GROUPS, refine, used, "neighbors", share, "refine")


STAGES = (
    Stage("scan", Parts.SHARDS, _scan.scan, (), "neighbors", 0.05, "scan"),
    Stage("cells", Parts.ONE, _cells.cells, ("sample/*",), "neighbors", 0.05, "cells"),
    Stage("assign", Parts.SHARDS, _cells.assign, (), "neighbors", 0.15, "assign"),
    Stage("truth", Parts.GROUPS, _truth.truth, (), "neighbors", 0.1, "truth"),
    Stage(
        "choose", Parts.ONE, _coverage.choose,
        ("truth/distances.*", "truth/near_of_found.*", "truth/levels*", "levels/*", "assign/guests.*"),
        "neighbors", 0.0, "truth",
    ),
    Stage("search", Parts.GROUPS, _lists.search, ("visits/*", "truth/rows.*"), "neighbors", 0.5, "search"),
    Stage("merge", Parts.GROUPS, _lists.merge, ("search/*",), "neighbors", 0.05, "search"),
    *_refinement_rounds(),
    Stage("mean", Parts.ONE, _graph.mean, ("lists/sums.*", "refined/sums.*"), "graph", 0.0, "scan"),
    Stage(
        "affinity", Parts.GROUPS, _graph.affinity,
        ("lists/distances.*", "refined/distances.*"), "graph", 0.5, "graph",
    ),
    Stage(
        "symmetric", Parts.GROUPS, _graph.symmetric,
        ("lists/*", "refined/*", "edges/*"), "graph", 0.5, "graph",
    ),
    Stage(
        "layout", Parts.ONE, _map.layout,
        ("graph/*", "near/*", "scores/*", "cells/*"), "layout", 1.0, "layout",
    ),
)  # fmt: skip


class VersionMismatch(RuntimeError):
    """A worker has another version or build of ActUp than the client, or none."""


def parts_of(plan: Plan, stage: Stage) -> Sequence[int | None]:
    """The parts that a stage has tasks for."""
    counts = {Parts.SHARDS: len(plan.source.shards), Parts.GROUPS: plan.groups}
    return [None] if stage.parts is Parts.ONE else range(counts[stage.parts])


def record_name(stage: Stage, part: int | None) -> str:
    """The name of a task's record."""
    return stage.name if part is None else f"{stage.name}-{part}"


def run_task(
    plan: Plan, stage: Stage, part: int | None, threads: int, report: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Do a task, unless its record says that it is done, and return its record.

    Parameters
    ----------
    plan : Plan
    stage : Stage
    part : int or None
    threads : int
    report : callable or None
        Called with the share of the layout that is done.
    """
    reject_other_version(plan.version)
    folder, name = plan.folder, record_name(stage, part)
    record = folder.record(name)
    if record is not None:
        return record
    begin, processor = time.perf_counter(), time.process_time()
    arguments: dict[str, Any] = {"report": report} if stage.name == "layout" else {}
    with explained_full_disc(f"work={plan.work!r}"):
        notes = stage.function(plan, *(() if part is None else (part,)), threads=threads, **arguments)
    record = {
        "seconds": time.perf_counter() - begin,
        "processor_seconds": time.process_time() - processor,
        "peak_bytes": peak_memory(),
        "level": level,
        **notes,
    }
    with explained_full_disc(f"work={plan.work!r}"):
        folder.write_record(name, record)
    return record


def remove_used_files(plan: Plan, stage: Stage) -> None:
    """Remove the files that nobody needs once all tasks of a stage are done."""
    plan.folder.remove(*stage.removes)
    if stage.name == "layout":
        plan.folder.remove_state("layout-*")


def reject_other_version(version: str) -> None:
    """Reject a worker whose results may differ from those of the other workers."""
    if version != actup.__version__:
        raise VersionMismatch(
            f"this worker (process {os.getpid()}) has ActUp {actup.__version__}, the plan was made by ActUp "
            f"{version}: install the same version on all workers and in the client"
        )


def peak_memory() -> int:
    """The largest memory that this process has had, in bytes."""
    import sys

    try:
        import resource
    except ImportError:  # Windows
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(largest if sys.platform == "darwin" else largest * 1024)
