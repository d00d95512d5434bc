"""NpySink: the map as one .npy file, or as an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._array_files import write_header, write_values
from actup.distributed._sinks._base import NpyPartsSink
from actup.distributed._sinks._whole import whole_location


@dataclass(frozen=True)
class NpySink(NpyPartsSink):
    """The map as one .npy file of float32.

    Attributes
    ----------
    as_array : bool
        Whether ``finish`` returns the array and not its path; the file stays.
    """

    as_array: bool = False

    def _publish(self) -> None:
        shape = sum(shard.rows for shard in self.shards), self.dimensions
        with whole_location(self.target) as unfinished, open(unfinished, "wb") as file:
            write_header(file, shape, np.dtype(np.float32))
            for shard in range(len(self.shards)):
                write_values(file, self.read_part(shard))

    def _result(self) -> Any:
        return np.load(self.target, allow_pickle=False) if self.as_array else self.target
