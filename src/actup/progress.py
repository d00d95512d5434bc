"""Progress: one bar over all stages of a run, and the caller's callback that can stop it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

import numpy as np

# The stages in their order, with the share of the bar (in per cent) that each fills.
STAGES = {"neighbors": 30, "graph": 5, "start": 5, "layout": 60}

Callback = Callable[[str, float, np.ndarray | None], bool | None]


class Progress:
    """Shows how far a run has come, and asks the caller whether it should go on.

    Parameters
    ----------
    verbose : bool or int, default=False
        Show a bar on standard error: tqdm's if tqdm is installed, lines of text otherwise.
    callback : callable, default=None
        Called as ``callback(stage, fraction, embedding)`` at the beginning and end of every stage, and
        about ten times per second during the layout. ``stage`` is one of ``"neighbors"``, ``"graph"``,
        ``"start"`` and ``"layout"``, ``fraction`` is the share of that stage that is done, and
        ``embedding`` is a copy of the points during the layout, None before it. If it returns True, the run
        stops and keeps the points where they are; before the layout, that is where they start. An exception
        raised in it ends the run.

    Attributes
    ----------
    stopped : bool
        Whether the callback has asked to stop.
    """

    def __init__(self, verbose: bool | int = False, callback: Callback | None = None):
        if callback is not None and not callable(callback):
            raise TypeError(f"callback={callback!r} must be callable as callback(stage, fraction, embedding)")
        self._callback = callback
        self._verbose = bool(verbose)
        self._bar: _TqdmBar | _PrintedBar | None = None  # made with the first report
        self.stopped = False

    def report(self, stage: str, fraction: float, embedding: Callable[[], np.ndarray] | None = None) -> None:
        """Say that this share of a stage is done; ``embedding`` makes the copy the callback is given."""
        if self._verbose:
            self._bar = self._bar or _make_bar()
            self._bar.show(stage, _percent(stage, fraction))
        if self._callback is not None:
            points = None if embedding is None else embedding()
            # "is True" would miss NumPy's own True
            self.stopped = bool(self._callback(stage, fraction, points)) or self.stopped

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _percent(stage: str, fraction: float) -> float:
    """How much of the whole run is done when this share of a stage is."""
    names = list(STAGES)
    before = sum(STAGES[name] for name in names[: names.index(stage)])
    return before + STAGES[stage] * fraction


def _make_bar() -> _TqdmBar | _PrintedBar:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _PrintedBar()
    return _TqdmBar(tqdm)


class _TqdmBar:
    def __init__(self, tqdm):
        self._bar = tqdm(total=100, bar_format="{desc:<9} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

    def show(self, stage: str, percent: float) -> None:
        self._bar.set_description_str(stage, refresh=False)
        self._bar.update(max(0.0, percent - self._bar.n))

    def close(self) -> None:
        self._bar.close()


class _PrintedBar:
    """A line whenever a stage begins and at every further ten per cent."""

    def __init__(self):
        self._begin = time.perf_counter()
        self._stage = ""
        self._next = 0.0

    def show(self, stage: str, percent: float) -> None:
        if stage == self._stage and percent < self._next:
            return
        self._stage = stage
        self._next = percent + 10 if percent < 90 else 100
        seconds = time.perf_counter() - self._begin
        print(f"actup: {stage:<9} {percent:3.0f} % after {seconds:.1f} s", file=sys.stderr, flush=True)

    def close(self) -> None:
        seconds = time.perf_counter() - self._begin
        print(f"actup: done after {seconds:.1f} s", file=sys.stderr, flush=True)
