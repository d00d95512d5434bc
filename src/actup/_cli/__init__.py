"""The command line: ``actup COMMAND ...``. Every command imports what it needs itself."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main", "program"]


def program() -> int:
    """Run the command that the program's arguments name; Ctrl-C while Python ends then says nothing."""
    try:
        return main()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0, 2 for an error of the caller, 130 after Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What follows the program's name; None: ``sys.argv[1:]``.
    """
    if find_spec("typer") is None:
        print("actup: the command line needs the package typer: pip install 'actup[cli]'", file=sys.stderr)
        return 2
    try:
        from actup._cli.app import run

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before the command began or after its end
        print("actup: stopped", file=sys.stderr)
        return 130
