"""The command line: ``actup COMMAND ...``. Every command imports what it needs itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


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
    from actup._cli.app import run

    return run(list(sys.argv[1:] if arguments is None else arguments))
