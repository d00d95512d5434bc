"""Numbering: the new ids of the rows, in the order of (group, block, cell, row).

The rows of a group have consecutive ids, and the rows of a group that come from one block lie side by side in
the files of that block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actup._cached_property import cached_property
from actup.distributed._plan import Plan


@dataclass(frozen=True)
class Numbering:
    """How many rows of each block belong to each group.

    Attributes
    ----------
    counts : ndarray of shape (blocks, groups), int64
    """

    counts: np.ndarray

    @classmethod
    def of(cls, plan: Plan) -> Numbering:
        """The numbering that the stage "assign" has found."""
        folder = plan.folder
        shards = range(len(plan.source.shards))
        return cls(np.concatenate([folder.read(f"assign/counts.{shard}") for shard in shards]))

    @cached_property
    def first_ids(self) -> np.ndarray:
        """The first id of every group, and the number of all rows: (groups + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts.sum(axis=0))])

    @cached_property
    def piece_ids(self) -> np.ndarray:
        """The id of the first row of every block in every group: (blocks, groups)."""
        before = np.cumsum(self.counts, axis=0) - self.counts
        ids: np.ndarray = self.first_ids[:-1] + before
        return ids

    @cached_property
    def piece_positions(self) -> np.ndarray:
        """Where the rows of every group begin in the files of every block: (blocks, groups + 1)."""
        ends = np.cumsum(self.counts, axis=1)
        return np.concatenate([np.zeros((len(ends), 1), np.int64), ends], axis=1)

    def size(self, group: int) -> int:
        """The number of rows of a group."""
        return int(self.first_ids[group + 1] - self.first_ids[group])

    def ids_at(self, block: int, positions: np.ndarray) -> np.ndarray:
        """The ids of rows at positions in the files of a block."""
        group = self.groups_at(block, positions)
        ids: np.ndarray = self.piece_ids[block, group] + positions - self.piece_positions[block, group]
        return ids

    def groups_at(self, block: int, positions: np.ndarray) -> np.ndarray:
        """The home groups of rows at positions in the files of a block."""
        return np.searchsorted(self.piece_positions[block], positions, side="right") - 1


def read_group(plan: Plan, numbering: Numbering, name: str, group: int) -> np.ndarray:
    """The part of an array of every block, e.g. ``"rows"``, that belongs to a group, in the order of ids."""
    size, begin, positions = numbering.size(group), 0, numbering.piece_positions
    result: np.ndarray | None = None
    for block in range(len(numbering.counts)):
        first, end = positions[block, group], positions[block, group + 1]
        if result is None:
            piece = plan.folder.read(f"{name}/{block}", first, end)
            result = np.empty((size, *piece.shape[1:]), piece.dtype)
            result[: len(piece)] = piece
        else:
            plan.folder.read_into(f"{name}/{block}", first, result[begin : begin + end - first])
        begin += end - first
    assert result is not None
    return result


def read_rows_of_group(plan: Plan, numbering: Numbering, group: int, places: np.ndarray) -> np.ndarray:
    """The rows at ascending places of a group, counted in the order of ids."""
    rows = np.empty((len(places), plan.source.columns), plan.row_type)
    firsts = numbering.piece_ids[:, group] - numbering.first_ids[group]
    bounds = np.append(np.searchsorted(places, firsts), len(places))
    for block in np.flatnonzero(np.diff(bounds)):
        part = slice(bounds[block], bounds[block + 1])
        positions = places[part] - firsts[block] + numbering.piece_positions[block, group]
        plan.folder.read_rows(f"rows/{block}", positions, rows[part])
    return rows
