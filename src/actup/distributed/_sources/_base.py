"""Source: rows in shards that any worker can read on its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# Types that are read as they are stored; all others become float32 or float64.
_KEPT_DTYPES = ("float16", "float32", "float64", "uint8", "int8")


class ShardError(ValueError):
    """A shard of a source cannot be used.

    Parameters
    ----------
    shard : str
        Name of the shard.
    problem : str
        What is wrong with it, and the remedy.
    """

    def __init__(self, shard: str, problem: str) -> None:
        super().__init__(shard, problem)  # both, so that the error survives pickling
        self.shard = shard
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.shard}: {self.problem}"


@dataclass(frozen=True)
class Shard:
    """A range of the rows of a source.

    Attributes
    ----------
    name : str
        What errors call it: ``"part-00017.parquet"``.
    rows : int
        At least 1.
    """

    name: str
    rows: int


class Source(ABC):
    """Rows in shards that any worker can read on its own.

    A source is small, can be pickled and holds no data, except for an array in memory (``in_process``).

    Attributes
    ----------
    kind : str
        What the rows come from, which decides the default kind of the result: ``"npy"``, ``"memory"``,
        ``"parquet"``, ``"zarr"``, ``"anndata"``, ``"dask.array"`` or ``"dask.dataframe"``.
    shards : tuple of Shard
        In row order; none is empty.
    columns : int
        Width of a row.
    dtype : numpy.dtype
        Of what ``read`` gives.
    in_process : bool
        Whether the rows live in the memory of this process, so that no other process can read them.
    has_ids : bool
        Whether ``ids`` gives the values of an id column.
    """

    shards: tuple[Shard, ...]
    columns: int
    dtype: np.dtype

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the rows come from."""

    @property
    def rows(self) -> int:
        """Number of rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def in_process(self) -> bool:
        """Whether the rows live in the memory of this process."""
        return any(file.startswith("memory://") for file in self.files)

    @property
    def has_ids(self) -> bool:
        """Whether an id column was asked for."""
        return False

    @property
    def files(self) -> tuple[str, ...]:
        """Paths and URLs of all files or stores that are read; a sink must not replace one of them."""
        return ()

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """The names of the columns; None if they have none."""
        return None

    @property
    def copy_bytes(self) -> int:
        """Bytes of a copy of the rows that was made in the work folder, because they are read from there."""
        return 0

    def part_name(self, shard: int) -> str:
        """Relative path, without suffix, of the file that holds the shard's part of a result in parts."""
        return f"part-{shard:05d}"

    @abstractmethod
    def identity(self) -> str:
        """Stable text that says which rows and columns these are, whatever the content: kind and location."""

    @abstractmethod
    def fingerprint(self, shard: int) -> str:
        """Text that changes when the content of a shard may have changed; costs no reading of the rows."""

    @abstractmethod
    def read(self, shard: int, rows_per_chunk: int) -> Iterator[np.ndarray]:
        """Iterate over the rows of a shard in bounded memory.

        Parameters
        ----------
        shard : int
        rows_per_chunk : int
            Most rows of a chunk. File formats may hold more in memory, such as one chunk of zarr.

        Yields
        ------
        ndarray of shape (m, columns)
            C-contiguous, in row order.

        Raises
        ------
        ShardError
            If the shard is unreadable, truncated or not what it was when the source was opened.
        """

    def discard_copy(self, shard: int) -> None:  # noqa: B027 (nothing to do: most sources have no copies)
        """Remove the copy of a shard that cannot be used, so that the next call reads the shard again."""

    def ids(self, shard: int) -> np.ndarray | None:
        """Values of the id column of the rows of a shard; None if there is no id column."""
        return None


def row_dtype(stored: np.dtype) -> np.dtype | None:
    """The type that stored values are read as, in native byte order; None if they are no real numbers.

    float16, float32, float64, uint8 and int8 stay. Other integers and booleans become the smallest floating
    type that holds all their values: float32 up to 16 bits, else float64 (which rounds beyond 2**53).
    """
    if stored.kind not in "biuf":
        return None
    if stored.name in _KEPT_DTYPES:
        return stored.newbyteorder("=")
    small = stored.kind == "b" or (stored.kind in "iu" and stored.itemsize <= 2)
    return np.dtype(np.float32 if small else np.float64)


def row_ranges(rows: int, shard_rows: int, alignment: int = 1) -> list[tuple[int, int]]:
    """Split rows into ranges of about ``shard_rows``; all but the last are multiples of ``alignment``."""
    step = max(shard_rows // alignment, 1) * alignment
    return [(begin, min(begin + step, rows)) for begin in range(0, rows, step)]


def range_name(begin: int, end: int, whole: int, name: str) -> str:
    """What errors call the rows ``begin`` to ``end`` (exclusive) of a file or array with ``whole`` rows."""
    return name if end - begin == whole else f"rows {begin:,} to {end - 1:,} of {name}"


def reason(error: BaseException, longest: int = 200) -> str:
    """The message of another library's error on one line, shortened; its type if it has none."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= longest else text[:longest] + " …"
