"""Hdf5Source: rows of an array in an HDF5 file, such as the .h5ad of an AnnData."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from actup.distributed._sources._base import ShardError, reason
from actup.distributed._sources._chunked import ChunkedSource, chunk_layout
from actup.distributed._sources._groups import check_id_column, choose_array, is_anndata
from actup.distributed._sources._storage import file_name, is_remote, open_file, version_of

HDF5_SUFFIXES = (".h5ad", ".h5", ".hdf5")


@dataclass(frozen=True, eq=False)
class Hdf5Source(ChunkedSource):
    """Rows of an array in an HDF5 file.

    Attributes
    ----------
    location : str
        Path or URL.
    """

    location: str

    @property
    def kind(self) -> str:
        """``"anndata"`` or ``"hdf5"``."""
        return "anndata" if self.is_anndata else "hdf5"

    @property
    def files(self) -> tuple[str, ...]:
        """Path or URL of the file."""
        return (self.location,)

    def identity(self) -> str:
        """Location, path of the array, id column."""
        return f"{self.kind}:{self.location}:{self.path}:{self.id_column}"

    def fingerprint(self, shard: int) -> str:
        """Size and modification time (or checksum) of the file."""
        return version_of(self.location)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The root group of the file."""
        with _opened(self.location) as root:
            yield root


def hdf5_source(location: str, columns: Any, id_column: str | None, shard_rows: int) -> Hdf5Source:
    """The source of an array in an HDF5 file, whose path is ``columns``."""
    name = file_name(location)
    with ExitStack() as stack:
        try:
            root = stack.enter_context(_opened(location))
        except OSError as error:
            raise ShardError(name, f"cannot be read as HDF5 ({reason(error)})") from error
        path = choose_array(root, columns, name)
        array = root[path]
        row_chunk = array.chunks[0] if array.chunks else 1
        layout = chunk_layout(array, f"{path} of {name}", row_chunk, shard_rows)
        check_id_column(root, id_column, name, array.shape[0])
        return Hdf5Source(*layout, path, row_chunk, id_column, is_anndata(root), location)


@contextmanager
def _opened(location: str) -> Iterator[Any]:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"reading {file_name(location)} needs the package h5py: pip install 'actup[scanpy]'"
        ) from error
    with ExitStack() as stack:
        file = stack.enter_context(open_file(location)) if is_remote(location) else location
        yield stack.enter_context(h5py.File(file, "r"))
