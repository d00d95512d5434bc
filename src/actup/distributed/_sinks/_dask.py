"""DaskSink: the map as an array or a data frame of dask over the files that workers have written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup.distributed._sinks._base import NpyPartsSink, coordinate_names
from actup.distributed._sources._dask import StoredBlocks, read_index


@dataclass(frozen=True, eq=False)
class DaskSink(NpyPartsSink):
    """The map as a collection of dask with the row chunks or partitions of the source.

    The collection reads the parts, and the stored indices of a data frame, when it is computed: both have to
    stay where they are.

    Attributes
    ----------
    source : StoredBlocks
    """

    source: StoredBlocks

    def finish(self) -> Any:
        """An array of shape (n, dimensions), or a data frame of coordinates with the source's index.

        A data frame has the columns ``x``, ``y``, … as in parquet, after ``id`` if there is an id column.
        """
        self._require_all_parts()
        return self._array() if self.source.kind == "dask.array" else self._frame()

    def _publish(self) -> None:
        """Parts are read where they are."""

    def _parts_of_blocks(self) -> tuple[str | None, ...]:
        """The part of each block of the source; None for blocks without rows."""
        shards = iter(range(len(self.shards)))
        return tuple(self.part_path(next(shards)) if block.rows else None for block in self.source.blocks)

    def _array(self) -> Any:
        import dask.array as da

        rows = tuple(block.rows for block in self.source.blocks)
        return da.map_blocks(
            _read_block,
            chunks=(rows, (self.dimensions,)),
            dtype=np.float32,
            meta=np.empty((0, 0), np.float32),
            paths=self._parts_of_blocks(),
            dimensions=self.dimensions,
        )

    def _frame(self) -> Any:
        import dask.dataframe as dd

        blocks = [block.location for block in self.source.blocks]
        options = {"dimensions": self.dimensions, "index_dtype": self.source.meta_index.dtype}
        return dd.from_map(
            _read_partition,
            self._parts_of_blocks(),
            blocks,
            meta=_read_partition(None, blocks[0], **options),
            divisions=self.source.divisions,
            **options,
        )


def _read_block(
    *, paths: tuple[str | None, ...], dimensions: int, block_id: tuple[int, int] | None = None
) -> np.ndarray:
    return _read_rows(None if block_id is None else paths[block_id[0]], dimensions)


def _read_partition(part: str | None, block: str, *, dimensions: int, index_dtype: Any) -> Any:
    """Coordinates with the index of a partition; without a part an empty frame of the same columns."""
    rows = _read_rows(part, dimensions)
    frame = read_index(block).iloc[: len(rows)]
    if frame.index.dtype != index_dtype:
        frame.index = frame.index.astype(index_dtype)
    return frame.assign(**dict(zip(coordinate_names(dimensions), rows.T, strict=True)))


def _read_rows(path: str | None, dimensions: int) -> np.ndarray:
    if path is None:
        return np.empty((0, dimensions), np.float32)
    rows: np.ndarray = np.load(path, allow_pickle=False)
    return rows
