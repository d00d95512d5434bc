"""Warn if a run begins anew because its source has other files than before, or other numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from actup._warnings import warn_user
from actup.distributed._folder import WorkFolder
from actup.distributed._plan import Plan
from actup.distributed._sources._storage import file_name

_RECORD = "source"  # of the files and shards that a run reads
_NAMED = 3  # files or shards in the warning


def warn_of_other_files(plan: Plan) -> None:
    """Record the files of a new run; warn if the work folder has an unfinished run of almost the same."""
    if plan.folder.record(_RECORD) is not None:
        return
    now = {
        "identity": plan.source.identity(),
        "files": sorted(plan.source.files),
        "shards": [[shard.name, shard.rows] for shard in plan.source.shards],
    }
    for folder, before in _unfinished_runs(Path(plan.work)):
        changes = _changed_files(now, before) or _changed_rows(now, before)
        if changes:
            warn_user(
                f"work={plan.work!r} holds an unfinished run of the same source with other {changes}: this "
                f"call begins anew. Restore the files to go on with that run, or remove {folder}"
            )
            break
    plan.folder.write_record(_RECORD, now)


def _unfinished_runs(work: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folders of runs that have no map yet, and what they read."""
    for path in sorted(work.glob("actup-*")):
        folder = WorkFolder(path)
        record = folder.record(_RECORD)
        if record is not None and folder.record("layout") is None:
            yield path, record


def _changed_files(now: dict[str, Any], before: dict[str, Any]) -> str | None:
    """Which files were added and removed, in words; None if all are the same, or all are different."""
    files, others = set(now["files"]), set(before["files"])
    if files == others or not files & others:
        return None
    changes = []
    for names, what in ((files - others, "new"), (others - files, "missing")):
        if names:
            changes.append(f"{what}: {_listed([file_name(name) for name in sorted(names)])}")
    return f"files ({'; '.join(changes)})"


def _changed_rows(now: dict[str, Any], before: dict[str, Any]) -> str | None:
    """Which shards of the same files have another number of rows, in words; None if none has."""
    if now["identity"] != before.get("identity"):
        return None
    shards, others = dict(now["shards"]), dict(before["shards"])
    changes = [
        f"new: {name}"
        if name not in others
        else f"missing: {name}"
        if name not in shards
        else f"{name} has {shards[name]:,} instead of {others[name]:,}"
        for name in {**shards, **others}
        if shards.get(name) != others.get(name)
    ]
    return f"numbers of rows ({_listed(changes)})" if changes else None


def _listed(names: list[str]) -> str:
    """The first names, and how many others there are."""
    more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
