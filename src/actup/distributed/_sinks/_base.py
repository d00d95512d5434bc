"""Sink: takes the map shard by shard and puts it in place as a whole."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from actup._array_files import save_array
from actup.distributed._sources._base import Shard
from actup.distributed._sources._storage import exists, is_remote

_COMPLETE = "complete"  # marker: all parts were there, and putting them in place has begun
_FINISHED = "finished"  # marker: the result is in place


class Sink(ABC):
    """Takes the map shard by shard. It can be pickled and sent to workers."""

    @abstractmethod
    def write(self, shard: int, rows: np.ndarray, ids: np.ndarray | None) -> None:
        """Write one shard's part of the map, whole or not at all.

        Shards may be written in any order, by any worker, and again, also by two workers at the same time.

        Parameters
        ----------
        shard : int
        rows : ndarray of shape (n_rows, dimensions)
            Coordinates of the shard's rows, in row order.
        ids : ndarray of shape (n_rows,) or None
            Their ids; None: rows are numbered.
        """

    @property
    def local_target(self) -> str | None:
        """The path of the result; None if it is a URL."""
        return None

    @abstractmethod
    def finish(self) -> Any:
        """Put the result in place after all shards were written, in the client; safe to repeat.

        Returns
        -------
        object
            The path or URL of the result, or the array or collection itself.

        Raises
        ------
        RuntimeError
            If a shard was not written.
        """


@dataclass(frozen=True)
class PartsSink(Sink):
    """A sink that collects parts in a staging folder, then puts them in place.

    Attributes
    ----------
    shards : tuple of Shard
        Those of the source.
    dimensions : int
        Of the map.
    target : str
        Path or URL of the result.
    state : str
        A folder of this sink alone, on a file system that all workers share.
    """

    shards: tuple[Shard, ...]
    dimensions: int
    target: str
    state: str

    @property
    def local_target(self) -> str | None:
        """The path of the result; None if it is a URL."""
        return None if is_remote(self.target) else self.target

    def write(self, shard: int, rows: np.ndarray, ids: np.ndarray | None) -> None:
        """Write one shard's part of the map; see ``Sink.write``."""
        expected = (self.shards[shard].rows, self.dimensions)
        if rows.shape != expected:
            raise ValueError(f"the map of {self.shards[shard].name} has shape {rows.shape}, not {expected}")
        Path(self.state).mkdir(parents=True, exist_ok=True)
        self._marker(_FINISHED).unlink(missing_ok=True)
        self._write_part(shard, np.ascontiguousarray(rows, np.float32), ids)

    def finish(self) -> Any:
        """Put the result in place; see ``Sink.finish``."""
        if not (self._marker(_FINISHED).exists() and exists(self.target)):
            if not self._marker(_COMPLETE).exists():
                self._require_all_parts()
                self._marker(_COMPLETE).touch()
            self._publish()
            self._marker(_FINISHED).touch()
            self._marker(_COMPLETE).unlink(missing_ok=True)
        self._remove_parts()
        return self._result()

    def row_numbers(self, shard: int) -> np.ndarray:
        """The numbers of a shard's rows among all rows of the source."""
        begin = sum(other.rows for other in self.shards[:shard])
        return np.arange(begin, begin + self.shards[shard].rows, dtype=np.int64)

    @abstractmethod
    def _write_part(self, shard: int, rows: np.ndarray, ids: np.ndarray | None) -> None:
        """Write a part, whole or not at all."""

    @abstractmethod
    def _has_part(self, shard: int) -> bool:
        """Whether a part was written."""

    @abstractmethod
    def _publish(self) -> None:
        """Put all parts in place; continues where an earlier call was interrupted."""

    def _remove_parts(self) -> None:
        """Remove parts that are no longer needed."""

    def _result(self) -> Any:
        return self.target

    def _require_all_parts(self) -> None:
        missing = [shard for shard in range(len(self.shards)) if not self._has_part(shard)]
        if missing:
            others = f" and {len(missing) - 1} other shards" if len(missing) > 1 else ""
            raise RuntimeError(f"the map of {self.shards[missing[0]].name}{others} was not written")

    def _marker(self, name: str) -> Path:
        return Path(self.state) / name


@dataclass(frozen=True)
class NpyPartsSink(PartsSink):
    """A sink whose parts are .npy files, which are joined at the end."""

    def part_path(self, shard: int) -> str:
        """Where the part of a shard is kept."""
        return os.path.join(self.state, f"part-{shard:05d}.npy")

    def read_part(self, shard: int) -> np.ndarray:
        """The coordinates of a shard's rows."""
        rows: np.ndarray = np.load(self.part_path(shard), allow_pickle=False)
        return rows

    def _write_part(self, shard: int, rows: np.ndarray, ids: np.ndarray | None) -> None:
        save_array(self.part_path(shard), rows)

    def _has_part(self, shard: int) -> bool:
        return os.path.exists(self.part_path(shard))

    def _remove_parts(self) -> None:
        remove_parts(self.state)


def remove_parts(folder: str) -> None:
    """Remove everything from a staging folder but the markers."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name not in (_COMPLETE, _FINISHED):
            os.unlink(entry.path)


def coordinate_names(dimensions: int) -> list[str]:
    """The names of the columns of coordinates: x, y, z, or x0, x1, … beyond three dimensions."""
    if dimensions <= 3:
        return list("xyz"[:dimensions])
    return [f"x{number}" for number in range(dimensions)]
