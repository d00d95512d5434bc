"""The stage "choose": in how many groups rows must be searched so that neighbours meet.

The coverage is the share of true neighbours that share a group with their row; they are known for some rows.
The smallest number of near cells that covers enough is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
    near_enough = distances <= true[:, -1:] * (1 + RELATIVE_ROUNDING)
    rows, candidates = np.nonzero(near_enough)
    meets = (groups[rows, :spill, None] == found_groups[rows, candidates, None, :spill]).any(axis=(1, 2))
    covered = np.full_like(distances, np.inf)
    covered[rows[meets], candidates[meets]] = distances[rows[meets], candidates[meets]]
    covered.sort(axis=1)
    return float(shares_found(covered[:, : true.shape[1]], true).mean())


def chosen(plan: Plan) -> dict[str, Any]:
    """What ``choose`` has recorded."""
    return plan.folder.require_record("choose")
