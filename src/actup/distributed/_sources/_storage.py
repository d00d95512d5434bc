"""Files by path or URL: on disk, or through fsspec in object stores."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import IO, Any

_LOCAL_PROTOCOLS = ("file://", "local://")
_OWN_FOLDER = re.compile(r"actup-(blocks-)?[0-9a-f]{6,}")  # of an earlier run, in a work folder
# Keys under which file systems of fsspec report what changes with the content of a file.
_VERSION_KEYS = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified", "updated")


def as_location(path: str | os.PathLike[str]) -> str:
    """A path as an absolute path, a URL as it is; URLs of local files become paths."""
    text = os.fspath(path)
    for protocol in _LOCAL_PROTOCOLS:
        if text.startswith(protocol):
            text = text.removeprefix(protocol)
    return text.rstrip("/") if is_remote(text) else os.path.abspath(os.path.expanduser(text))


def real_location(location: str) -> str:
    """Where a location leads through symbolic links: equal for two names of one file."""
    return location if is_remote(location) else os.path.realpath(location)


def is_remote(location: str) -> bool:
    """Whether a location is a URL, which is read through fsspec."""
    return "://" in location


def file_system(location: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(
            f"reading and writing {location} needs the package fsspec: pip install 'actup[dask]'"
        ) from error
    try:
        return url_to_fs(location)  # type: ignore[no-any-return]
    except ImportError as error:  # such as s3fs for s3://
        raise ImportError(f"reading and writing {location} needs another package: {error}") from error


def forget_listings(location: str) -> None:
    """Have fsspec ask the object store again, instead of answering from listings it has kept."""
    if is_remote(location):
        file_system(location)[0].invalidate_cache()


def open_file(location: str) -> IO[bytes]:
    """A binary file to read from."""
    if not is_remote(location):
        return open(location, "rb")
    system, path = file_system(location)
    return system.open(path, "rb")  # type: ignore[no-any-return]


def exists(location: str) -> bool:
    """Whether there is a file or folder."""
    if not is_remote(location):
        return os.path.exists(location)
    system, path = file_system(location)
    return bool(system.exists(path))


def is_folder(location: str) -> bool:
    """Whether there is a folder (in an object store: a prefix)."""
    if not is_remote(location):
        return os.path.isdir(location)
    system, path = file_system(location)
    return bool(system.isdir(path))


def size_of(location: str) -> int:
    """Bytes of a file."""
    if not is_remote(location):
        return os.stat(location).st_size
    system, path = file_system(location)
    return int(system.size(path))


def version_of(location: str) -> str:
    """Text that changes when a file is written again: its size and its modification time or checksum."""
    if not is_remote(location):
        status = os.stat(location)
        return f"{status.st_size}-{status.st_mtime_ns}"
    system, path = file_system(location)
    info = system.info(path)
    for key in _VERSION_KEYS:
        if info.get(key) is not None:
            return f"{info.get('size')}-{info[key]}"
    try:
        return f"{info.get('size')}-{system.modified(path)}"
    except NotImplementedError:
        return str(system.ukey(path))


def files_below(folder: str, suffixes: tuple[str, ...], excluded: str | None = None) -> list[str]:
    """All files with one of the suffixes in a folder and its subfolders, in natural order.

    Names that begin with a dot or an underscore are skipped, as all readers of parquet folders do, and so are
    the folder ``excluded`` and folders of earlier runs.
    """
    if is_remote(folder):
        system, path = file_system(folder)
        found = [system.unstrip_protocol(name) for name in system.find(path)]
        base = system.unstrip_protocol(path)
    else:
        found = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
        base = folder
    kept = []
    for name in found:
        below = relative_to(name, base)
        parts = below.split("/")
        hidden = any(part.startswith((".", "_")) or _OWN_FOLDER.fullmatch(part) for part in parts)
        inside = excluded is not None and is_below(name, excluded)
        if name.endswith(suffixes) and not hidden and not inside:
            kept.append(join(folder, below))
    return sorted(kept, key=natural_order)


def is_below(location: str, folder: str) -> bool:
    """Whether a location is in a folder, also if symbolic links lead there."""
    inner, outer = real_location(location), real_location(folder).rstrip("/" + os.sep)
    return inner.startswith((outer + os.sep, outer + "/"))


def matching_files(pattern: str) -> list[str]:
    """All files that match a glob pattern, in natural order."""
    if is_remote(pattern):
        system, path = file_system(pattern)
        found = [system.unstrip_protocol(name) for name in system.glob(path)]
    else:
        found = glob.glob(pattern, recursive=True)
    return sorted(found, key=natural_order)


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts ``part.9`` before ``part.10``, as dask does with the files it writes."""
    pieces = re.split(r"(\d+)", name)
    return [(1, int(piece), "") if piece.isdecimal() else (0, 0, piece) for piece in pieces]


def is_pattern(location: str) -> bool:
    """Whether a location is a glob pattern and not the name of a file."""
    return any(character in location for character in "*?[") and not exists(location)


def file_name(location: str) -> str:
    """The last part of a path or URL."""
    return re.split(r"[/\\]" if os.sep == "\\" else "/", location.rstrip("/\\"))[-1]


def relative_to(location: str, folder: str) -> str:
    """The part of a location below a folder, with slashes."""
    return location.removeprefix(folder).lstrip("/" + os.sep).replace(os.sep, "/")


def join(folder: str, name: str) -> str:
    """A location in a folder."""
    if is_remote(folder):
        return folder.rstrip("/") + "/" + name
    return str(Path(folder) / name)
