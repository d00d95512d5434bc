"""whole_file(): write a file whole or not at all; remove_unfinished(): what killed processes left."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MAX_NAME = 100  # characters of the file's name that the unfinished one keeps


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
    unfinished = target.with_name(f".{target.stem[:_MAX_NAME]}.{secrets.token_hex(8)}{target.suffix}")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove the hidden files below a folder of ActUp's own, in which no other process may be writing."""
    for path in Path(folder).rglob(".*"):
        if path.is_file():
            path.unlink(missing_ok=True)
