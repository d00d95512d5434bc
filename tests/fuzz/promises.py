"""What reading a file may never do: run code, start programs, write elsewhere, reach the network."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from .oracle import Wrong

_NEVER = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class")
_NEVER += ("socket.connect", "socket.bind", "ctypes.dlopen", "os.remove", "os.rename", "shutil.rmtree")

_allowed: str | None = None  # the folder that may be written to, while a file is read
_installed = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _allowed is None:
        return
    if event in _NEVER and not (event in ("os.remove", "os.rename") and _inside(arguments[0])):
        raise Wrong(f"reading a file has done {event} {arguments!r:.200}")
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        flags = arguments[2] or 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not _inside(arguments[0]):
            raise Wrong(f"reading a file has written to {arguments[0]!r:.200}")


def _inside(path: Any) -> bool:
    return _allowed is not None and os.fsdecode(path).startswith((_allowed, "/dev/null"))


@contextlib.contextmanager
def no_code_runs(folder: str) -> Iterator[None]:
    """Raise ``Wrong`` where the body runs what a reader must not; it may write to the folder."""
    global _allowed, _installed
    if not _installed:
        sys.addaudithook(_watch)
        _installed = True
    _allowed = folder
    try:
        yield
    finally:
        _allowed = None
