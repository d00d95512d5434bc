"""ZarrSource: rows of an array in a zarr store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from actup.distributed._sources._base import ShardError, reason
from actup.distributed._sources._chunked import ChunkedSource, chunk_layout
from actup.distributed._sources._groups import check_id_column, choose_array, is_anndata, is_array
from actup.distributed._sources._storage import exists, file_name, join, version_of

_METADATA_FILES = ("zarr.json", ".zarray", ".zgroup")
_INNER_PATH = re.compile(r"(.+)::([^:]+)")


@dataclass(frozen=True, eq=False)
class ZarrSource(ChunkedSource):
    """Rows of an array in a zarr store; shards are whole chunks.

    Chunks that a store lacks hold its fill value, so a lost chunk cannot be told from an empty one; the
    fingerprint changes with it.

    Attributes
    ----------
    store : str or zarr.abc.store.Store
        Path or URL, or a store that has neither.
    """

    store: Any

    @property
    def kind(self) -> str:
        """``"anndata"`` or ``"zarr"``."""
        return "anndata" if self.is_anndata else "zarr"

    @property
    def in_process(self) -> bool:
        """Whether the store is in memory."""
        return "Memory" in type(self.store).__name__ or super().in_process

    @property
    def files(self) -> tuple[str, ...]:
        """The store and the array in it."""
        if not isinstance(self.store, str):
            return ()
        return (self.store, join(self.store, self.path)) if self.path else (self.store,)

    def identity(self) -> str:
        """Location, path of the array, id column."""
        return f"{self.kind}:{self.store}:{self.path}:{self.id_column}"

    def fingerprint(self, shard: int) -> str:
        """Sizes and modification times of the shard's chunks; of a store without location a hash of rows."""
        digest = hashlib.blake2b(digest_size=16)
        if not isinstance(self.store, str):
            for rows in self.read(shard, self.row_chunk):
                digest.update(rows.data)
            return digest.hexdigest()
        with self.opened() as root:
            array = root[self.path] if self.path else root
            metadata = array.metadata
            stored_chunk = array.shards or array.chunks  # chunks of one file
        folder = join(self.store, self.path) if self.path else self.store
        begin = self.begins[shard]
        last = (begin + self.shards[shard].rows - 1) // stored_chunk[0]
        keys = [
            metadata.encode_chunk_key((row, column))
            for row in range(begin // stored_chunk[0], last + 1)
            for column in range(-(-self.columns // stored_chunk[1]))
        ]
        for key in [*_METADATA_FILES, *keys]:
            try:
                version = version_of(join(folder, key))
            except FileNotFoundError:
                version = "absent"
            digest.update(f"{key}={version};".encode())
        return digest.hexdigest()

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The root of the store."""
        yield _open_root(self.store)


def is_zarr(location: str) -> bool:
    """Whether a path or URL is a zarr store, a member of one, or ``store::array``."""
    return bool(_INNER_PATH.fullmatch(location)) or any(
        exists(join(location, name)) for name in _METADATA_FILES
    )


def zarr_source(given: Any, columns: Any, id_column: str | None, shard_rows: int) -> ZarrSource:
    """The source of a zarr array.

    Parameters
    ----------
    given : str, zarr.Array or zarr.Group
        A string is the location of an array or group, or ``store::array``.
    columns : str or None
        The path of the array in a group.
    id_column : str or None
    shard_rows : int
        Rounded to whole chunks.
    """
    store, inner = _store_of(given)
    name = file_name(store) if isinstance(store, str) else "the zarr array"
    try:
        root = _open_root(store)
    except ImportError:
        raise
    except Exception as error:  # zarr raises errors of many kinds
        raise ShardError(name, f"cannot be read as zarr ({reason(error)})") from error
    wanted = columns if not inner else inner if columns is None else f"{inner}/{columns}"
    if is_array(root) and wanted is not None:
        raise ValueError(f"{wanted!r} is not in {name}, which is an array, not a group: leave columns out")
    path = "" if is_array(root) else choose_array(root, wanted, name)
    array = root[path] if path else root
    row_chunk = array.chunks[0] if array.shape else 1
    layout = chunk_layout(array, f"{path} of {name}" if path else name, row_chunk, shard_rows)
    check_id_column(root, id_column, name, array.shape[0])
    return ZarrSource(*layout, path, row_chunk, id_column, is_anndata(root), store)


def is_zarr_object(source: Any) -> bool:
    """Whether an object is an array or a group of zarr."""
    library = type(source).__module__.partition(".")[0]
    return library == "zarr" and hasattr(source, "store") and hasattr(source, "path")


def require_zarr(purpose: str) -> Any:
    """The package zarr; an error that says how to install it if there is none, or an old one."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"{purpose} needs the package zarr: pip install 'actup[zarr]'") from error
    if int(zarr.__version__.partition(".")[0]) < 3:
        raise ImportError(f"{purpose} needs zarr 3, not {zarr.__version__}: pip install 'actup[zarr]'")
    return zarr


def _open_root(store: Any) -> Any:
    return require_zarr("reading zarr").open(store, mode="r")


def _store_of(given: Any) -> tuple[Any, str]:
    """The location (or the store, if it has none) of what was given, and the path of an array inside it."""
    if isinstance(given, str):
        match = _INNER_PATH.fullmatch(given)
        return (match[1], match[2].strip("/")) if match else (given, "")
    if hasattr(given.store, "root"):  # on disk
        return join(str(given.store.root), given.path), ""
    return given.store, given.path
