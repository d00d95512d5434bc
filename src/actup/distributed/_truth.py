"""The stage "truth": the true neighbours of some rows among all rows, by which a run is judged.

The neighbours within a sample bound the distances of true neighbours, so that most pairs of rows need not be
compared in all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._numbering import Numbering, read_group
from actup.distributed._plan import Plan
from actup.neighbors._calibration import RELATIVE_ROUNDING
from actup.neighbors._comparison import resolve
from actup.neighbors._metrics import METRICS
from actup.neighbors._search import Search, SearchOptions, make_search

_MAX_BOUNDING_ROWS = 2**16  # of the sample, which bounds the distances of neighbours

Found = tuple[np.ndarray, np.ndarray]


class TruthRows:
    """The rows whose true neighbours are searched.

    Attributes
    ----------
    rows : ndarray of shape (count, columns)
    near, levels : ndarray of shape (count, near)
        Their near cells, and how near they are.
    ids : ndarray of shape (count,)
    """

    def __init__(self, plan: Plan, numbering: Numbering):
        blocks = range(len(plan.blocks))
        self.rows = np.concatenate([plan.folder.read(f"truth/rows.{block}") for block in blocks])
        self.near = np.concatenate([plan.folder.read(f"truth/near.{block}") for block in blocks])
        self.levels = np.concatenate([plan.folder.read(f"truth/levels.{block}") for block in blocks])
        self.ids = np.concatenate(
            [numbering.ids_at(block, plan.folder.read(f"truth/positions.{block}")) for block in blocks]
        )


def exact_search(plan: Plan, rows: np.ndarray, threads: int) -> Search:
    """An exact search of some rows, whose distances are those of a search of all rows, to the bit."""
    options = SearchOptions("exact", column_order=plan.folder.read("cells/column_order"))
    return make_search(rows, plan.metric, dict(plan.recipe.metric_kwds), options, threads)


def has_bounds(plan: Plan) -> bool:
    """Whether a sample bounds the distances of true neighbours: rows are compared as they are."""
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
    farthest = exact_search(plan, sample, threads).query(asked, plan.k + 1).distances[:, -1]
    return np.asarray(farthest * np.float32(1 + RELATIVE_ROUNDING))


def truth(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """Search the nearest rows of a group for all rows whose true neighbours are wanted."""
    numbering = Numbering.of(plan)
    asked = TruthRows(plan, numbering)
    count, wanted = numbering.size(group), min(plan.k + 1, numbering.size(group))
    distances = np.full((len(asked.ids), plan.k), np.inf, np.float32)
    shape = (len(asked.ids), plan.k, asked.near.shape[1])
    near, levels = np.zeros(shape, np.uint16), np.zeros(shape, np.uint8)
    if count:
        rows = read_group(plan, numbering, "rows", group)
        places, found = _nearest(plan, asked.rows, rows, wanted, threads)
        is_self = places + numbering.first_ids[group] == asked.ids[:, None]
        order = np.argsort(is_self, axis=1, kind="stable")[:, : plan.k]  # the row itself comes last
        kept = min(plan.k, wanted)
        distances[:, :kept] = np.take_along_axis(np.where(is_self, np.inf, found), order, 1)
        # Place -1, where there is no neighbour, reads any row: its infinite distance keeps it from counting.
        # Converted here, because NumPy does not notice that it has no memory to convert them itself.
        at = np.take_along_axis(places, order, 1).astype(np.intp)
        near[:, :kept] = read_group(plan, numbering, "near", group)[at]
        levels[:, :kept] = read_group(plan, numbering, "levels", group)[at]
    plan.folder.write(f"truth/distances.{group}", distances)
    plan.folder.write(f"truth/near_of_found.{group}", near)
    plan.folder.write(f"truth/levels_of_found.{group}", levels)
    return {}


def _nearest(plan: Plan, asked: np.ndarray, rows: np.ndarray, wanted: int, threads: int) -> Found:
    """The nearest rows of a group: places, -1 for none, and distances, (asked rows, wanted).

    Rows farther away than the k-th neighbour of a row can be are left out where the bounds are known.
    """
    if not has_bounds(plan):
        found = exact_search(plan, rows, threads).query(asked, wanted)
        return found.indices, found.distances
    metric = resolve(plan.metric, dict(plan.recipe.metric_kwds), rows).for_engine()
    order, bounds = plan.folder.read("cells/column_order"), plan.folder.read("truth/bounds")
    return engine.exact_neighbors(rows, asked, wanted, metric, threads, order, bounds)
