"""Warn if a run begins anew because files were added to its source, or removed from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from actup._warnings import warn_user
from actup.distributed._folder import WorkFolder
from actup.distributed._plan import Plan
from actup.distributed._sources._storage import file_name

_RECORD = "source"  # of the files that a run reads
_NAMED_FILES = 3  # in the warning


def warn_of_other_files(plan: Plan) -> None:
    """Record the files of a new run; warn if the work folder has an unfinished run of almost the same."""
    if plan.folder.record(_RECORD) is not None:
        return
    files = set(plan.source.files)
    for folder, others in _unfinished_runs(Path(plan.work)):
        if files & others and files != others:
            warn_user(
                f"work={plan.work!r} holds an unfinished run of the same source with other files "
                f"({_changes(files, others)}): this call begins anew. Restore the files to go on with that "
                f"run, or remove {folder}"
            )
            break
    plan.folder.write_record(_RECORD, {"files": sorted(files)})


def _unfinished_runs(work: Path) -> Iterator[tuple[Path, set[str]]]:
    """The folders of runs that have no map yet, and the files that they read."""
    for path in sorted(work.glob("actup-*")):
        folder = WorkFolder(path)
        record = folder.record(_RECORD)
        if record is not None and folder.record("layout") is None:
            yield path, set(record["files"])


def _changes(now: set[str], before: set[str]) -> str:
    """Which files were added and removed, in words."""
    changes = []
    for names, what in ((now - before, "new"), (before - now, "missing")):
        shown = [file_name(name) for name in sorted(names)[:_NAMED_FILES]]
        if shown:
            more = f" and {len(names) - _NAMED_FILES} others" if len(names) > _NAMED_FILES else ""
            changes.append(f"{what}: {', '.join(shown)}{more}")
    return "; ".join(changes)
