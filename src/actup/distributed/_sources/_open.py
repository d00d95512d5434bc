"""open_source(): the source for a path, an array or a collection of dask."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from actup._values import reject_mask
from actup.distributed._sources._anndata import anndata_source, is_anndata_object
from actup.distributed._sources._base import Source
from actup.distributed._sources._dask import (
    DaskSource,
    dask_array_source,
    dask_frame_source,
    is_dask_array,
    is_dask_frame,
)
from actup.distributed._sources._groups import SPARSE_REMEDY
from actup.distributed._sources._hdf5 import HDF5_SUFFIXES, hdf5_source
from actup.distributed._sources._memory import memory_source
from actup.distributed._sources._npy import file_of_memmap, npy_source, source_of_row_files
from actup.distributed._sources._parquet import parquet_source
from actup.distributed._sources._storage import (
    as_location,
    exists,
    file_name,
    files_below,
    forget_listings,
    is_folder,
    is_pattern,
    matching_files,
    relative_to,
)
from actup.distributed._sources._zarr import is_zarr, is_zarr_object, zarr_source

_PARQUET_SUFFIXES = (".parquet", ".pq")


def open_source(
    source: Any,
    columns: str | Sequence[str] | None = None,
    *,
    id_column: str | None = None,
    shard_rows: int = 1_000_000,
    work: str | None = None,
) -> Source | DaskSource:
    """Open rows that may be larger than memory; nothing but metadata is read.

    Parameters
    ----------
    source : str, path-like, list of them, array, AnnData or collection of dask
        - a .npy file, or a list of them;
        - a .parquet file, a folder of them with its subfolders, a glob pattern, or a list. Files of folders
          and patterns are taken in natural order (``part.9`` before ``part.10``), those of lists as given;
        - a zarr array by its path, by ``store::array`` or as an object, or a group and ``columns``;
        - an AnnData: the path of a .h5ad file or zarr store, or an object, backed or in memory (an HDF5 file
          of any other content is read too);
        - an array or a data frame of dask;
        - an array in memory, for small data; one that is mapped from a file is read from the file.

        Paths may be URLs, such as ``s3://bucket/rows/``, which are read through fsspec.
    columns : str, sequence of str or None, default=None
        Of parquet: one column of lists of equal lengths, or columns of numbers. None: the only column of
        lists, or all columns of numbers but the id column and the index of a data frame. Of a data frame of
        dask: likewise, but a column of lists must be named. Of an AnnData: ``"obsm/KEY"``, ``"X"`` or
        ``"layers/KEY"``, if it is dense; of other zarr groups and HDF5 files the path of an array.
    id_column : str or None, default=None
        A column whose values go into the result, of AnnData ``"obs_names"`` or a column of ``obs``; None:
        rows are numbered.
    shard_rows : int, default=1_000_000
        Most rows of a shard, where the format allows to split.
    work : str or None, default=None
        The folder of temporary files, which is skipped if it lies in a folder that is the source.

    Returns
    -------
    Source or DaskSource
        A collection of dask gives a ``DaskSource``, whose blocks have to be stored first.

    Raises
    ------
    ShardError
        If a file is unreadable or does not fit to the others; it names the file.
    """
    if shard_rows < 1:
        raise ValueError(f"shard_rows={shard_rows} must be at least 1")
    if isinstance(source, np.ndarray):
        _reject_columns("an array", columns, id_column)
        return _source_of_array(source, shard_rows)
    if is_dask_array(source):
        _reject_columns("an array of dask", columns, id_column)
        return dask_array_source(source)
    if is_dask_frame(source):
        return dask_frame_source(source, columns, id_column)
    if is_zarr_object(source):
        return zarr_source(source, columns, id_column, shard_rows)
    if is_anndata_object(source):
        return anndata_source(source, columns, id_column, shard_rows)
    if sparse.issparse(source):
        raise TypeError(f"source is a sparse matrix: {SPARSE_REMEDY}")
    if isinstance(source, str | os.PathLike):
        return _source_of_path(as_location(source), columns, id_column, shard_rows, work)
    if isinstance(source, list | tuple) and source and all(isinstance(p, str | os.PathLike) for p in source):
        return _source_of_files([as_location(path) for path in source], columns, id_column, shard_rows)
    raise TypeError(
        f"source is a {type(source).__name__}: give a path or URL of .npy, .parquet or .zarr, a list of "
        "paths, an array, or an array or data frame of dask; use actup.embed for what fits into memory"
    )


def _source_of_array(array: np.ndarray, shard_rows: int) -> Source:
    reject_mask(array, "source")
    described = file_of_memmap(array) if isinstance(array, np.memmap) else None
    if described is not None and described.rows and described.columns:
        return source_of_row_files([described], shard_rows)
    return memory_source(array, shard_rows)


def _source_of_path(
    location: str,
    columns: str | Sequence[str] | None,
    id_column: str | None,
    shard_rows: int,
    work: str | None,
) -> Source:
    forget_listings(location)
    if is_zarr(location):
        return zarr_source(location, columns, id_column, shard_rows)
    if is_pattern(location):
        found = matching_files(location)
        if not found:
            raise FileNotFoundError(f"source={location!r} matches no file")
        return _source_of_files(found, columns, id_column, shard_rows)
    if is_folder(location):
        found = files_below(location, _PARQUET_SUFFIXES, None if work is None else as_location(work))
        if not found:
            raise FileNotFoundError(
                f"source={location!r} is a folder without .parquet files: give a folder of parquet files, a "
                "zarr store, or a list of .npy files"
            )
        stems = [_without_suffix(relative_to(name, location)) for name in found]
        return parquet_source(found, stems, columns, id_column, shard_rows)
    if not exists(location):
        raise FileNotFoundError(f"source={location!r} does not exist")
    if location.endswith(HDF5_SUFFIXES):
        return hdf5_source(location, columns, id_column, shard_rows)
    return _source_of_files([location], columns, id_column, shard_rows)


def _source_of_files(
    locations: Sequence[str], columns: str | Sequence[str] | None, id_column: str | None, shard_rows: int
) -> Source:
    """The source of files of one kind, in the order given."""
    if all(location.endswith(".npy") for location in locations):
        _reject_columns("a .npy file", columns, id_column)
        return npy_source(locations, shard_rows)
    if all(location.endswith(_PARQUET_SUFFIXES) for location in locations):
        stems = [_without_suffix(file_name(location)) for location in locations]
        if len(set(stems)) < len(stems) or stems != sorted(stems):
            stems = [f"part-{number:05d}" for number in range(len(stems))]
        return parquet_source(locations, stems, columns, id_column, shard_rows)
    other = next((name for name in locations if not name.endswith((".npy", *_PARQUET_SUFFIXES))), None)
    if other is None:
        raise ValueError("source has .npy and .parquet files: give files of one kind")
    if other.endswith(".npz"):
        raise ValueError(
            f"source={other!r} is an .npz file, which may hold a sparse matrix or several arrays: save the "
            f"rows as .npy; if they are sparse, {SPARSE_REMEDY}"
        )
    raise ValueError(f"source={other!r} has a suffix that is not known: give .npy, .parquet, .zarr or .h5ad")


def _reject_columns(what: str, columns: object, id_column: object) -> None:
    for parameter, value in (("columns", columns), ("id_column", id_column)):
        if value is not None:
            raise ValueError(f"{parameter}={value!r}: {what} has no named columns; leave it out")


def _without_suffix(name: str) -> str:
    return name.rpartition(".")[0]
