"""lazy_names(): public names of a package that are imported when they are first used."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FrameType


def lazy_names(
    package: str, homes: Mapping[str, str], elsewhere: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        The module that each public name comes from. A submodule maps to its own dotted path
        (``"datasets"`` to ``"actup.datasets"``).
    elsewhere : mapping of str to str, default=None
        Names that programs for other libraries look for here, and what to use instead, for errors.

    Returns
    -------
    tuple of two functions
        ``__getattr__`` and ``__dir__``, to be assigned in the package.
    """

    def __getattr__(name: str) -> object:
        if name not in homes:
            hint = _hint(name, homes, elsewhere or {})
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name)
        with signals_afterwards():
            module = import_module(homes[name])
        if homes[name] == f"{package}.{name}":
            return module
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next access needs no call
        return value

    def __dir__() -> list[str]:
        return sorted(set(vars(sys.modules[package])) | set(homes))

    return __getattr__, __dir__


def _hint(name: str, homes: Mapping[str, str], elsewhere: Mapping[str, str]) -> str:
    """What to use instead of a name that does not exist; empty if nobody knows."""
    from actup._suggestions import closest_name  # not above: it would slow ``import actup`` down

    if name in elsewhere:
        return f": use {elsewhere[name]}"
    close = None if name.startswith("_") else closest_name(name, homes)
    return "" if close is None else f": did you mean {close!r}?"


@contextmanager
def signals_afterwards() -> Iterator[None]:
    """Call the handlers of signals that arrive in the block, such as Ctrl-C, when it ends.

    A package whose import is interrupted cannot be imported again in the same process: the submodules that
    were complete stay in ``sys.modules``, but they are no attributes of the new package. asyncio, which
    scikit-learn imports, is such a package. An interrupted import of the compiled engine ends the process.
    """
    if threading.current_thread() is not threading.main_thread():  # others cannot be interrupted
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    handlers = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(handler := signal.getsignal(number))
    }
    for number in handlers:
        signal.signal(number, lambda *arguments: arrived.append(arguments))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for sent, frame in arrived[:1]:
        handlers[signal.Signals(sent)](sent, frame)
