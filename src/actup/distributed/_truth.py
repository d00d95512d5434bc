"""The stage "truth": the true neighbours of some rows among all rows, by which a run is judged.

Cells that are too far from a row to hold one of its neighbours are left out: a sample bounds the distance of
the farthest neighbour, and the triangle inequality bounds the distances of a cell's rows from below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._numbering import Numbering, read_group
from actup.distributed._plan import Plan
from actup.neighbors._comparison import resolve
from actup.neighbors._metrics import METRICS
from actup.neighbors._search import Search, SearchOptions, make_search

_MAX_BOUNDING_ROWS = 2**16  # of the sample, which bounds the distances of neighbours
_BOUND_ROUNDING = 1e-4  # relative: more than distances in float32 are rounded by
_MAX_COMPARED_SHARE = 0.5  # of the cells: if more are near enough, all rows are compared at once

Found = tuple[np.ndarray, np.ndarray]  # places in the group, -1 for none, and distances: (asked rows, wanted)


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


def has_triangle_inequality(plan: Plan) -> bool:
    """Whether distances to the centre of a cell bound distances to its rows."""
    return METRICS[plan.metric].of_differences


def neighbor_bounds(plan: Plan, asked: np.ndarray, sample: np.ndarray, threads: int) -> np.ndarray:
    """Distances that the k-th neighbours of rows do not exceed: (asked rows,) float32.

    Parameters
    ----------
    plan : Plan
    asked : ndarray of shape (count, columns)
        The rows whose true neighbours are wanted.
    sample : ndarray of shape (sampled, columns)
        Any of the rows of the source; a row may be among them and be its own nearest one.
    threads : int
    """
    step = -(-len(sample) // _MAX_BOUNDING_ROWS)
    sample = np.ascontiguousarray(sample[::step])
    if len(sample) <= plan.k:
        return np.full(len(asked), np.inf, np.float32)
    return exact_search(plan, sample, threads).query(asked, plan.k + 1).distances[:, -1]


def truth(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """Search the nearest rows of a group for all rows whose true neighbours are wanted."""
    numbering = Numbering.of(plan)
    asked = TruthRows(plan, numbering)
    count, wanted = numbering.size(group), min(plan.k + 1, numbering.size(group))
    distances = np.full((len(asked.ids), plan.k), np.inf, np.float32)
    near = np.zeros((len(asked.ids), plan.k, asked.near.shape[1]), np.uint16)
    if count:
        rows = read_group(plan, numbering, "rows", group)
        group_near = read_group(plan, numbering, "near", group)
        places, found = _nearest(plan, asked.rows, rows, group_near[:, 0], wanted, threads)
        is_self = places + numbering.first_ids[group] == asked.ids[:, None]
        order = np.argsort(is_self, axis=1, kind="stable")[:, : plan.k]  # the row itself comes last
        kept = min(plan.k, wanted)
        distances[:, :kept] = np.take_along_axis(np.where(is_self, np.inf, found), order, 1)
        near[:, :kept] = group_near[np.take_along_axis(places, order, 1)]
    plan.folder.write(f"truth/distances.{group}", distances)
    plan.folder.write(f"truth/near_of_found.{group}", near)
    return {}


def _nearest(
    plan: Plan, asked: np.ndarray, rows: np.ndarray, cells: np.ndarray, wanted: int, threads: int
) -> Found:
    """The nearest rows of a group; those that are farther than a true neighbour can be may be missing."""
    if has_triangle_inequality(plan):
        near_cells = _NearCells(plan, asked, rows, cells, threads)
        if near_cells.share <= _MAX_COMPARED_SHARE:
            return near_cells.nearest(wanted)
    found = exact_search(plan, rows, threads).query(asked, wanted)
    return found.indices, found.distances


class _NearCells:
    """The rows of a group by their cells, and which cells may hold a neighbour of which row.

    Attributes
    ----------
    share : float
        Share of all pairs of a row and a cell that must be compared.
    """

    def __init__(self, plan: Plan, asked: np.ndarray, rows: np.ndarray, cells: np.ndarray, threads: int):
        self._asked, self._rows, self._threads = asked, rows, threads
        self._column_order = plan.folder.read("cells/column_order")
        present, labels = np.unique(cells, return_inverse=True)
        self._order = np.argsort(labels, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        centers = np.ascontiguousarray(plan.folder.read("cells/centers")[present])
        self._metric = resolve(plan.metric, dict(plan.recipe.metric_kwds), centers).for_engine()
        self._may_hold = self._reached(plan.folder.read("truth/bounds"), centers, labels)
        self.share = float(self._may_hold.mean())

    def _reached(self, bounds: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Which cells are not farther away than the bounds: (asked rows, cells) bool."""
        own = labels.astype(np.int32)[:, None]
        _, to_center = engine.candidate_neighbors(
            centers, self._rows, None, own, 1, self._metric, self._threads
        )
        radii = np.zeros(len(centers), np.float32)
        np.maximum.at(radii, labels, to_center[:, 0])
        ids, sorted_distances = engine.exact_neighbors(
            centers, self._asked, len(centers), self._metric, self._threads
        )
        distances = np.empty_like(sorted_distances)
        np.put_along_axis(distances, ids.astype(np.int64), sorted_distances, 1)
        return np.asarray(distances <= (radii + bounds[:, None]) * (1 + _BOUND_ROUNDING))

    def nearest(self, wanted: int) -> Found:
        """The nearest rows of all cells that may hold a neighbour, cell by cell."""
        places = np.full((len(self._asked), wanted), -1, np.int32)
        distances = np.full((len(self._asked), wanted), np.inf, np.float32)
        for cell in range(len(self._starts) - 1):
            asked = np.flatnonzero(self._may_hold[:, cell])
            if not len(asked):
                continue
            members = self._order[self._starts[cell] : self._starts[cell + 1]]
            found, more = engine.exact_neighbors(
                self._rows[members],
                self._asked[asked],
                min(wanted, len(members)),
                self._metric,
                self._threads,
                self._column_order,
            )
            places[asked], distances[asked] = engine.merge_neighbors(
                places[asked], distances[asked], members[found].astype(np.int32), more, self._threads
            )
        return places, distances
