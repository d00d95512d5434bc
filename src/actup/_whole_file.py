"""whole_file(): write a file whole or not at all; remove_unfinished(): what killed processes left."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MAX_NAME = 100  # characters of the file's name that the unfinished one keeps
_TOKEN_BYTES = 8
_UNFINISHED = re.compile(rf"\..*\.[0-9a-f]{{{2 * _TOKEN_BYTES}}}(\..*)?")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside ``path`` to write to, which takes its place at the end, or is removed if anything fails.

    Parameters
    ----------
    path : str or path-like
        The file; one that exists is replaced, and stays if anything fails. A link stays a link.

    Yields
    ------
    pathlib.Path
        In the same folder and with the same suffix.
    """
    target = Path(os.path.realpath(path))
    token = secrets.token_hex(_TOKEN_BYTES)
    unfinished = target.with_name(f".{target.stem[:_MAX_NAME]}.{token}{target.suffix}")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove the unfinished files below a folder, in which no other process may be writing."""
    for path in Path(folder).rglob(".*"):
        if _UNFINISHED.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)
