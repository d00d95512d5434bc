"""Progress: one bar over all stages of a run, and a callback of the caller that can stop the run."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actup._errors import WrongType

if TYPE_CHECKING:
    from actup.backends import Layout

__all__ = ["Progress"]

# The stages in their order, with the per cent of the bar that each fills.
STAGES = {"neighbors": 30, "graph": 5, "start": 5, "layout": 60}

Callback = Callable[[str, float, np.ndarray | None], bool | None]


class Progress:
    """Show how far a run has come, and ask the caller whether it should go on.

    The estimators make one from their parameters ``verbose`` and ``callback``. ``actup.embed`` takes one; use
    it in a ``with`` statement, which closes the bar.

    Parameters
    ----------
    verbose : bool or int, default=False
        Show a bar on standard error: tqdm's if tqdm is installed, lines of text otherwise.
    callback : callable, default=None
        Called as ``callback(stage, fraction, embedding)`` at the beginning and end of every stage, and
        about ten times per second in between. ``stage`` is one of ``"neighbors"``, ``"graph"``,
        ``"start"`` and ``"layout"``, ``fraction`` is the share of that stage that is done, and
        ``embedding`` is a copy of the points during the layout, None before it. If it returns True, the run
        stops and keeps the points where they are; before the layout, that is where they start. An exception
        raised in it ends the run.

    Attributes
    ----------
    stopped : bool
        Whether the callback has asked to stop.
    stopped_in : str or None
        The stage in which it first did.

    Examples
    --------
    >>> import numpy as np
    >>> import actup
    >>> from actup.progress import Progress
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> stages = []
    >>> def note(stage, fraction, embedding):
    ...     stages.append(stage)
    >>> with Progress(callback=note) as progress:
    ...     result = actup.embed(X, "umap", progress=progress)
    >>> list(dict.fromkeys(stages))
    ['neighbors', 'graph', 'start', 'layout']

    A callback that returns True stops the run:

    >>> with Progress(callback=lambda stage, fraction, embedding: stage == "layout") as progress:
    ...     result = actup.embed(X, "umap", progress=progress)
    >>> progress.stopped, result.n_epochs
    (True, 0)
    """

    # During the layout control returns to Python this often, for Ctrl-C, the callback and the progress bar.
    slice_seconds: ClassVar[float] = 0.1

    def __init__(self, verbose: bool | int = False, callback: Callback | None = None) -> None:
        if callback is not None and not callable(callback):
            raise WrongType(f"callback={callback!r} must be callable as callback(stage, fraction, embedding)")
        if callback is not None:
            _check_arguments(callback)
        self._callback = callback
        given: Any = verbose
        if not isinstance(given, Real | np.bool_ | None):
            raise WrongType(f"verbose={verbose!r} must be True or False, or a number")
        self._verbose = bool(verbose)
        self._bar: _TqdmBar | _PrintedBar | None = None  # made with the first report
        self._run, self._runs = 0, 1
        self.stopped = False
        self.stopped_in: str | None = None

    def report(self, stage: str, fraction: float, embedding: Callable[[], np.ndarray] | None = None) -> None:
        """Report that a share of a stage is done: update the bar and call the callback.

        Parameters
        ----------
        stage : {"neighbors", "graph", "start", "layout"}
            The stage.
        fraction : float
            Share of the stage that is done, from 0 to 1.
        embedding : callable, default=None
            Makes the copy of the points that the callback is given; it is called only if there is a callback.

        Examples
        --------
        >>> from actup.progress import Progress
        >>> progress = Progress(callback=lambda stage, fraction, embedding: print(stage, fraction))
        >>> progress.report("graph", 0.5)
        graph 0.5
        """
        if self._verbose and sys.stderr is not None:  # None: closed, as where a daemon runs
            self._bar = self._bar or _make_bar()
            percent = (100 * self._run + _percent(stage, fraction)) / self._runs
            self._bar.show(stage if self._runs == 1 else f"{stage} {self._run + 1}/{self._runs}", percent)
        if self._callback is not None:
            points = None if embedding is None else embedding()
            if self._callback(stage, fraction, points) and not self.stopped:
                self.stopped, self.stopped_in = True, stage

    def begin_run(self, number: int, count: int) -> None:
        """Say which of several runs begins: together they fill the bar once.

        Parameters
        ----------
        number : int
            From 0 to ``count`` - 1.
        count : int
            How many runs share the bar.

        Examples
        --------
        >>> from actup.progress import Progress
        >>> progress = Progress()
        >>> progress.begin_run(1, 3)  # the bar goes on from 33 %
        """
        self._run, self._runs = number, count

    def guide(self, layout: Layout) -> None:
        """Do nothing; a subclass may steer the layout here, between two slices of epochs, or have it wait.

        Parameters
        ----------
        layout : Layout
            The layout, at its start or after some epochs.
        """

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _check_arguments(callback: Callback) -> None:
    """Reject a function that does not take the three arguments of a callback."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some compiled functions do not tell
        return
    try:
        signature.bind("layout", 0.0, None)
    except TypeError:
        name = getattr(callback, "__name__", type(callback).__name__)
        raise TypeError(
            f"callback={name}{signature} cannot be called as callback(stage, fraction, embedding): it gets "
            "the name of the stage, the share of that stage that is done, and the points, or None before the "
            "layout"
        ) from None


def _percent(stage: str, fraction: float) -> float:
    """The per cent of the whole run that are done with this share of a stage."""
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
    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=100, bar_format="{desc:<13} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

    def show(self, stage: str, percent: float) -> None:
        self._bar.set_description_str(stage, refresh=False)
        self._bar.update(max(0.0, percent - self._bar.n))

    def close(self) -> None:
        self._bar.close()


class _PrintedBar:
    """Prints a line whenever a stage begins, and after every ten per cent."""

    def __init__(self) -> None:
        self._file = sys.stderr
        self._begin = time.perf_counter()
        self._stage = ""
        self._next = 0.0

    def show(self, stage: str, percent: float) -> None:
        if stage == self._stage and percent < self._next:
            return
        self._stage = stage
        self._next = percent + 10 if percent < 90 else 100
        seconds = time.perf_counter() - self._begin
        print(f"actup: {stage:<9} {percent:3.0f} % after {seconds:.1f} s", file=self._file, flush=True)

    def close(self) -> None:
        seconds = time.perf_counter() - self._begin
        print(f"actup: done after {seconds:.1f} s", file=self._file, flush=True)


def read_progress(progress: Progress | bool | None) -> Progress:
    """What a run reports to: that of the caller, or a new one that shows a bar or nothing."""
    if isinstance(progress, Progress):
        return progress
    if not isinstance(progress, bool | np.bool_ | None):
        raise WrongType(f"progress={progress!r} must be True, False or an actup.progress.Progress")
    return Progress(verbose=bool(progress))


@contextmanager
def run_progress(progress: Progress | bool | None) -> Iterator[Progress]:
    """As ``read_progress``; a bar that is made here is closed at the end, the caller's own is not."""
    reports = read_progress(progress)
    if reports is progress:
        yield reports
        return
    with reports:
        yield reports
