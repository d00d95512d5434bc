"""ZarrSink: the map as an array of a zarr store."""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actup._whole_file import write_errors
from actup.distributed._sinks._base import NpyPartsSink
from actup.distributed._sinks._whole import upload
from actup.distributed._sources._storage import exists, file_name, file_system, is_remote, join
from actup.distributed._sources._zarr import require_zarr

_ROWS_PER_CHUNK = 1 << 17  # a megabyte for two dimensions
_ARRAY_FILES = ("zarr.json", ".zarray")  # what makes a folder an array
_ENCODING = {"encoding-type": "array", "encoding-version": "0.2.0"}  # as AnnData has it for obsm


@dataclass(frozen=True)
class ZarrSink(NpyPartsSink):
    """The map as an array of float32, alone or in a group that exists.

    On disk the array appears as a whole. In an object store its metadata is written last, without which there
    is no array.

    Attributes
    ----------
    group : str or None
        Path or URL of the store that the array is a member of; None: it is a store of its own.
    """

    group: str | None = None

    def _publish(self) -> None:
        remote = is_remote(self.target)
        parent = self.state if remote else os.path.dirname(self.target)
        unfinished = os.path.join(parent, f".{file_name(self.target)}.{file_name(self.state)}")
        replaced = unfinished + ".replaced"
        for leftover in (unfinished, replaced):
            _remove(leftover)
        with write_errors(self.target, unfinished):
            try:
                self._build(unfinished)
            except BaseException:
                _remove(unfinished)
                raise
        if remote:
            _upload_array(unfinished, self.target)
            _remove(unfinished)
        else:
            if os.path.exists(self.target):
                os.replace(self.target, replaced)
            os.replace(unfinished, self.target)
            _remove(replaced)
        if self.group is not None:
            _consolidate_again(self.group)

    def _build(self, folder: str) -> None:
        zarr = require_zarr("writing zarr")
        rows = sum(shard.rows for shard in self.shards)
        version = 3 if self.group is None else zarr.open_group(self.group, mode="r").metadata.zarr_format
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        array = zarr.create_array(
            folder,
            shape=(rows, self.dimensions),
            chunks=(min(rows, _ROWS_PER_CHUNK), self.dimensions),
            dtype=np.float32,
            attributes=_ENCODING,
            zarr_format=version,
        )
        begin = 0
        for shard, described in enumerate(self.shards):
            array[begin : begin + described.rows] = self.read_part(shard)
            begin += described.rows


def _remove(folder: str) -> None:
    """Remove a folder, if it exists; once more if memory runs out in between."""
    for _ in range(2):
        with contextlib.suppress(MemoryError):
            shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return


def reason_not_to_replace(target: str) -> str | None:
    """Why an existing ``target`` must not be replaced by an array; None if it may, or does not exist."""
    if not exists(target):
        return None
    try:
        node = require_zarr("writing zarr").open(target, mode="r")
    except ImportError:
        raise
    except Exception:  # zarr raises errors of many kinds
        return "exists and is no zarr array"
    return None if hasattr(node, "shape") else "is a zarr group, which the map would replace"


def _upload_array(folder: str, target: str) -> None:
    """Copy an array to a URL: an old one is removed first, and the metadata comes last."""
    system, path = file_system(target)
    for name in _ARRAY_FILES:
        if system.exists(f"{path}/{name}"):
            system.rm(f"{path}/{name}")
    if system.exists(path):
        system.rm(path, recursive=True)
    files = [file for file in Path(folder).rglob("*") if file.is_file()]
    for file in sorted(files, key=lambda file: file.name in _ARRAY_FILES):
        upload(file, join(target, file.relative_to(folder).as_posix()))


def _consolidate_again(group: str) -> None:
    """Renew the copy of all metadata that a store may keep at its root, so that readers find the array."""
    zarr = require_zarr("writing zarr")
    metadata = zarr.open_group(group, mode="r").metadata
    if metadata.consolidated_metadata is not None:
        with warnings.catch_warnings(
            action="ignore", category=UserWarning
        ):  # version 3 lacks a specification
            zarr.consolidate_metadata(group, zarr_format=metadata.zarr_format)
