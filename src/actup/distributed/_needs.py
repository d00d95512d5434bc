"""What a run over files takes, for people (``Plan.explain``) and for refusing it before it starts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from actup.distributed import _estimate
from actup.distributed._plan import REFINEMENT_ROUNDS, TRUTH_ROWS, Plan


def format_bytes(count: float) -> str:
    """A number of bytes for people."""
    return f"{count / 10**9:.1f} GB" if count >= 10**9 else f"{count / 10**6:.0f} MB"


def explain(plan: Plan) -> str:
    """Memory and processor time of every stage, files, and how rows are divided, in several lines."""
    needs = Needs.of(plan)
    shards = len(plan.source.shards)
    lines = [
        f"{plan.rows:,} rows x {plan.source.columns:,} columns ({plan.source.dtype}) in {shards} "
        f"shard{'s' if shards > 1 else ''}, {plan.k} neighbours per row",
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
        f"core time            {_format_seconds(needs.total_seconds)}, within a factor of three; all stages "
        "but the layout can be spread over workers",
        *_refinement_lines(plan),
        f"key                  {plan.key}",
    ]
    return "\n".join(lines)


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
    """

    memory: dict[str, int]
    seconds: dict[str, float]
    disc: int

    @classmethod
    def of(cls, plan: Plan) -> Needs:
        shape = plan.shape
        truth_rows = min(TRUTH_ROWS, plan.rows)
        return cls(
            _estimate.stage_bytes(shape, plan.memory, plan.groups, plan.block_rows, plan.sample_rows),
            _estimate.processor_seconds(shape, plan.recipe, truth_rows, plan.is_exact),
            _estimate.disc_bytes(shape, plan.recipe.n_components),
        )

    @property
    def peak(self) -> int:
        return max(self.memory.values())

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())


def reject_too_little_room(plan: Plan, memory: int | None, whose: str) -> None:
    """Reject a run that does not fit into memory or on the disc of its work folder.

    Parameters
    ----------
    plan : Plan
    memory : int or None
        Bytes that a process may take; None: nobody knows.
    whose : str
        Whose memory it is, for the error.
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
            f"stage {stage!r} needs {format_bytes(needs.peak)} of memory, but {whose} has "
            f"{format_bytes(memory)}: use {remedy}"
        )
    if plan.folder.path.exists():
        return  # an earlier call has taken part of the space already
    folder = _existing_parent(Path(plan.work))
    free = shutil.disk_usage(folder).free
    if needs.disc > free:
        raise OSError(
            f"work={plan.work!r} needs up to {format_bytes(needs.disc)}, but {folder} has "
            f"{format_bytes(free)} free: choose a folder on another disc"
        )


def _existing_parent(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _format_seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
