"""The stages "judge" and "refine": neighbours of neighbours complete lists that miss too many neighbours.

Where memory does not allow enough guests, neighbours do not meet in any group. A refinement round compares
every row with the neighbours of its neighbours, which may lie in other groups. Rounds read the lists of the
round before and write new ones, so that a task may be done again while others still read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._coverage import chosen
from actup.distributed._estimate import refined_rows
from actup.distributed._lists import Lists, save_lists
from actup.distributed._numbering import Numbering, read_rows_of_group
from actup.distributed._plan import REFINEMENT_ROUNDS, Plan
from actup.neighbors._comparison import resolve

_MIN_ROUND_GAIN = 0.01  # of the recall: a round that gained less is the last one


def lists_after(number: int) -> str:
    """Where the lists after a refinement round lie (0: merged lists), not those that the round reads."""
    return ("lists", "refined")[number % 2]


def record_after(number: int, group: int) -> str:
    """The name of the record of a group's lists after a refinement round (0: merged lists)."""
    return f"refine-{number}-{group}" if number else f"merge-{group}"


def rounds_done(plan: Plan, before: int = REFINEMENT_ROUNDS + 1) -> int:
    """How many refinement rounds before a given one were run; no round follows one that was left out."""
    judged = [plan.folder.record(f"judge-{number}") for number in range(1, before)]
    return sum(record["refines"] for record in judged if record is not None)


def measured_recall(records: list[dict[str, Any]]) -> float:
    """The share of true neighbours found, from the records of all groups' lists."""
    return float(sum(record["found"] for record in records) / sum(record["measured"] for record in records))


def judge(plan: Plan, number: int, threads: int) -> dict[str, Any]:
    """Decide whether a refinement round is run: true neighbours are missing, and the last round helped.

    Without guests no round helps, because all lists stay within their groups.
    """
    done = rounds_done(plan, number)
    recall = measured_recall(
        [plan.folder.require_record(record_after(done, group)) for group in range(plan.groups)]
    )
    before = plan.folder.record(f"judge-{number - 1}")
    if before is None:
        helps = chosen(plan)["spill"] > 1
    else:
        helps = before["refines"] and recall >= before["recall"] + _MIN_ROUND_GAIN
    return {"recall": recall, "refines": bool(helps and recall < plan.recall)}


def refine(plan: Plan, group: int, number: int, threads: int) -> dict[str, Any]:
    """Compare the rows of a group with the neighbours of their neighbours, some rows at a time."""
    if not plan.folder.require_record(f"judge-{number}")["refines"]:
        return {}
    numbering = Numbering.of(plan)
    before = lists_after(number - 1)
    ids, distances = (plan.folder.read(f"{before}/{kind}.{group}") for kind in ("ids", "distances"))
    step = refined_rows(plan.shape, plan.memory, int(numbering.counts.sum(axis=0).max()))
    for begin in range(0, len(ids), step):
        part = slice(begin, begin + step)
        batch = _Batch(plan, numbering, group, begin, ids[part], before)
        ids[part], distances[part] = batch.refined(distances[part], threads)
    return save_lists(plan, numbering, lists_after(number), group, (ids, distances), threads)


class _Batch:
    """Some rows of a group, and the lists of their neighbours.

    Parameters
    ----------
    plan : Plan
    numbering : Numbering
    group : int
    begin : int
        The place of the first row in the group.
    ids : ndarray of shape (rows, k), int32
        The neighbours of the rows.
    lists : str
        Where the lists of all rows lie.
    """

    def __init__(self, plan: Plan, numbering: Numbering, group: int, begin: int, ids: np.ndarray, lists: str):
        self._plan, self._numbering = plan, numbering
        self._ids = ids
        self._first_id = int(numbering.first_ids[group]) + begin
        self._rows = read_rows_of_group(plan, numbering, group, np.arange(begin, begin + len(ids)))
        self._metric = resolve(plan.metric, dict(plan.recipe.metric_kwds), self._rows).for_engine()
        followed = np.unique(ids[:, : engine.MAX_FOLLOWED])
        self._followed_ids = followed[followed >= 0]
        self._followed_lists = self._read_lists(lists)

    def _read_lists(self, name: str) -> np.ndarray:
        """The first neighbours of the rows' neighbours: (followed, up to MAX_FOLLOWED) int32."""
        k, wanted, firsts = self._plan.k, self._followed_ids, self._numbering.first_ids
        lists = np.empty((len(wanted), min(k, engine.MAX_FOLLOWED)), np.int32)
        bounds = np.searchsorted(wanted, firsts)
        for group in np.flatnonzero(np.diff(bounds)):
            part = slice(bounds[group], bounds[group + 1])
            piece = np.empty((part.stop - part.start, k), np.int32)
            self._plan.folder.read_rows(f"{name}/ids.{group}", wanted[part] - int(firsts[group]), piece)
            lists[part] = piece[:, : lists.shape[1]]
        return lists

    def refined(self, distances: np.ndarray, threads: int) -> Lists:
        """The nearest of the rows' neighbours, at these distances, and of the neighbours of those."""
        lists = self._ids, distances
        present = np.searchsorted(self._numbering.first_ids, self._followed_lists.ravel(), side="right") - 1
        counts = np.bincount(present[present >= 0], minlength=self._plan.groups)
        for group in np.flatnonzero(counts):
            lists = self._compared_with(int(group), lists, threads)
        return lists

    def _compared_with(self, group: int, lists: Lists, threads: int) -> Lists:
        """Lists merged with those neighbours of neighbours that belong to a group."""
        first, end = (int(bound) for bound in self._numbering.first_ids[group : group + 2])
        wanted = engine.second_neighbors(
            self._ids, self._first_id, self._followed_ids, self._followed_lists, first, end, threads
        )
        rows = np.flatnonzero((wanted >= 0).any(axis=1))
        if not len(rows):
            return lists
        wanted = wanted[rows]
        is_needed = np.zeros(end - first, bool)
        is_needed[wanted[wanted >= 0] - first] = True
        needed = np.flatnonzero(is_needed)
        place = np.cumsum(is_needed, dtype=np.int32) - 1  # among the needed rows
        candidates = np.where(wanted >= 0, place[np.maximum(wanted - first, 0)], np.int32(-1))
        points = read_rows_of_group(self._plan, self._numbering, group, needed)
        at, found = engine.candidate_neighbors(
            points, self._rows[rows], None, candidates, self._plan.k, self._metric, threads
        )
        more = np.where(np.isfinite(found), needed[at] + first, -1).astype(np.int32)
        ids, distances = (values.copy() for values in lists)
        ids[rows], distances[rows] = engine.merge_neighbors(ids[rows], distances[rows], more, found, threads)
        return ids, distances
