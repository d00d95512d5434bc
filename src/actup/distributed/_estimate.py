"""What a run over files takes: memory of each stage, files, processor time.

The constants were measured with benchmarks/scale.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actup._engine import engine
from actup.backends._memory._map import layout_moments
from actup.backends._memory._shape import BASE_BYTES, EDGES_PER_NEIGHBOR, Lean, RunShape
from actup.distributed._sources import Source
from actup.neighbors._rows import ENGINE_TYPES
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Initialization

_PLANNED_EXTRA_ROWS = 1.0  # guests per row of a group, as far as the size of groups is concerned

# Bytes per row of a stage, besides rows and lists.
_ASSIGNED_ROW_BYTES = 260
_SEARCHED_ROW_BYTES = 100
_SEARCH_SHARE = 0.3  # of the rows' memory, for the index of a search
_CANDIDATE_BYTES = 24  # of a neighbour of a neighbour, while it is compared
_FOLLOWED_BYTES = 48  # of a neighbour whose list is read
_MIN_REFINED_ROWS = 1024  # that are refined at a time

# Nanoseconds of one core per row.
_SCAN_COLUMN_NS = 12.0
_ASSIGN_NS, _ASSIGN_COLUMN_NS = 2_500.0, 20.0
_TRUTH_PAIR_NS, _TRUTH_PAIR_COLUMN_NS = 0.3, 0.0235  # per row of the source and row of the sample
_SEARCH_NS, _SEARCH_COLUMN_NS = 6_500.0, 15.0
_CANDIDATE_NS, _CANDIDATE_COLUMN_NS = 220.0, 1.0  # per neighbour of a neighbour
_GRAPH_NEIGHBOR_NS = 250.0
_LAYOUT_POINT_NS, _LAYOUT_EDGE_NS = 80.0, 2.5  # per epoch


@dataclass(frozen=True)
class Shape:
    """The numbers that decide what a run takes.

    Attributes
    ----------
    rows, columns, itemsize : int
        Of the rows as they are kept.
    source_itemsize : int
        Bytes of a value as the source gives it.
    k : int
        Neighbours per row.
    layout : int
        Bytes of the layout, which reads the graph part by part.
    """

    rows: int
    columns: int
    itemsize: int
    source_itemsize: int
    k: int
    layout: int

    @classmethod
    def of(cls, source: Source, recipe: Recipe) -> Shape:
        return cls.of_rows(source.rows, source.columns, source.dtype, recipe)

    @classmethod
    def of_rows(cls, rows: int, columns: int, dtype: np.dtype, recipe: Recipe) -> Shape:
        kept = dtype.itemsize if dtype.type in ENGINE_TYPES else np.dtype(np.float32).itemsize
        run = RunShape(rows, columns, 0, dtype, sparse=False, given_bytes=0, read_bytes=0, recipe=recipe)
        layout = max(sum(moment.values()) for moment in layout_moments(run, Lean(graph_on_disc=True)))
        return cls(rows, columns, kept, dtype.itemsize, run.k, int(layout))

    @property
    def row_bytes(self) -> int:
        """A row as it is kept."""
        return self.columns * self.itemsize

    @property
    def lists_bytes(self) -> int:
        """The neighbours of a row: ids and distances."""
        return 8 * self.k


def layout_bytes(shape: Shape) -> int:
    """Memory of the layout, which has its own copy of the graph."""
    return shape.layout


def block_rows_for(shape: Shape, memory: int) -> int:
    """Rows that are sorted at a time, in half of the memory."""
    per_row = 2 * shape.columns * shape.source_itemsize + 2 * shape.row_bytes + _ASSIGNED_ROW_BYTES
    return max(1024, min(2**20, memory // 2 // per_row))


def groups_for(shape: Shape, memory: int) -> int:
    """How many groups the rows are divided into so that each is searched within the memory."""
    return max(1, -(-int(shape.rows * (1 + _PLANNED_EXTRA_ROWS) * _search_row_bytes(shape)) // memory))


def searched_rows(shape: Shape, memory: int) -> int:
    """How many rows, guests included, can be searched together within a memory."""
    return int((memory - BASE_BYTES) / _search_row_bytes(shape))


def _search_row_bytes(shape: Shape) -> float:
    return shape.row_bytes * (1 + _SEARCH_SHARE) + 3 * shape.lists_bytes + _SEARCHED_ROW_BYTES


def refined_rows(shape: Shape, memory: int, group_rows: int) -> int:
    """How many rows of a group are refined at a time, within a memory and no more than a search takes."""
    searched = group_rows * (1 + _PLANNED_EXTRA_ROWS) * _search_row_bytes(shape)
    room = min(memory - BASE_BYTES, searched) - _refined_group_bytes(shape, group_rows)
    return min(max(1, group_rows), max(_MIN_REFINED_ROWS, int(room / _refined_row_bytes(shape))))


def _refined_group_bytes(shape: Shape, group_rows: float) -> float:
    """Lists of a group, and the rows of another one that it is compared with."""
    return group_rows * (3 * shape.lists_bytes + shape.row_bytes)


def _refined_row_bytes(shape: Shape) -> int:
    followed = min(shape.k, engine.MAX_FOLLOWED)
    candidates = _CANDIDATE_BYTES * followed**2 + _FOLLOWED_BYTES * followed
    return 2 * shape.row_bytes + 2 * shape.lists_bytes + candidates


def stage_bytes(shape: Shape, memory: int, groups: int, block_rows: int, sample_rows: int) -> dict[str, int]:
    """The peak of memory of every stage, Python itself included, if a process may use ``memory``."""
    group_rows = shape.rows / groups
    guests = _PLANNED_EXTRA_ROWS if groups > 1 else 0.0
    per_block_row = 2 * shape.columns * shape.source_itemsize + 2 * shape.row_bytes + _ASSIGNED_ROW_BYTES
    edge_bytes = 8 * EDGES_PER_NEIGHBOR * shape.k
    peaks = {
        "scan": 2**27,
        "cells": sample_rows * (shape.columns * shape.source_itemsize + 2 * shape.row_bytes + 64),
        "assign": min(block_rows, shape.rows) * per_block_row,
        "truth": group_rows * (shape.row_bytes + 32),
        "search": group_rows * (1 + guests) * _search_row_bytes(shape),
        "refine": _refined_group_bytes(shape, group_rows)
        + refined_rows(shape, memory, int(group_rows)) * _refined_row_bytes(shape),
        "graph": group_rows * (4 * shape.lists_bytes + 2 * edge_bytes),
        "layout": layout_bytes(shape),
    }
    return {name: int(size) + BASE_BYTES for name, size in peaks.items()}


def disc_bytes(shape: Shape, dimensions: int) -> int:
    """The most that files take at a time: rows, what they visit, lists of rows and guests, merged lists."""
    rows = shape.row_bytes + 60
    lists = shape.lists_bytes * (2 + _PLANNED_EXTRA_ROWS)
    edges = shape.k * (8 + 4 + 12 + 8 * EDGES_PER_NEIGHBOR)
    return int(shape.rows * (max(rows + lists, lists + edges) + 4 * dimensions + 20))


def round_seconds(shape: Shape) -> float:
    """Seconds of one core that a refinement round takes, within a factor of two or three."""
    candidates = min(shape.k, engine.MAX_FOLLOWED) ** 2
    return shape.rows * candidates * (_CANDIDATE_NS + _CANDIDATE_COLUMN_NS * shape.columns) * 1e-9


def processor_seconds(shape: Shape, recipe: Recipe, truth_rows: int, is_exact: bool) -> dict[str, float]:
    """Seconds of one core that every stage takes, within a factor of two or three; without refinement."""
    columns, n, k = shape.columns, shape.rows, shape.k
    search = (_SEARCH_NS + _SEARCH_COLUMN_NS * columns) * 1.5 + 160.0 * max(0, k - 15)
    if is_exact:
        search = n * (_TRUTH_PAIR_NS + _TRUTH_PAIR_COLUMN_NS * columns)
    pca = 20.0 * columns if recipe.initialization is Initialization.PCA else 0.0
    epoch = _LAYOUT_POINT_NS + _LAYOUT_EDGE_NS * EDGES_PER_NEIGHBOR * k
    per_row = {
        "scan": _SCAN_COLUMN_NS * columns,
        "assign": _SCAN_COLUMN_NS * columns + _ASSIGN_NS + _ASSIGN_COLUMN_NS * columns + pca,
        "truth": truth_rows * (_TRUTH_PAIR_NS + _TRUTH_PAIR_COLUMN_NS * columns),
        "search": search,
        "graph": _GRAPH_NEIGHBOR_NS * k,
        "layout": recipe.n_epochs(n) * epoch,
    }
    return {name: value * n * 1e-9 for name, value in per_row.items()}
