"""whole_file(): write a file whole or not at all; remove_unfinished(): what killed processes left."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MAX_NAME_BYTES = 100  # of the stem and of the suffix that the unfinished file keeps
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
_NOT_WRITTEN = "cannot be written: "


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside ``path`` to write to, which takes its place at the end, or is removed if anything fails.

    Parameters
    ----------
    path : str or path-like
        The file; one that exists is replaced, and stays if anything fails. A link stays a link, and the new
        file has the permissions of the former one, from its first byte on.

    Yields
    ------
    pathlib.Path
        In the same folder and with the same suffix.

    Raises
    ------
    ValueError
        If ``path`` exists and is no regular file: a device or a pipe would be replaced by a file.
    OSError
        If it cannot be written, with ``path`` and the reason.
    """
    reject_special(path)
    target = Path(os.path.realpath(path))
    stem, suffix = _shortened(target.stem), _shortened(target.suffix)
    unfinished = target.with_name(f".{stem}.{secrets.token_hex(8)}{suffix}")
    with write_errors(path, unfinished):
        try:
            former = _status(target)
            if former is not None:
                os.close(
                    os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR)
                )
                _take_permissions(unfinished, former, stat.S_IRUSR | stat.S_IWUSR)
            yield unfinished
            former = _status(target)
            if former is not None:
                _take_permissions(unfinished, former)
            reject_special(path)
            unfinished.replace(target)
        except ValueError as error:  # zipfile's, which closes an archive whose open member was interrupted
            if isinstance(error.__context__, KeyboardInterrupt | MemoryError):
                raise error.__context__ from None
            raise
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def write_errors(
    path: str | os.PathLike[str], unfinished: str | os.PathLike[str] | None = None
) -> Iterator[None]:
    """Have the errors of writing say which file cannot be written, and why.

    Parameters
    ----------
    path : str or path-like
        The name for errors that have none, or that of the unfinished file or of a file below it. Those of
        other files pass as they are, as do those of connections.
    unfinished : str or path-like, default=None
        The hidden name under which ``path`` is written.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        if not (error.filename is None or _is_below(error.filename, unfinished)):
            raise
        reason = str(error.strerror or error or type(error).__name__).removeprefix(_NOT_WRITTEN)
        code = errno.EIO if error.errno is None else error.errno  # NumPy gives none
        # Without "from": the command line looks for a MemoryError among the contexts.
        raise OSError(code, _NOT_WRITTEN + reason, os.fsdecode(path))  # noqa: B904


def reject_special(path: str | os.PathLike[str], name: str = "") -> None:
    """Raise a ValueError if a path leads to what a file must not replace: a pipe, a device or a folder.

    Parameters
    ----------
    path : str or path-like
        The file that is to be written; links are followed.
    name : str, default=""
        What the caller calls it; default: the path.
    """
    status = _status(path)
    if status is None or stat.S_ISREG(status.st_mode):
        return
    kind = next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), "something else")
    raise ValueError(
        f"{name or os.fsdecode(path)}: is no regular file but {kind}, which is not replaced: give the "
        "path of a file to write"
    )


def _shortened(name: str) -> str:
    return name.encode("utf-8", "ignore")[:_MAX_NAME_BYTES].decode("utf-8", "ignore")


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What a path leads to; None if there is nothing, or nothing to be found out."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _take_permissions(path: Path, former: os.stat_result, more: int = 0) -> None:
    """Give a file the permissions of a former one, and its owner and group if that is allowed."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(path, former.st_uid, former.st_gid)
    path.chmod(stat.S_IMODE(former.st_mode) | more)


def _is_below(name: object, folder: str | os.PathLike[str] | None) -> bool:
    """Whether a file name of an error is that of a path, or of a file below it."""
    if folder is None or not isinstance(name, str | bytes):
        return False
    text, whole = os.fsdecode(name), os.fspath(folder)
    return text == whole or text.startswith(whole + os.sep)


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove the hidden files below a folder of ActUp's own, in which no other process may be writing."""
    for path in Path(folder).rglob(".*"):
        if path.is_file():
            path.unlink(missing_ok=True)
