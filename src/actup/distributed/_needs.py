"""What a run over files takes, for people (``Plan.explain``) and for refusing it before it starts."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

from actup._bytes import format_available, format_bytes
from actup.distributed import _estimate
from actup.distributed._plan import REFINEMENT_ROUNDS, TRUTH_ROWS, Plan
from actup.distributed._sinks import Sink

_NUMBER_BYTES = 8  # of a row's number in the map
_TEXT_ID_BYTES = 40  # of a row's id, which may be text: a conservative estimate


_SHOWN_COLUMNS = 12  # names in an estimate


def explain(plan: Plan) -> str:
    """Memory and processor time of every stage, files, and how rows are divided, in several lines."""
    needs = Needs.of(plan)
    shards = len(plan.source.shards)
    lines = [
        f"{plan.rows:,} rows x {plan.source.columns:,} columns ({plan.source.dtype}) in {shards} "
        f"shard{'s' if shards > 1 else ''}, {plan.k} neighbours per row",
        *_column_lines(plan),
        f"searched in {plan.groups} group{'s' if plan.groups > 1 else ''} of neighbouring cells"
        + (
            ""
            if plan.groups == 1
            else ", all of them with all others"
            if plan.is_exact
            else "; how many groups a row visits is decided by the true neighbours of "
            f"{min(TRUTH_ROWS, plan.rows):,} rows"
        ),
        "",
        f"{'stage':<8} {'memory':>10} {'core time':>10}",
        *(
            f"{stage:<8} {format_bytes(size):>10} {_format_seconds(needs.seconds.get(stage, 0.0)):>10}"
            for stage, size in needs.memory.items()
        ),
        "",
        f"memory of a process  {format_bytes(needs.peak)}",
        f"files in work        {format_bytes(needs.disc)} at the most",
        *([f"copy of the source   {format_bytes(needs.copy)} in work besides"] if needs.copy else []),
        f"core time            {_format_seconds(needs.total_seconds)}, within a factor of three; all stages "
        "but the layout can be spread over workers",
        *_refinement_lines(plan),
        f"key                  {plan.key}",
    ]
    return "\n".join(lines)


def _column_lines(plan: Plan) -> list[str]:
    """Which columns make a row, if they have names."""
    names = plan.source.column_names
    if names is None:
        return []
    return ["columns " + ", ".join(names[:_SHOWN_COLUMNS]) + (", …" if len(names) > _SHOWN_COLUMNS else "")]


def _refinement_lines(plan: Plan) -> list[str]:
    """What refinement rounds take, if there can be any."""
    if plan.groups == 1 or plan.is_exact:
        return []
    seconds = _format_seconds(_estimate.round_seconds(plan.shape))
    return [
        f"refinement           {seconds} of core time a round, if fewer than {plan.recall:.0%} of neighbours "
        f"are found, and at most {REFINEMENT_ROUNDS} rounds"
    ]


@dataclass(frozen=True)
class Needs:
    """What a run takes.

    Attributes
    ----------
    memory : dict of str to int
        Bytes of every stage.
    seconds : dict of str to float
        Seconds of one core of every stage.
    disc : int
        Bytes of files at a time.
    copy : int
        Bytes of the copy of a collection of Dask, which is written before and stays.
    """

    memory: dict[str, int]
    seconds: dict[str, float]
    disc: int
    copy: int

    @classmethod
    def of(cls, plan: Plan) -> Needs:
        shape = plan.shape
        truth_rows = min(TRUTH_ROWS, plan.rows)
        return cls(
            _estimate.stage_bytes(shape, plan.memory, plan.groups, plan.block_rows, plan.sample_rows),
            _estimate.processor_seconds(shape, plan.recipe, truth_rows, plan.is_exact),
            _estimate.disc_bytes(shape, plan.recipe.n_components),
            plan.source.copy_bytes,
        )

    @property
    def peak(self) -> int:
        return max(self.memory.values())

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())


def reject_too_little_memory(plan: Plan, memory: int | None) -> None:
    """Reject a run in this process that does not fit into memory.

    Parameters
    ----------
    plan : Plan
    memory : int or None
        Bytes that the process may take; None: nobody knows.
    """
    needs = Needs.of(plan)
    if memory is not None and needs.peak > memory:
        stage = max(needs.memory, key=lambda name: needs.memory[name])
        remedy = (
            "a sample of the rows, or a machine with more memory"
            if stage == "layout"
            else f"memory={int(memory)!r}, which makes smaller groups"
        )
        raise MemoryError(
            f"stage {stage!r} needs {format_bytes(needs.peak)} of memory, but this machine has "
            f"{format_available(memory)}: use {remedy}"
        )


def reject_too_little_disc(plan: Plan, sink: Sink) -> None:
    """Reject a run whose files do not fit into the work folder, or whose map does not fit where it goes."""
    work = existing_parent(Path(plan.work))
    if not plan.folder.path.exists():  # else an earlier call has taken part of the space already
        reject_full(f"work={plan.work!r}", work, Needs.of(plan).disc)
    if sink.local_target is None:
        return
    place = existing_parent(Path(sink.local_target).parent)
    if _device(place) != _device(work):  # else files that were removed before leave more room
        id_bytes = _TEXT_ID_BYTES if plan.source.has_ids else _NUMBER_BYTES
        map_bytes = plan.rows * (4 * plan.recipe.n_components + id_bytes)
        reject_full(f"out={sink.local_target!r}", place, map_bytes)


def describe_free(path: Path) -> str:
    """How much room there is for a file or folder that may not exist yet, and where."""
    folder = existing_parent(path)
    return f"{format_bytes(shutil.disk_usage(folder).free)} free in {folder}"


def reject_full(what: str, folder: Path, needed: int, how_sure: str = "up to") -> None:
    """Reject what needs more bytes than the disc of a folder has left."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            errno.ENOSPC,
            f"{what} needs {how_sure} {format_bytes(needed)}, but {folder} has {format_available(free)} "
            "free: choose a folder on another disc",
        )


def _device(path: Path) -> int:
    return path.stat().st_dev


def existing_parent(path: Path) -> Path:
    """The path itself or the nearest folder above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _format_seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
