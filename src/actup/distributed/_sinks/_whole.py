"""Write a file at a path or URL whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from actup._whole_file import whole_file
from actup.distributed._sources._storage import file_name, file_system, is_remote


@contextmanager
def whole_location(location: str) -> Iterator[Path]:
    """A local path to write to, whose file takes its place at ``location`` at the end, if nothing fails.

    Folders above it are made. A file for a URL is uploaded under another name beside it and then moved, so
    that the final name never shows half of it, whatever the file system.
    """
    if not is_remote(location):
        os.makedirs(os.path.dirname(location), exist_ok=True)
        with whole_file(location) as unfinished:
            yield unfinished
        return
    with TemporaryDirectory() as folder:
        local = Path(folder) / file_name(location)
        yield local
        upload(local, location)


def upload(local: str | os.PathLike[str], location: str) -> None:
    """Copy a local file to a URL, whole or not at all."""
    system, path = file_system(location)
    parent, _, name = path.rpartition("/")
    unfinished = f"{parent}/.{secrets.token_hex(8)}-{name}"
    system.makedirs(parent, exist_ok=True)
    try:
        system.put_file(os.fspath(local), unfinished)
        system.mv(unfinished, path)
    except BaseException:
        if system.exists(unfinished):
            system.rm(unfinished)
        raise


def move(location: str, target: str) -> None:
    """Move a file within one file system; a target that exists is replaced."""
    if is_remote(location):
        system, path = file_system(location)
        end = file_system(target)[1]
        system.makedirs(end.rpartition("/")[0], exist_ok=True)
        system.mv(path, end)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(location, target)
