"""The stages "search" and "merge": neighbours within every group, and the nearest of all that were found.

A group is searched together with its guests, the rows of other groups that have a near cell in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._coverage import chosen
from actup.distributed._folder import digest
from actup.distributed._numbering import Numbering, read_group
from actup.distributed._plan import Plan
from actup.distributed._truth import exact_search
from actup.graph._records import Neighbors
from actup.neighbors._calibration import shares_found
from actup.neighbors._search import Search, SearchOptions, make_search

Lists = tuple[np.ndarray, np.ndarray]  # ids and distances, (rows, k)


def search(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """Search the neighbours of a group's own rows and of its guests among all of them."""
    numbering = Numbering.of(plan)
    if plan.is_exact:
        return _search_everything(plan, numbering, group, threads)
    decided = chosen(plan)
    guests = _Guests(plan, numbering, group, decided["spill"], decided["level"])
    size = numbering.size(group)
    rows = guests.with_own_rows(plan, numbering)
    own = np.arange(numbering.first_ids[group], numbering.first_ids[group + 1])
    members = np.concatenate([own, guests.ids]).astype(np.int32)
    options = SearchOptions(recall=decided["group_recall"], seed=plan.seed)
    searched = make_search(rows, plan.metric, dict(plan.recipe.metric_kwds), options, threads)
    found, lists = _neighbors_within(plan, searched, members)
    _write_lists(plan, "search", group, lists)
    plan.folder.write(f"search/guests.{group}", guests.ids)
    starts = np.searchsorted(guests.ids, numbering.first_ids)
    plan.folder.write(f"search/starts.{group}", starts + size)
    return {"rows": size, "guests": len(guests.ids), "recall": found}


def _neighbors_within(plan: Plan, search: Search, members: np.ndarray) -> tuple[float, Lists]:
    """The neighbours of rows among each other, by their ids; lists of fewer rows are padded with -1."""
    ids = np.full((len(members), plan.k), -1, np.int32)
    distances = np.full((len(members), plan.k), np.inf, np.float32)
    kept = min(plan.k, len(members) - 1)
    if kept < 1:
        return 1.0, (ids, distances)
    found = search.neighbors(kept)
    _reject_invalid(found)
    if kept == plan.k:
        return found.recall, (members[found.indices], found.distances)
    ids[:, :kept], distances[:, :kept] = members[found.indices], found.distances
    return found.recall, (ids, distances)


def _reject_invalid(found: Neighbors) -> None:
    if not (np.isfinite(found.distances).all() and (found.distances >= 0).all()):
        raise ValueError(
            "the source has rows whose distance is negative, NaN or too large for float32: divide all rows "
            "by their largest value"
        )


class _Guests:
    """The rows of other groups that visit a group, in the order of their ids; see ``choose`` for which.

    Attributes
    ----------
    ids : ndarray of shape (guests,), int64
    """

    def __init__(self, plan: Plan, numbering: Numbering, group: int, spill: int, level: int):
        self._group = group
        ids, positions = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for block in range(len(plan.blocks) if spill > 1 else 0):
            begin, end = plan.folder.read(f"visits/starts.{block}", group, group + 2)
            is_guest = plan.folder.read(f"visits/ranks.{block}", begin, end) < spill
            is_guest &= plan.folder.read(f"visits/levels.{block}", begin, end) <= level
            at = np.sort(plan.folder.read(f"visits/positions.{block}", begin, end)[is_guest]).astype(np.int64)
            ids.append(numbering.ids_at(block, at))
            positions.append(at)
        together = np.concatenate(ids)
        order = np.argsort(together, kind="stable")
        self.ids = together[order]
        self._places = np.empty_like(order)  # the place of each guest, counted block by block
        self._places[order] = np.arange(len(order))
        self._positions = positions[1:]

    def with_own_rows(self, plan: Plan, numbering: Numbering) -> np.ndarray:
        """The rows of the group, then those of the guests."""
        size = numbering.size(self._group)
        rows = np.empty((size + len(self.ids), plan.source.columns), plan.row_type)
        begin = 0
        for block, counts in enumerate(numbering.counts):
            count = counts[self._group]
            first = numbering.piece_positions[block, self._group]
            plan.folder.read_into(f"rows/{block}", int(first), rows[begin : begin + count])
            begin += count
        before = 0
        for block, positions in enumerate(self._positions):
            piece = np.empty((len(positions), rows.shape[1]), rows.dtype)
            plan.folder.read_rows(f"rows/{block}", positions, piece)
            rows[size + self._places[before : before + len(positions)]] = piece
            before += len(positions)
        return rows


def _search_everything(plan: Plan, numbering: Numbering, group: int, threads: int) -> dict[str, Any]:
    """Compare the rows of a group with all rows of all groups; distances are those in memory, to the bit."""
    own = read_group(plan, numbering, "rows", group)
    first = int(numbering.first_ids[group])
    members = np.arange(first, first + len(own), dtype=np.int32)
    _, (ids, distances) = _neighbors_within(plan, exact_search(plan, own, threads), members)
    for other in range(plan.groups):
        size = numbering.size(other)
        if other == group or not size or not len(own):
            continue
        rows = read_group(plan, numbering, "rows", other)
        found = exact_search(plan, rows, threads).query(own, min(plan.k, size))
        _reject_invalid(found)
        others = (found.indices + numbering.first_ids[other]).astype(np.int32)
        ids, distances = engine.merge_neighbors(ids, distances, others, found.distances, threads)
    _write_lists(plan, "search", group, (ids, distances))
    plan.folder.write(f"search/guests.{group}", np.zeros(0, np.int64))
    plan.folder.write(f"search/starts.{group}", np.full(plan.groups + 1, len(own)))
    return {"rows": len(own), "guests": 0, "recall": 1.0}


def merge(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """Merge the lists that a group's rows have got at home and as guests, and measure their recall."""
    folder = plan.folder
    numbering = Numbering.of(plan)
    size, first = numbering.size(group), int(numbering.first_ids[group])
    ids, distances = (folder.read(f"search/{kind}.{group}", 0, size) for kind in ("ids", "distances"))
    for other in range(plan.groups):
        if other == group:
            continue
        begin, end = (int(start) for start in folder.read(f"search/starts.{other}", group, group + 2))
        if begin == end:
            continue
        home = numbering.size(other)
        at = folder.read(f"search/guests.{other}", begin - home, end - home) - first
        more_ids = folder.read(f"search/ids.{other}", begin, end)
        more_distances = folder.read(f"search/distances.{other}", begin, end)
        ids[at], distances[at] = engine.merge_neighbors(
            ids[at], distances[at], more_ids, more_distances, threads
        )
    return save_lists(plan, numbering, "lists", group, (ids, distances), threads)


def save_lists(
    plan: Plan, numbering: Numbering, name: str, group: int, lists: Lists, threads: int
) -> dict[str, Any]:
    """Write the lists of a group's rows under a name, and return what their record holds."""
    ids, distances = lists
    _write_lists(plan, name, group, lists)
    sums, connected = engine.row_sums(distances, threads)
    plan.folder.write(f"{name}/sums.{group}", sums)
    measured = _measured_recall(plan, numbering, group, distances)
    return {"connected": int(connected.sum()), "digest": digest(ids, distances), **measured}


def _measured_recall(plan: Plan, numbering: Numbering, group: int, distances: np.ndarray) -> dict[str, Any]:
    """The share of true neighbours found, summed over the group's rows whose true neighbours are known."""
    blocks = range(len(plan.blocks))
    asked = np.concatenate(
        [numbering.ids_at(block, plan.folder.read(f"truth/positions.{block}")) for block in blocks]
    )
    own = (asked >= numbering.first_ids[group]) & (asked < numbering.first_ids[group + 1])
    true = plan.folder.read("truth/true")[own]
    found = distances[asked[own] - numbering.first_ids[group]]
    return {"found": float(shares_found(found, true).sum()), "measured": int(own.sum())}


def _write_lists(plan: Plan, name: str, group: int, lists: Lists) -> None:
    for kind, values in zip(("ids", "distances"), lists, strict=True):
        plan.folder.write(f"{name}/{kind}.{group}", values)
