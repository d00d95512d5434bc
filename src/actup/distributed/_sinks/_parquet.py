"""ParquetFileSink and ParquetFolderSink: the map with ids, as one file or as a folder of parts.

The columns are ``id`` (values of the id column, or row numbers), then ``x``, ``y``, ``z``, or ``x0``, ``x1``,
… beyond three dimensions. They are not named ``projection_x`` as those of ``write_atlas``: a map of any
number of dimensions goes here, and Embedding Atlas opens it with ``--x x --y y``.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._whole_file import remove_unfinished, whole_file, write_errors
from actup.distributed._sinks._base import PartsSink, coordinate_names, remove_parts
from actup.distributed._sinks._whole import move, whole_location
from actup.distributed._sources._parquet import require_pyarrow
from actup.distributed._sources._storage import exists, file_system, is_folder, is_remote, join

_ROWS_PER_GROUP = 1 << 17  # rows that a row group of a joined file has at least, if there are more


@dataclass(frozen=True)
class ParquetFileSink(PartsSink):
    """The map as one parquet file, joined from parts."""

    def _write_part(self, shard: int, rows: np.ndarray, ids: np.ndarray | None) -> None:
        with whole_file(self._part_path(shard)) as unfinished:
            _write_table(unfinished, rows, self.row_numbers(shard) if ids is None else ids)

    def _has_part(self, shard: int) -> bool:
        return os.path.exists(self._part_path(shard))

    def _publish(self) -> None:
        pa = require_pyarrow("writing parquet")
        parquet = pa.parquet
        schema = parquet.read_schema(self._part_path(0))
        with whole_location(self.target) as unfinished, parquet.ParquetWriter(unfinished, schema) as writer:
            waiting: list[Any] = []
            for shard in range(len(self.shards)):
                with parquet.ParquetFile(self._part_path(shard)) as part:  # read_table waits for threads
                    waiting.append(part.read(use_threads=False).cast(schema))
                if sum(map(len, waiting)) >= _ROWS_PER_GROUP or shard == len(self.shards) - 1:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting.clear()

    def _remove_parts(self) -> None:
        remove_parts(self.state)

    def _part_path(self, shard: int) -> str:
        return os.path.join(self.state, f"part-{shard:05d}.parquet")


@dataclass(frozen=True)
class ParquetFolderSink(PartsSink):
    """The map as a folder of parquet files, one per shard of the source.

    Parts wait beside the target, or below it in an object store, under a name that readers skip. If the
    folder does not exist yet, or is empty, it appears with all its parts at once; else parts are moved one by
    one. Other files in it stay.

    Attributes
    ----------
    part_names : tuple of str
        Relative paths of the parts, without suffix.
    staging : str
        The folder where parts wait.
    """

    part_names: tuple[str, ...]
    staging: str

    def _write_part(self, shard: int, rows: np.ndarray, ids: np.ndarray | None) -> None:
        with write_errors(self.target, self.staging), whole_location(self._staged(shard)) as unfinished:
            _write_table(unfinished, rows, self.row_numbers(shard) if ids is None else ids)

    def _has_part(self, shard: int) -> bool:
        return exists(self._staged(shard))

    def _publish(self) -> None:
        if not is_remote(self.target) and _is_absent_or_empty(self.target) and exists(self.staging):
            remove_unfinished(self.staging)
            if os.path.isdir(self.target):
                os.rmdir(self.target)
            os.makedirs(os.path.dirname(self.target), exist_ok=True)
            os.replace(self.staging, self.target)
            return
        for shard in range(len(self.shards)):
            if self._has_part(shard):  # else an earlier call has moved it
                move(self._staged(shard), self.part_location(shard))

    def _remove_parts(self) -> None:
        if is_remote(self.staging):
            system, path = file_system(self.staging)
            if system.exists(path):
                system.rm(path, recursive=True)
        elif is_folder(self.staging):
            shutil.rmtree(self.staging)

    def part_location(self, shard: int) -> str:
        """Where the part of a shard lies in the result."""
        return join(self.target, self.part_names[shard] + ".parquet")

    def _staged(self, shard: int) -> str:
        return join(self.staging, self.part_names[shard] + ".parquet")


def _write_table(path: str | os.PathLike[str], rows: np.ndarray, ids: np.ndarray) -> None:
    pa = require_pyarrow("writing parquet")
    names = coordinate_names(rows.shape[1])
    columns = [pa.array(ids), *(pa.array(rows[:, column]) for column in range(rows.shape[1]))]
    pa.parquet.write_table(pa.table(columns, names=["id", *names]), path)


def _is_absent_or_empty(folder: str) -> bool:
    return not os.path.isdir(folder) or not os.listdir(folder)
