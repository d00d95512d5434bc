"""The stage "choose": in how many groups rows must be searched so that neighbours meet.

The coverage is the share of true neighbours that share a group with their row; they are known for some rows.
Of the rules that cover enough, the one with the fewest guests is chosen.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._estimate import searched_rows
from actup.distributed._numbering import Numbering
from actup.distributed._plan import Plan
from actup.distributed._truth import TruthRows
from actup.neighbors._calibration import RELATIVE_ROUNDING, shares_found

_MAX_GROUP_RECALL = 0.999  # a search within a group is not asked for more


def wanted_coverage(recall: float) -> float:
    """The coverage that leaves the searches within groups room for two thirds of the misses."""
    return 1 - (1 - recall) / 3


def choose(plan: Plan, threads: int) -> dict[str, Any]:
    """Choose which rows are guests: those with a cell of another group among their near cells (``spill``).

    Of those, cells that are much farther away than the nearest one (beyond ``level``) do not count.
    """
    folder = plan.folder
    numbering = Numbering.of(plan)
    asked = TruthRows(plan, numbering)
    distances, near, levels = (
        np.concatenate([folder.read(f"truth/{kind}.{group}") for group in range(plan.groups)], axis=1)
        for kind in ("distances", "near_of_found", "levels_of_found")
    )
    order = np.argsort(distances, axis=1, kind="stable")
    true = np.take_along_axis(distances, order, 1)[:, : plan.k]
    folder.write("truth/true", true)
    if plan.is_exact:  # all groups are compared with all groups
        return {"spill": 1, "level": 0, "coverage": [1.0], "extra_rows": 0.0, "group_recall": 1.0}
    groups = folder.read("cells/groups")
    meetings = _Meetings(groups[asked.near], asked.levels, groups[near], levels, distances, true)
    shards = range(len(plan.source.shards))
    visits = np.sum([folder.read(f"assign/guests.{shard}") for shard in shards], axis=0)
    guests = np.cumsum(np.cumsum(visits, axis=0), axis=1)  # by spill - 1, level and group
    own, affordable = numbering.counts.sum(axis=0), searched_rows(plan.shape, plan.memory)
    wanted, last = wanted_coverage(plan.recall), engine.CENTER_LEVELS - 1
    coverage: list[float] = []
    for spill in range(1, asked.near.shape[1] + 1):
        if coverage and (own + guests[spill - 1, last]).max() > affordable:
            break  # more guests would not fit into memory
        coverage.append(meetings.coverage(spill, last))
        if coverage[-1] >= wanted or plan.groups == 1:
            break
    spill, level = len(coverage), last
    if coverage[-1] >= wanted:
        spill, level = _fewest_guests(meetings, guests, spill, wanted)
        coverage.append(meetings.coverage(spill, level))
    return {
        "spill": spill,
        "level": level,
        "coverage": coverage,
        "extra_rows": float(guests[spill - 1, level].sum() / plan.rows),
        "group_recall": min(_MAX_GROUP_RECALL, plan.recall / coverage[-1]),
    }


def _fewest_guests(meetings: _Meetings, guests: np.ndarray, spill: int, wanted: float) -> tuple[int, int]:
    """Of the spills from a sufficient one on, and their smallest sufficient levels, those with fewest guests.

    None has more than the sufficient spill, whose guests fit into memory.
    """
    most = guests[spill - 1, -1].max()
    found = []
    for more in range(spill, meetings.spills + 1):
        level = meetings.smallest_level(more, wanted)
        if guests[more - 1, level].max() <= most:
            found.append((int(guests[more - 1, level].sum()), more, level))
    return min(found)[1:]


class _Meetings:
    """In which groups rows meet their true neighbours, which are judged by distance.

    Parameters
    ----------
    groups, levels : ndarray of shape (rows, near)
        The groups of the rows' near cells, and how near they are.
    found_groups, found_levels : ndarray of shape (rows, candidates, near)
        Those of the candidates' near cells.
    distances : ndarray of shape (rows, candidates)
    true : ndarray of shape (rows, k)
        The distances of the true neighbours.

    Attributes
    ----------
    spills : int
        Near cells of a row.
    """

    def __init__(
        self,
        groups: np.ndarray,
        levels: np.ndarray,
        found_groups: np.ndarray,
        found_levels: np.ndarray,
        distances: np.ndarray,
        true: np.ndarray,
    ):
        self.spills = groups.shape[1]
        self._distances, self._true = distances, true
        near_enough = distances <= true[:, -1:] * (1 + RELATIVE_ROUNDING)
        self._at = rows, candidates = np.nonzero(near_enough)
        meets = groups[rows, :, None] == found_groups[rows, candidates, None, :]
        pair, rank, found_rank = np.nonzero(meets)
        self._pair = pair
        self._spill = np.maximum(rank, found_rank) + 1
        self._level = np.maximum(
            levels[rows[pair], rank], found_levels[rows[pair], candidates[pair], found_rank]
        )

    def smallest_level(self, spill: int, wanted: float) -> int:
        """The smallest level with which a spill covers enough; the last one must do so."""
        levels = range(engine.CENTER_LEVELS)
        return bisect_left(levels, True, key=lambda level: self.coverage(spill, level) >= wanted)

    def coverage(self, spill: int, level: int) -> float:
        """The share of true neighbours that share a group with their row."""
        meets = np.zeros(len(self._at[0]), bool)
        meets[self._pair[(self._spill <= spill) & (self._level <= level)]] = True
        at = tuple(index[meets] for index in self._at)
        covered = np.full_like(self._distances, np.inf)
        covered[at] = self._distances[at]
        return float(shares_found(covered, self._true).mean())


def chosen(plan: Plan) -> dict[str, Any]:
    """What ``choose`` has recorded."""
    return plan.folder.require_record("choose")
