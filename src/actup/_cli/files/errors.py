"""The error for a file that cannot be read: too little memory is told apart from damage."""

from __future__ import annotations

import errno

from actup._cli.reporting import InputError

_MAX_REASON = 160  # characters of another library's message, which may quote a whole row


def reading_error(name: str, error: Exception, said: str) -> Exception:
    """The error for a file that cannot be read.

    Parameters
    ----------
    name : str
        What messages call the file.
    error : Exception
        What another library or the operating system has raised.
    said : str
        What the message says of the file unless memory was short, such as "is damaged ({})", with ``{}`` for
        the reason.
    """
    reason = " ".join(str(error).split())
    if len(reason) > _MAX_REASON:
        reason = reason[:_MAX_REASON] + " …"
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return MemoryError(f"{name} does not fit into memory ({reason or 'none is left'})")
    return InputError(f"{name} {said.replace('{}', reason)}")
