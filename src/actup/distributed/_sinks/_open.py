"""open_sink(): the sink for a path, or for the kind of the source."""

from __future__ import annotations

import hashlib
import os

from actup._errors import WrongType
from actup._output_path import read_path
from actup._whole_file import reject_special
from actup.distributed._sinks._base import Sink
from actup.distributed._sinks._dask import DaskSink
from actup.distributed._sinks._npy import NpySink
from actup.distributed._sinks._parquet import ParquetFileSink, ParquetFolderSink
from actup.distributed._sinks._zarr import ZarrSink, reason_not_to_replace
from actup.distributed._sources._base import Source
from actup.distributed._sources._dask import StoredBlocks
from actup.distributed._sources._parquet import require_pyarrow
from actup.distributed._sources._storage import (
    as_location,
    file_name,
    files_below,
    is_below,
    is_folder,
    is_remote,
    join,
    real_location,
    relative_to,
)
from actup.distributed._sources._zarr import is_zarr, require_zarr

_PARQUET_SUFFIXES = (".parquet", ".pq")
_NAME_OF_KIND = {
    "npy": "map.npy",
    "memory": "map.npy",
    "hdf5": "map.npy",
    "anndata": "map.npy",
    "zarr": "map.zarr",
    "parquet": "map/",
}


def open_sink(out: str | os.PathLike[str] | None, source: Source, dimensions: int, work: str) -> Sink:
    """The sink of a map.

    Parameters
    ----------
    out : str, path-like or None
        - ``*.npy``: one array of float32;
        - ``*.parquet``: one file with the columns ``id``, ``x``, ``y``, …;
        - ``*.zarr``: an array of zarr, or ``store::path`` for an array in a group that exists, such as
          ``cells.zarr::obsm/X_umap`` of an AnnData;
        - a path without suffix, one that ends with a slash or an existing folder: a folder of parquet files,
          named after those of the source;
        - None: in the source's kind, in the folder ``work``: one .npy file for .npy files and AnnData (a
          .parquet file if there are ids), an array for an array, a folder for parquet, a zarr array for zarr,
          and for collections of dask one of the same chunks or partitions, which reads files of ``work``.

        A file that exists is replaced at the end, as a whole. In a folder that exists, files of the same
        names are replaced and others stay; other parquet files in it, which would be read as parts of the
        map, are an error. Paths may be URLs, which are written through fsspec.
    source : Source
    dimensions : int
        Of the map.
    work : str
        A folder that all workers share. Parts wait there, or beside a folder that is the result.

    Returns
    -------
    Sink
    """
    if is_remote(as_location(work)):
        raise ValueError(f"work={work!r} is a URL: give a folder of a file system that all workers share")
    if out is None and isinstance(source, StoredBlocks):
        token = _token(source.identity(), dimensions)
        folder = os.path.join(as_location(work), f"map-{token}")
        return DaskSink(source.shards, dimensions, folder, folder, source)
    as_array = out is None and source.kind == "memory"
    if out is None:
        name = _NAME_OF_KIND[source.kind]
        if name == "map.npy" and source.has_ids:
            name = "map.parquet"
        out = join(as_location(work), name) + ("/" if name.endswith("/") else "")
    if not isinstance(out, str | os.PathLike):
        raise WrongType(f"out={out!r} must be a path or None")
    text = read_path(out, "out")
    target = as_location(text)
    token = _token(target, source.identity(), dimensions)
    state = os.path.join(as_location(work), f"output-{token}")
    if not is_folder(target) and not is_remote(target):
        reject_special(target, f"out={text!r}")
    if "::" in text or target.endswith(".zarr"):
        return _zarr_sink(target, source, dimensions, state)
    if text.endswith(("/", os.sep)) or is_folder(target) or "." not in file_name(target):
        return _folder_sink(target, source, dimensions, state, token)
    if real_location(target) in set(map(real_location, source.files)):
        raise ValueError(f"out={text!r} is the source, which the map would replace: give another path")
    if target.endswith(".npy"):
        if source.has_ids:
            raise ValueError(
                f"out={text!r} has no place for the values of id_column: give a .parquet path, or leave "
                "id_column out (rows keep their order)"
            )
        return NpySink(source.shards, dimensions, target, state, as_array=as_array)
    if target.endswith(_PARQUET_SUFFIXES):
        require_pyarrow(f"writing {file_name(target)}")
        return ParquetFileSink(source.shards, dimensions, target, state)
    raise ValueError(
        f"out={text!r} has a suffix that is not known: give .npy, .parquet, .zarr or a folder, with a "
        "slash at the end"
    )


def _token(*what: object) -> str:
    """Text that tells the temporary files of different results apart, and is the same when a run resumes."""
    return hashlib.blake2b("|".join(map(str, what)).encode(), digest_size=6).hexdigest()


def _zarr_sink(target: str, source: Source, dimensions: int, state: str) -> Sink:
    require_zarr(f"writing {file_name(target)}")
    if source.has_ids:
        raise ValueError(
            f"out={target!r} has no place for the values of id_column: give a .parquet path, or leave "
            "id_column out (rows keep their order)"
        )
    group, _, path = target.rpartition("::")
    location = join(group, path) if group else target
    if group and not is_zarr(group):
        raise ValueError(f"out={target!r}: {group} is no zarr group; give one that exists, or a .zarr path")
    real = real_location(location)
    inside = [file for file in source.files if real_location(file) == real or is_below(file, location)]
    problem = "holds the source, which the map would replace" if inside else reason_not_to_replace(location)
    if problem is not None:
        raise ValueError(f"out={target!r} {problem}: give another path")
    return ZarrSink(source.shards, dimensions, location, state, group or None)


def _folder_sink(target: str, source: Source, dimensions: int, state: str, token: str) -> Sink:
    require_pyarrow("writing a folder of parquet files")
    if ".zarr/" in target.replace(os.sep, "/"):
        raise ValueError(f"out={target!r} is in a zarr store: write store.zarr::path for an array in it")
    names = tuple(source.part_name(shard) for shard in range(len(source.shards)))
    if not is_remote(target) and os.path.isfile(target):
        raise ValueError(
            f"out={target!r} is a file, not a folder: give a path that ends with .npy or .parquet"
        )
    found = files_below(target, _PARQUET_SUFFIXES) if is_folder(target) else []
    if set(map(real_location, found)) & set(map(real_location, source.files)):
        raise ValueError(f"out={target!r} holds the source, which the map would replace: give another folder")
    own = {name + ".parquet" for name in names}
    foreign = [name for name in (relative_to(path, target) for path in found) if name not in own]
    if foreign:
        raise ValueError(
            f"out={target!r} holds other parquet files ({', '.join(foreign[:3])}), which would be read as "
            "parts of the map: give another folder, or remove them"
        )
    if is_remote(target):
        staging = join(target, f".actup-{token}")
    else:
        staging = os.path.join(os.path.dirname(target), f".{file_name(target)}.actup-{token}")
    return ParquetFolderSink(source.shards, dimensions, target, state, names, staging)
