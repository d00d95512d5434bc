"""Plan: everything that decides the result of a run over files, in one small value that workers receive."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

import actup
from actup._cached_property import cached_property
from actup.distributed._estimate import Shape
from actup.distributed._folder import WorkFolder
from actup.distributed._sources import Source
from actup.neighbors._metrics import METRICS
from actup.neighbors._rows import ENGINE_TYPES
from actup.recipe._recipe import Recipe

NEAR_CELLS = 8  # nearest cells of a row that are known: it may be indexed in the groups of all of them
TRUTH_ROWS = 1000  # rows whose true neighbours are searched, to choose the spill and to measure the recall
REFINEMENT_ROUNDS = 3  # at most
MAX_CELLS = 2**14  # numbers of cells are kept in 16 bits
_MIN_CELL_ROWS = 16  # a cell has at least this many rows on average
_CELLS = 4096  # as many as landmarks of a map in memory: the cells are the landmarks
_CELLS_PER_GROUP = 128
_SAMPLE_ROWS_PER_CELL, _MIN_SAMPLE_ROWS_PER_CELL = 64, 16
_SAMPLE_BYTES = 2**28  # a sample of wide rows has fewer of them


@dataclass(frozen=True)
class Block:
    """Consecutive rows of one shard that are sorted together.

    Attributes
    ----------
    shard : int
    begin, rows : int
        The first row within the shard, and how many there are.
    """

    shard: int
    begin: int
    rows: int


@dataclass(frozen=True)
class Plan:
    """What a run over files does, and with which numbers.

    Two runs of equal plans give the same bits, whoever executes them. ``actup.distributed.make_plan`` makes
    one.

    Attributes
    ----------
    source : Source
        Where the rows come from.
    recipe : Recipe
        What is computed.
    work : str
        The folder for intermediate files. It does not belong to the key.
    groups : int
        Groups of cells that are searched one at a time.
    block_rows : int
        Rows that are sorted at a time.
    memory : int
        Bytes that a process may use.
    seed : int
    backend : str
        Where the layout runs: "cpu", "cuda", or "auto".
    version : str
        That of ActUp.

    See Also
    --------
    actup.distributed.make_plan : Makes a plan and checks it.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> from actup.distributed import make_plan
    >>> X = np.random.default_rng(0).normal(size=(1000, 5)).astype(np.float32)
    >>> with tempfile.TemporaryDirectory() as work:
    ...     plan = make_plan(X, "umap", work=work)
    >>> plan.rows, plan.groups, plan.k
    (1000, 1, 14)
    """

    source: Source
    recipe: Recipe
    work: str
    groups: int
    block_rows: int
    memory: int
    seed: int
    backend: str
    version: str = actup.__version__

    @cached_property
    def key(self) -> str:
        """A name for everything that decides the bits of the result; the folder does not."""
        values = {field.name: repr(getattr(self, field.name)) for field in fields(self)}
        del values["work"]
        values["source"] = self.source.identity()
        values["shards"] = repr([shard.rows for shard in self.source.shards])
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def explain(self) -> str:
        """Say what a run takes: memory and processor time of every stage, files, and how rows are divided.

        Returns
        -------
        str
            Several lines for people.
        """
        from actup.distributed._needs import explain

        return explain(self)

    @property
    def shape(self) -> Shape:
        """The numbers that decide what a run takes."""
        return Shape.of(self.source, self.recipe)

    @property
    def folder(self) -> WorkFolder:
        """Where the run keeps its files."""
        return WorkFolder(Path(self.work) / f"actup-{self.key}")

    @property
    def rows(self) -> int:
        """The number of rows of all shards."""
        return self.source.rows

    @property
    def k(self) -> int:
        """Neighbours per row."""
        return self.recipe.neighbors_searched(self.rows)

    @property
    def recall(self) -> float:
        """The wanted share of true neighbours; 1.0: all groups are compared with all groups."""
        return self.recipe.recall

    @property
    def is_exact(self) -> bool:
        """Whether all pairs of rows are compared."""
        return self.recall >= 1.0

    @property
    def cells(self) -> int:
        """How many cells are wanted."""
        wanted = min(MAX_CELLS, max(_CELLS, _CELLS_PER_GROUP * self.groups))
        return max(self.groups, min(wanted, self.rows // _MIN_CELL_ROWS), 1)

    @property
    def sample_rows(self) -> int:
        """Rows that cells are found from."""
        affordable = _SAMPLE_BYTES // max(1, self.source.columns * self.source.dtype.itemsize)
        per_cell = min(_SAMPLE_ROWS_PER_CELL, max(_MIN_SAMPLE_ROWS_PER_CELL, affordable // self.cells))
        return min(self.rows, per_cell * self.cells)

    @property
    def metric(self) -> str:
        """The metric of the neighbours."""
        assert isinstance(self.recipe.metric, str)
        return self.recipe.metric

    @property
    def cell_metric(self) -> str:
        """The metric in which cells are found: that of the rows, or the Euclidean one where it will do."""
        return self.metric if METRICS[self.metric].cluster_search else "euclidean"

    @property
    def row_type(self) -> np.dtype[np.generic]:
        """The type in which rows are kept and compared."""
        kept = self.source.dtype.type in ENGINE_TYPES
        return self.source.dtype if kept else np.dtype(np.float32)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All rows in order, as blocks of at most ``block_rows``."""
        return tuple(
            Block(number, begin, min(self.block_rows, shard.rows - begin))
            for number, shard in enumerate(self.source.shards)
            for begin in range(0, shard.rows, self.block_rows)
        )

    def blocks_of(self, shard: int) -> list[int]:
        """The numbers of a shard's blocks."""
        return [number for number, block in enumerate(self.blocks) if block.shard == shard]

    @cached_property
    def first_row_of_shard(self) -> np.ndarray:
        """The number of the first row of every shard, and of all rows."""
        return np.concatenate([[0], np.cumsum([shard.rows for shard in self.source.shards])])

    @cached_property
    def truth_rows(self) -> np.ndarray:
        """The numbers of the rows whose true neighbours are searched, ascending."""
        random = np.random.default_rng([self.seed, 12])
        return np.sort(random.choice(self.rows, min(TRUTH_ROWS, self.rows), replace=False))
