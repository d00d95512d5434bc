"""What the command line tells its caller: notes, warnings and errors in one line each; the exit status."""

from __future__ import annotations

import _thread
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from opcode import opmap
from types import FrameType
from typing import Any

import typer

from actup._whole_file import write_errors

_TRACEBACK_VARIABLE = "ACTUP_TRACEBACK"  # if set, errors are shown with the calls that led to them
_BAD_INPUT, _INTERNAL_ERROR, _INTERRUPTED = 2, 1, 130
# What wrong input, wrong options, missing packages and missing hardware raise. Others are mistakes of ActUp.
_ERRORS_OF_THE_CALLER = (ValueError, TypeError, OSError, ImportError, MemoryError, RuntimeError)

# MemoryErrors of NumPy, zlib and Arrow; those of Python and compiled code have no words of their own.
_ALLOCATION = re.compile(r"(unable to|can't|cannot|could not) allocate|malloc|realloc", re.IGNORECASE)
_PARAMETER = re.compile("[a-z_]+=")
_AGAIN_SECONDS = 0.02  # until an interrupt that Python has dropped comes again, and not where it was dropped

_interrupted = False  # whether Ctrl-C was pressed in the running command


class InputError(ValueError):
    """Something that the caller gave cannot be used; the message says what and what to do instead."""


def complain(text: str) -> None:
    """Print a line to standard error, whoever reads it: errors and warnings."""
    print(f"actup: {text}", file=sys.stderr, flush=True)


def show(*values: object, sep: str = " ", flush: bool = False) -> None:
    """Print to standard output what the caller asked for; errors of writing say that it was that."""
    with writing_to_standard_output():
        print(*values, sep=sep, flush=flush)


@contextmanager
def writing_to_standard_output() -> Iterator[None]:
    """Have errors of writing say that it was standard output, and Python not write the rest when it ends."""
    try:
        with write_errors("standard output"):
            yield
    except OSError:
        discard_standard_output()
        raise


def discard_standard_output() -> None:
    """Drop what is still to be written to standard output, and all that follows."""
    with suppress(OSError, ValueError):  # a stream of the caller may have no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str, quiet: bool = False) -> None:
    """Print a line about the work at hand to a terminal, unless the caller asked for silence."""
    if shows_progress(quiet):
        complain(text)


def shows_progress(quiet: bool) -> bool:
    """Whether a person looks at the terminal and has not asked for silence."""
    return not quiet and sys.stderr.isatty()


def exit_status(command: Callable[[], Any]) -> int:
    """Run a command; tell about warnings and errors in one line each, and return the exit status."""
    with _one_line_warnings(), _noted_interrupts(), _raised_anew():
        try:
            status = command()
        except KeyboardInterrupt:
            status = _INTERRUPTED
        except typer.TyperException as error:
            where = getattr(getattr(error, "ctx", None), "command_path", "actup")
            what = _one_line(error.format_message()).replace("Value error, ", "")  # pydantic's words
            complain(f"{what} (see {where} --help)")
            return _BAD_INPUT
        except Exception as error:
            _show_calls()
            if _interrupted:  # NumPy makes other errors of it in places
                complain("stopped")
                return _INTERRUPTED
            error = _memory_error_before(error) or error
            if isinstance(error, _ERRORS_OF_THE_CALLER) and not _is_mistake_of_type(error):
                complain(_one_line(error))
                return _BAD_INPUT
            what = f"{type(error).__name__}: {_one_line(error)}"
            complain(f"a mistake of ActUp ({what}); {_TRACEBACK_VARIABLE}=1 shows where, please report it")
            return _INTERNAL_ERROR
    if status == _INTERRUPTED:  # what typer gives for Ctrl-C too
        complain("stopped")
    return status if isinstance(status, int) else 0


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed: a layout that it stopped returns as if it were done."""
    if _interrupted:
        raise KeyboardInterrupt


def _is_mistake_of_type(error: BaseException) -> bool:
    """Whether an error is a TypeError of Python or of another library, and not of a ``raise`` in ActUp."""
    where = error.__traceback__
    if not isinstance(error, TypeError) or where is None:
        return False
    while where.tb_next is not None:
        where = where.tb_next
    frame = where.tb_frame
    is_raised = frame.f_code.co_code[where.tb_lasti] == opmap["RAISE_VARARGS"]
    return not (is_raised and frame.f_globals.get("__name__", "").startswith("actup."))


def _memory_error_before(error: BaseException) -> MemoryError | None:
    """The MemoryError during which another error arose: a file may not even be closed without memory."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, MemoryError):
        if isinstance(before, InputError) or before.__suppress_context__:  # it is meant to be shown
            return None
        before = before.__context__
    return before


def _one_line(error: object) -> str:
    text = _in_words_of_options(error)
    if isinstance(error, MemoryError) and (text in ("", "std::bad_alloc") or _ALLOCATION.match(text)):
        detail = f" ({text})" if _ALLOCATION.match(text) else ""
        text = f"not enough memory{detail}: use --sample, --pca or fewer columns"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split()) or type(error).__name__


def _in_words_of_options(error: object) -> str:
    """A message about a parameter of Python as one about the option; InputErrors name options already."""
    text = str(error)
    if not isinstance(error, InputError) and _PARAMETER.match(text):
        from actup._cli.switches import in_words_of_options

        if in_words_of_options(text) != text:
            text = in_words_of_options(text, everywhere=True)
    return text.replace("fit_files or actup.distributed.embed", "actup embed --work FOLDER")


def _show_calls() -> None:
    if os.environ.get(_TRACEBACK_VARIABLE, "0") not in ("", "0"):
        traceback.print_exc()


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Show each warning as one line, once, without the place in ActUp's code that it came from."""
    shown: set[str] = set()

    def show(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        text = _one_line(message)
        if text not in shown and not text.startswith("interrupted at epoch"):  # Ctrl-C has its own line
            shown.add(text)
            complain(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = show
        yield


@contextmanager
def _raised_anew() -> Iterator[None]:
    """Raise KeyboardInterrupt again where Python drops it, and drop MemoryError without printing the calls.

    Python can raise nothing from callbacks of weak references and from destructors; it prints a traceback.
    A command that goes on with too little memory meets the next MemoryError soon.
    """
    former = sys.unraisablehook

    def handle(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            again = threading.Timer(_AGAIN_SECONDS, _thread.interrupt_main)
            again.daemon = True
            again.start()
        elif not (_interrupted or issubclass(dropped.exc_type, MemoryError)):
            former(dropped)  # after Ctrl-C, destructors of what was half made fail

    sys.unraisablehook = handle
    try:
        yield
    finally:
        sys.unraisablehook = former


@contextmanager
def _noted_interrupts() -> Iterator[None]:
    """Remember that Ctrl-C was pressed, besides raising KeyboardInterrupt; SIGTERM does the same."""
    global _interrupted
    _interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        global _interrupted
        _interrupted = True
        raise KeyboardInterrupt

    try:
        former = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # signals belong to the main thread
        former = {}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
