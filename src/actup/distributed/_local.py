"""Run a plan in this process: one task after the other, each on all threads."""

from __future__ import annotations

from typing import Any

from actup._whole_file import remove_unfinished
from actup.distributed._plan import Plan
from actup.distributed._tasks import STAGES, parts_of, record_name, remove_used_files, run_task
from actup.progress import Progress


def run_here(plan: Plan, threads: int, progress: Progress) -> dict[str, dict[str, Any]]:
    """Do all tasks of a plan that are not done yet.

    Returns
    -------
    dict of str to dict
        The records of all tasks.
    """
    remove_unfinished(plan.folder.path)  # of an earlier run that was killed
    records: dict[str, dict[str, Any]] = {}
    before = dict.fromkeys((stage.shown_as for stage in STAGES), 0.0)
    for stage in STAGES:
        parts = parts_of(plan, stage)

        def show(fraction: float, stage: Any = stage) -> None:
            progress.report(stage.shown_as, min(1.0, before[stage.shown_as] + stage.share * fraction))

        show(0.0)
        for number, part in enumerate(parts):
            name = record_name(stage, part)
            records[name] = run_task(plan, stage, part, threads, show)
            show((number + 1) / len(parts))
        before[stage.shown_as] += stage.share
        remove_used_files(plan, stage)
    return records
