"""The stages "truth" and "choose": in how many groups rows must be searched so that neighbours meet.

The true neighbours of some rows are known from a comparison with all rows. The coverage is the share of them
that share a group with their row. The smallest number of near cells that covers enough is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actup.distributed._estimate import searched_rows
from actup.distributed._numbering import Numbering, read_group
from actup.distributed._plan import NEAR_CELLS, Plan
from actup.neighbors._calibration import shares_found
from actup.neighbors._search import Search, SearchOptions, make_search

_ROUNDING = 1e-5  # relative: distances of one pair that were summed in another order
_MAX_GROUP_RECALL = 0.999  # a search within a group is not asked for more


class TruthRows:
    """The rows whose true neighbours are searched.

    Attributes
    ----------
    rows : ndarray of shape (count, columns)
    near : ndarray of shape (count, near)
        Their near cells.
    ids : ndarray of shape (count,)
    """

    def __init__(self, plan: Plan, numbering: Numbering):
        blocks = range(len(plan.blocks))
        self.rows = np.concatenate([plan.folder.read(f"truth/rows.{block}") for block in blocks])
        self.near = np.concatenate([plan.folder.read(f"truth/near.{block}") for block in blocks])
        self.ids = np.concatenate(
            [numbering.ids_at(block, plan.folder.read(f"truth/positions.{block}")) for block in blocks]
        )


def exact_search(plan: Plan, rows: np.ndarray, threads: int) -> Search:
    """An exact search of some rows, whose distances are those of a search of all rows, to the bit."""
    options = SearchOptions("exact", column_order=plan.folder.read("cells/column_order"))
    return make_search(rows, plan.metric, dict(plan.recipe.metric_kwds), options, threads)


def truth(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """Search the nearest rows of a group for all rows whose true neighbours are wanted."""
    numbering = Numbering.of(plan)
    asked = TruthRows(plan, numbering)
    count, wanted = numbering.size(group), min(plan.k + 1, numbering.size(group))
    distances = np.full((len(asked.ids), plan.k), np.inf, np.float32)
    near = np.zeros((len(asked.ids), plan.k, asked.near.shape[1]), np.uint16)
    if count:
        rows = read_group(plan, numbering, "rows", group)
        found = exact_search(plan, rows, threads).query(asked.rows, wanted)
        is_self = found.indices + numbering.first_ids[group] == asked.ids[:, None]
        order = np.argsort(is_self, axis=1, kind="stable")[:, : plan.k]  # the row itself comes last
        kept = min(plan.k, wanted)
        distances[:, :kept] = np.take_along_axis(np.where(is_self, np.inf, found.distances), order, 1)
        group_near = read_group(plan, numbering, "near", group)
        near[:, :kept] = group_near[np.take_along_axis(found.indices, order, 1)]
    plan.folder.write(f"truth/distances.{group}", distances)
    plan.folder.write(f"truth/near_of_found.{group}", near)
    return {}


def wanted_coverage(recall: float) -> float:
    """The coverage that leaves the searches within groups room for two thirds of the misses."""
    return 1 - (1 - recall) / 3


def choose(plan: Plan, threads: int) -> dict[str, Any]:
    """Choose the spill: of how many near cells rows visit the groups."""
    folder = plan.folder
    numbering = Numbering.of(plan)
    asked = TruthRows(plan, numbering)
    groups = folder.read("cells/groups")
    distances = np.concatenate(
        [folder.read(f"truth/distances.{group}") for group in range(plan.groups)], axis=1
    )
    near = np.concatenate(
        [folder.read(f"truth/near_of_found.{group}") for group in range(plan.groups)], axis=1
    )
    order = np.argsort(distances, axis=1, kind="stable")
    true = np.take_along_axis(distances, order, 1)[:, : plan.k]
    folder.write("truth/true", true)
    if plan.is_exact:  # all groups are compared with all groups
        return {"spill": 1, "coverage": [1.0], "extra_rows": 0.0, "group_recall": 1.0}
    shards = range(len(plan.source.shards))
    guests = np.sum([folder.read(f"assign/guests.{shard}") for shard in shards], axis=0)
    affordable = searched_rows(plan.shape, plan.memory)
    coverage: list[float] = []
    for spill in range(1, asked.near.shape[1] + 1):
        largest = (numbering.counts.sum(axis=0) + guests[:spill].sum(axis=0)).max()
        if coverage and largest > affordable:
            break  # more guests would not fit into memory
        coverage.append(_coverage(spill, groups[asked.near], groups[near], distances, true))
        if coverage[-1] >= wanted_coverage(plan.recall) or plan.groups == 1:
            break
    spill = len(coverage)
    return {
        "spill": spill,
        "coverage": coverage,
        "extra_rows": float(guests[:spill].sum() / plan.rows),
        "group_recall": min(_MAX_GROUP_RECALL, plan.recall / coverage[-1]),
    }


def _coverage(
    spill: int, groups: np.ndarray, found_groups: np.ndarray, distances: np.ndarray, true: np.ndarray
) -> float:
    """The share of true neighbours, judged by distance, that share a group with their row.

    Parameters
    ----------
    spill : int
        Near cells whose groups count.
    groups : ndarray of shape (rows, near)
    found_groups : ndarray of shape (rows, candidates, near)
        The groups of the candidates' near cells.
    distances : ndarray of shape (rows, candidates)
    true : ndarray of shape (rows, k)
        The distances of the true neighbours.
    """
    covered = np.zeros_like(distances)
    near_enough = distances <= true[:, -1:] * (1 + _ROUNDING)
    rows, candidates = np.nonzero(near_enough)
    meets = (groups[rows, :spill, None] == found_groups[rows, candidates, None, :spill]).any(axis=(1, 2))
    covered = np.full_like(distances, np.inf)
    covered[rows[meets], candidates[meets]] = distances[rows[meets], candidates[meets]]
    covered.sort(axis=1)
    return float(shares_found(covered[:, : true.shape[1]], true).mean())


def chosen(plan: Plan) -> dict[str, Any]:
    """What ``choose`` has recorded."""
    record = plan.folder.record("choose")
    assert record is not None
    return record


assert NEAR_CELLS < 256  # ranks are kept in 8 bits
