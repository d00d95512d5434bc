"""The command line: ``actup COMMAND ...``. Every command imports what it needs itself."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

__all__ = ["main", "program"]

_STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


def program() -> int:
    """Run the command that the program's arguments name; Ctrl-C while Python ends then says nothing."""
    for number in range(3):  # a closed one would become the descriptor of the next file that is opened
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
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
    try:
        with _all_streams():
            if find_spec("typer") is None:
                print(
                    "actup: the command line needs the package typer: pip install 'actup[cli]'",
                    file=sys.stderr,
                )
                return 2
            from actup._cli.app import run

            return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before the command began or after its end
        if sys.stderr is not None:
            print("actup: stopped", file=sys.stderr)
        return 130


@contextmanager
def _all_streams() -> Iterator[None]:
    """Have os.devnull in place of standard streams that are closed, as where cron or a daemon runs."""
    missing = {name: mode for name, mode in _STREAMS.items() if getattr(sys, name) is None}
    with ExitStack() as opened:
        try:
            for name, mode in missing.items():
                setattr(sys, name, opened.enter_context(open(os.devnull, mode)))
            yield
        finally:
            for name in missing:
                setattr(sys, name, None)
