"""The stages "cells" and "assign": which rows lie near each other, so that groups of them can be searched.

Cells are clusters of a sample of the rows. Neighbouring cells form groups, which fit into memory. A row
belongs to the group of its nearest cell, and is a guest in the groups of its next nearest cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._plan import NEAR_CELLS, Plan
from actup.distributed._scan import read_blocks, read_sample, reject_if_changed
from actup.distributed._truth import has_bounds, neighbor_bounds
from actup.neighbors._comparison import resolve
from actup.neighbors._metrics import METRICS
from actup.neighbors._row_transforms import as_float32, far_column_center, scale_columns
from actup.recipe._switches import Initialization
from actup.start._coordinates import principal_scores
from actup.start._landmarks import find_landmarks

_CHUNK_ROWS = 2**14  # rows that are held in full precision at a time
_LEAST_OWN_SHARE = 1e-9  # of an axis: what is less is the rounding of the axes before it
_WRITTEN_ROWS = 2**12  # rows that are sorted and written at a time: their memory is used again and again


# --- cells ---


def cells(plan: Plan, threads: int) -> dict[str, Any]:
    """Find cells and their groups from the sample."""
    folder = plan.folder
    center = _column_center(plan)
    rows = comparable_rows(plan, read_sample(plan, "cells"), center)
    _, labels = find_landmarks(rows, plan.cell_metric, plan.cells, plan.seed, threads)
    sizes = np.bincount(labels)
    centers = _cell_centers(plan, rows, labels, sizes)
    groups = np.zeros(len(sizes), np.int64)
    _divide(centers, sizes, np.arange(len(sizes)), 0, plan.groups, groups, plan.seed, threads)
    order = np.argsort(groups, kind="stable")
    folder.write("cells/center", center)
    folder.write("cells/centers", centers[order])
    folder.write("cells/groups", groups[order].astype(np.int32))
    folder.write("cells/column_order", _column_order(plan, center))
    if has_bounds(plan):
        asked = comparable_rows(plan, read_sample(plan, "truth"), center)
        folder.write("truth/bounds", neighbor_bounds(plan, asked, rows, threads))
    if plan.recipe.initialization is Initialization.PCA:
        shift, axes = _principal_axes(rows, plan.recipe.n_components, plan.seed, threads)
        folder.write("cells/shift", shift)
        folder.write("cells/axes", axes)
    return {"cells": len(sizes)}


def _column_center(plan: Plan) -> np.ndarray:
    """What columns are shifted by before they become float32, where the metric allows it; as in memory."""
    sample = read_sample(plan, "center")
    if sample.dtype == plan.row_type or not METRICS[plan.metric].of_differences:
        return np.zeros(sample.shape[1])
    return far_column_center(sample)


def _column_order(plan: Plan, center: np.ndarray) -> np.ndarray:
    """The order in which an exact search of all rows in memory sums columns."""
    rows = comparable_rows(plan, read_sample(plan, "column_order"), center)
    return engine.column_order(rows, resolve(plan.metric, dict(plan.recipe.metric_kwds), rows).for_engine())


def comparable_rows(plan: Plan, rows: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Rows in the type in which they are kept and compared, rounded as a search in memory rounds them."""
    if rows.dtype == plan.row_type:
        return np.ascontiguousarray(rows)
    converted: np.ndarray = scale_columns(rows, None, center) if center.any() else as_float32(rows)
    return converted


def _directions(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """Rows of float64 whose means are centres of cells: of length 1 where the metric compares angles."""
    doubles = rows.astype(np.float64)
    if not METRICS[plan.cell_metric].angular:
        return doubles
    if plan.cell_metric == "correlation":
        doubles -= doubles.mean(axis=1, keepdims=True)
    lengths = np.sqrt((doubles * doubles).sum(axis=1, keepdims=True))
    return doubles / np.where(lengths > 0, lengths, 1.0)


def _cell_centers(plan: Plan, rows: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The mean of the sampled rows of every cell, of which none is empty: (cells, columns) float32."""
    order = np.argsort(labels, kind="stable")
    sums = np.zeros((len(sizes), rows.shape[1]))
    for begin in range(0, len(order), _CHUNK_ROWS):
        chunk = order[begin : begin + _CHUNK_ROWS]
        present, starts = np.unique(labels[chunk], return_index=True)
        sums[present] += np.add.reduceat(_directions(plan, rows[chunk]), starts, axis=0)
    return np.ascontiguousarray(sums / sizes[:, None], np.float32)


def _divide(
    centers: np.ndarray,
    sizes: np.ndarray,
    members: np.ndarray,
    first: int,
    groups: int,
    out: np.ndarray,
    seed: int,
    threads: int,
) -> None:
    """Divide cells into groups of about equally many rows, by cuts across their widest direction.

    Parameters
    ----------
    centers : ndarray of shape (cells, columns), float32
    sizes : ndarray of shape (cells,)
        Sampled rows of each cell.
    members : ndarray of int
        The cells to divide.
    first, groups : int
        The number of the first group, and how many there are.
    out : ndarray of shape (cells,)
        The group of each cell.
    seed, threads : int
    """
    groups = min(groups, len(members))  # there may be fewer cells than groups, which then stay empty
    if groups == 1:
        out[members] = first
        return
    rows = np.ascontiguousarray(centers[members])
    shift = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    scores, _ = engine.principal_scores(rows, shift, dimensions=1, seed=seed, threads=threads)
    members = members[np.argsort(scores[:, 0], kind="stable")]
    left = groups // 2
    reached = np.cumsum(sizes[members])
    cut = int(np.searchsorted(reached, reached[-1] * left // groups, side="right"))
    cut = min(max(cut, left), len(members) - (groups - left))
    _divide(centers, sizes, members[:cut], first, left, out, seed, threads)
    _divide(centers, sizes, members[cut:], first + left, groups - left, out, seed, threads)


def _principal_axes(
    rows: np.ndarray, dimensions: int, seed: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the principal axes of the sample: (columns,) and (dimensions, columns), float64.

    With centred rows X and scores S = X V of orthonormal axes V, Xᵀ S = V Λ with a diagonal Λ. Axes that
    the sample does not fill, or that rounding hides beside others, are 0.
    """
    shift = rows.mean(axis=0, dtype=np.float64)
    kept = min(dimensions, *rows.shape)
    axes = np.zeros((dimensions, rows.shape[1]))
    doubles = principal_scores(rows, kept, seed, threads).astype(np.float64)
    for begin in range(0, len(rows), _CHUNK_ROWS):
        chunk = rows[begin : begin + _CHUNK_ROWS] - shift
        for axis in range(kept):
            axes[axis] += (chunk * doubles[begin : begin + _CHUNK_ROWS, axis, None]).sum(axis=0)
    for axis in range(kept):  # beside one row far larger than all others, rounding leaves them oblique
        before = np.sqrt((axes[axis] * axes[axis]).sum())
        for other in [*axes[:axis], *axes[:axis]]:  # the second time, of what rounding has left
            axes[axis] -= (axes[axis] * other).sum() * other
        length = np.sqrt((axes[axis] * axes[axis]).sum())
        axes[axis] = axes[axis] / length if length > _LEAST_OWN_SHARE * before else 0.0
    return shift, axes


# --- assign ---


class CellIndex:
    """The nearest cells of rows.

    Cells of duplicates share their centre. Rows there are spread over these cells by their numbers, so that
    no group gets all of them. Of many centres, those near a row are found through integer codes: the
    coverage is measured later, so that a near cell may be missed now and then.

    Parameters
    ----------
    plan : Plan
    threads : int
    """

    def __init__(self, plan: Plan, threads: int):
        centers = plan.folder.read("cells/centers")
        sites, site_of_cell = np.unique(centers, axis=0, return_inverse=True)
        sites = np.ascontiguousarray(sites)  # the different centres
        self._members = np.argsort(site_of_cell.ravel(), kind="stable").astype(np.uint16)  # cells by site
        self._counts = np.bincount(site_of_cell.ravel(), minlength=len(sites))  # cells of each site
        self._starts = np.cumsum(self._counts) - self._counts
        metric = resolve(plan.cell_metric, None, sites).for_engine()
        self._index = engine.CenterIndex(sites, metric, plan.seed, threads)
        self._threads = threads

    def nearest(self, rows: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest cells of rows, nearest first, one of each site, and how near they are.

        Parameters
        ----------
        rows : ndarray of shape (rows, columns)
        first : int
            The number of the first row in the source.

        Returns
        -------
        cells : ndarray of shape (rows, near), uint16
        levels : ndarray of shape (rows, near), uint8
            From 0, as near as the nearest cell, to ``engine.CENTER_LEVELS - 1``.
        """
        sites, levels = self._index.nearest(rows, min(NEAR_CELLS, len(self._counts)), self._threads)
        if len(self._counts) == len(self._members):
            return self._members[sites], levels
        numbers = np.arange(first, first + len(rows))[:, None]
        return self._members[self._starts[sites] + numbers % self._counts[sites]], levels


def assign(plan: Plan, shard: int, threads: int) -> dict[str, Any]:
    """Sort the rows of a shard by their cells, block by block, and list which groups they visit."""
    folder = plan.folder
    reject_if_changed(plan, shard)
    index = CellIndex(plan, threads)
    center, groups = folder.read("cells/center"), folder.read("cells/groups").astype(np.uint16)
    counts, guests = [], np.zeros((NEAR_CELLS, engine.CENTER_LEVELS, plan.groups), np.int64)
    for number, given in read_blocks(plan, shard):
        rows = comparable_rows(plan, given, center)
        first = int(plan.first_row_of_shard[shard]) + plan.blocks[number].begin
        near, levels = index.nearest(rows, first)
        order = np.argsort(near[:, 0], kind="stable")
        near, levels = near[order], levels[order]
        counts.append(np.bincount(groups[near[:, 0]], minlength=plan.groups))
        folder.write_parts(f"rows/{number}", _sorted_parts(rows, order), len(rows))
        folder.write(f"near/{number}", near)
        folder.write(f"levels/{number}", levels)
        folder.write(f"order/{number}", order.astype(np.uint32))
        if plan.recipe.initialization is Initialization.PCA:
            folder.write(f"scores/{number}", _scores(plan, rows)[order])
        guests += _write_visits(plan, number, groups[near], levels)
        _write_truth_rows(plan, number, first, order, rows, near, levels)
    folder.write(f"assign/guests.{shard}", guests)
    folder.write(f"assign/counts.{shard}", np.array(counts, np.int64))
    return {}


def _sorted_parts(rows: np.ndarray, order: np.ndarray) -> Iterator[np.ndarray]:
    """The rows in an order, some at a time."""
    for begin in range(0, max(1, len(rows)), _WRITTEN_ROWS):
        yield rows[order[begin : begin + _WRITTEN_ROWS]]


def _scores(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """The scores of rows along the principal axes of the sample: (rows, n_components), within float32."""
    shift, axes = plan.folder.read("cells/shift"), plan.folder.read("cells/axes")
    largest = np.finfo(np.float32).max
    scores = np.empty((len(rows), len(axes)), np.float32)
    for begin in range(0, len(rows), _CHUNK_ROWS):
        chunk = rows[begin : begin + _CHUNK_ROWS] - shift
        for axis, direction in enumerate(axes):
            sums = (chunk * direction).sum(axis=1)
            scores[begin : begin + _CHUNK_ROWS, axis] = np.clip(sums, -largest, largest)
    return scores


def _write_visits(plan: Plan, block: int, groups: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Save which rows of a block may be guests of which group, by the rank and the level of their near cells.

    Parameters
    ----------
    groups : ndarray of shape (rows, near), uint16
        The groups of each row's near cells; the first is its own.
    levels : ndarray of shape (rows, near), uint8

    Returns
    -------
    ndarray of shape (NEAR_CELLS, CENTER_LEVELS, groups)
        How many rows visit each group first by a cell of each rank and level.
    """
    visited, positions, ranks = [np.zeros(0, np.uint16)], [np.zeros(0, np.uint32)], [np.zeros(0, np.uint8)]
    found_levels = [np.zeros(0, np.uint8)]
    by_rank = np.ascontiguousarray(groups.T)
    for rank in range(1, len(by_rank)):
        is_new = np.logical_and.reduce([by_rank[rank] != earlier for earlier in by_rank[:rank]])
        at = np.flatnonzero(is_new)
        positions.append(at.astype(np.uint32))
        visited.append(by_rank[rank, at])
        ranks.append(np.full(len(at), rank, np.uint8))
        found_levels.append(levels[at, rank])
    group, rank_of, level_of = np.concatenate(visited), np.concatenate(ranks), np.concatenate(found_levels)
    order = np.argsort(group, kind="stable")
    plan.folder.write(f"visits/positions.{block}", np.concatenate(positions)[order])
    plan.folder.write(f"visits/ranks.{block}", rank_of[order])
    plan.folder.write(f"visits/levels.{block}", level_of[order])
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=plan.groups))])
    plan.folder.write(f"visits/starts.{block}", starts)
    shape = (NEAR_CELLS, engine.CENTER_LEVELS, plan.groups)
    kinds = (rank_of.astype(np.int64) * shape[1] + level_of) * shape[2] + group
    return np.bincount(kinds, minlength=shape[0] * shape[1] * shape[2]).reshape(shape)


def _write_truth_rows(
    plan: Plan,
    block: int,
    first: int,
    order: np.ndarray,
    rows: np.ndarray,
    near: np.ndarray,
    levels: np.ndarray,
) -> None:
    """Save those rows of a block whose true neighbours will be searched, in the order of the source.

    ``rows`` are in the order of the source; ``near`` and ``levels`` are sorted by ``order``.
    """
    begin, end = np.searchsorted(plan.truth_rows, [first, first + len(order)])
    chosen = plan.truth_rows[begin:end] - first
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    at = position[chosen]
    plan.folder.write(f"truth/rows.{block}", rows[chosen])
    plan.folder.write(f"truth/near.{block}", near[at])
    plan.folder.write(f"truth/levels.{block}", levels[at])
    plan.folder.write(f"truth/positions.{block}", at)
