"""How far the work at hand has come: deep code reports a share of it, and callers say whom that concerns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from actup._engine import engine
from actup._warnings import warn_user

_ESTIMATE_AFTER_SECONDS = 1.0  # an estimate from less work would be too rough
_LONG_SECONDS = 10.0  # work that is expected to take longer is announced


@dataclass(frozen=True)
class _Part:
    """Work whose shares from 0 to 1 are shown as shares from ``begin`` to ``end`` of a larger whole."""

    show: Callable[[float], None]
    begin: float = 0.0
    end: float = 1.0

    def report(self, fraction: float) -> None:
        self.show(self.begin + (self.end - self.begin) * fraction)


_current: ContextVar[_Part | None] = ContextVar("_current", default=None)


def report(fraction: float) -> None:
    """Report that this share of the work at hand is done; the engine does so every 50 ms of a long call."""
    part = _current.get()
    if part is not None:
        part.report(fraction)


engine.set_progress_hook(report)


@contextmanager
def reporting_to(show: Callable[[float], None]) -> Iterator[None]:
    """Call ``show`` with every share that is reported inside."""
    token = _current.set(_Part(show))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def part_of_work(begin: float, end: float) -> Iterator[None]:
    """What is reported inside counts as shares from ``begin`` to ``end`` of the work at hand."""
    outer = _current.get()
    if outer is None:
        yield
        return
    span = outer.end - outer.begin
    token = _current.set(_Part(outer.show, outer.begin + span * begin, outer.begin + span * end))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def announced_if_long(what: str, remedy: str) -> Iterator[None]:
    """Warn once, with an estimate, when the work inside turns out to take more than ten seconds.

    Parameters
    ----------
    what : str
        The work, as the subject of the warning's sentence.
    remedy : str
        What would take less time, as a sentence without its full stop.
    """
    outer = _current.get()
    begin = time.perf_counter()
    decided = False

    def show(fraction: float) -> None:
        nonlocal decided
        seconds = time.perf_counter() - begin
        if not decided and fraction > 0 and seconds > _ESTIMATE_AFTER_SECONDS:
            decided = True
            if seconds / fraction > _LONG_SECONDS:
                estimate = f"{seconds / fraction:.0f} seconds"
                warn_user(f"{what} will take about {estimate}; Ctrl-C stops it. {remedy}")
        if outer is not None:
            outer.report(fraction)

    with reporting_to(show):
        yield
