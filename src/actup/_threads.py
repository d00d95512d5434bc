"""count_threads(): how many threads n_jobs asks for. map_in_threads(): calls of a function in threads.

BackgroundCalls: calls in threads, whose results are asked for later.
"""

from __future__ import annotations

import _thread
import atexit
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from numbers import Integral
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

Result = TypeVar("Result")

# More threads than this would only wait for each other. 64 threads are always allowed.
_MAX_THREADS_PER_CORE = 4
_ALWAYS_ALLOWED_THREADS = 64
_LONGEST_WAIT_S = 1.0  # Ctrl-C may take a ring of the bell away


def count_threads(n_jobs: int | None, name: str = "n_jobs") -> int:
    """Return the number of threads: None and -1 mean one per usable core, -2 one fewer, and so on.

    A number far above the number of cores is lowered, which changes no result.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn.
    name : str, default="n_jobs"
        What errors call the parameter.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise TypeError(f"{name}={n_jobs!r} must be an integer or None")
    if n_jobs == 0:
        raise ValueError(f"{name}=0 has no meaning: use -1 for all cores, or a positive number of threads")
    if n_jobs is not None and n_jobs > 0:
        return min(int(n_jobs), max(_ALWAYS_ALLOWED_THREADS, _MAX_THREADS_PER_CORE * _usable_cores()))
    return max(1, _usable_cores() + 1 + (-1 if n_jobs is None else int(n_jobs)))


def map_in_threads(function: Callable[[Any], Result], items: Iterable[Any], threads: int) -> Iterator[Result]:
    """Yield a function's results for some items, in their order; the calls run in threads.

    After an error, Ctrl-C or the end of the generator no call begins, and those that run come to their end.
    With ``concurrent.futures``, Ctrl-C can leave a lock held for which the end of the pool waits for ever.

    Parameters
    ----------
    function : callable
    items : iterable
    threads : int
        Most calls at a time; with 1 they run in the thread that asks for the results.
    """
    tasks = list(items)
    threads = min(threads, len(tasks))
    if threads <= 1:
        for task in tasks:
            yield function(task)
        return
    waiting: SimpleQueue[int] = SimpleQueue()  # numbers of tasks
    outcomes: list[tuple[Any, BaseException | None] | None] = [None] * len(tasks)
    working: set[object] = set()  # one entry for each thread, from before its first task to after its last
    bell: SimpleQueue[None] = SimpleQueue()  # rings when one of these two has changed
    for number in range(len(tasks)):
        waiting.put(number)

    def do(number: int) -> None:
        try:
            outcomes[number] = function(tasks[number]), None
        except BaseException as error:  # raised where the result is asked for
            outcomes[number] = None, error
            _empty(waiting)
        bell.put(None)

    def work() -> None:
        thread = object()
        working.add(thread)
        try:
            with suppress(Empty):
                while True:
                    do(waiting.get_nowait())
        finally:
            working.discard(thread)
            bell.put(None)

    try:
        for _ in range(threads):
            _thread.start_new_thread(work, ())
        for number in range(len(tasks)):
            while (outcome := outcomes[number]) is None:
                _wait_for(bell)
            outcomes[number] = None
            result, error = outcome
            del outcome
            if error is not None:
                try:
                    raise error
                finally:
                    del error  # whose calls hold arrays
            yield result
            del result
    finally:
        _empty(waiting)
        while working:  # a thread that begins only now finds nothing to do
            _wait_for(bell)


class BackgroundCall(Generic[Result]):
    """A call that a thread does in the background: see ``BackgroundCalls``."""

    def __init__(self, function: Callable[..., Result], arguments: tuple[Any, ...]):
        self._task: tuple[Callable[..., Result], tuple[Any, ...]] | None = (function, arguments)
        self._outcome: tuple[Result | None, BaseException | None] | None = None
        self._bell: SimpleQueue[None] = SimpleQueue()  # rings when there is an outcome

    def result(self) -> Result:
        """Wait for the call, and return its result or raise its error."""
        while self._outcome is None:
            _wait_for(self._bell)
        self._bell.put(None)  # for other threads that wait
        result, error = self._outcome
        if error is not None:
            try:
                raise error
            finally:
                del error  # whose calls hold arrays
        return cast(Result, result)

    def do(self) -> None:
        """Do the call, once."""
        assert self._task is not None
        (function, arguments), self._task = self._task, None
        try:
            self._outcome = function(*arguments), None
        except BaseException as error:  # raised where the result is asked for
            self._outcome = None, error
        self._bell.put(None)


class BackgroundCalls:
    """Calls in threads, in the order in which they were submitted; threads end when no call waits.

    When the interpreter ends, it waits for the calls that run, and those that wait are left out. Calls that
    come later, or in a forked process, are done at once by the thread that submits them. As in
    ``map_in_threads``, Ctrl-C leaves no lock held.

    Parameters
    ----------
    threads : int
        Most calls at a time.
    """

    def __init__(self, threads: int):
        self._threads, self._process, self._ended = threads, os.getpid(), False
        self._waiting: SimpleQueue[BackgroundCall[Any]] = SimpleQueue()
        self._slots: SimpleQueue[int] = SimpleQueue()  # one for each thread that may begin to work
        for slot in range(threads):
            self._slots.put(slot)
        atexit.register(self.end)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> BackgroundCall[Result]:
        """Have a thread call a function."""
        call = BackgroundCall(function, arguments)
        if self._ended or os.getpid() != self._process:  # nobody would do it
            call.do()
            return call
        self._waiting.put(call)
        _thread.start_new_thread(self._work, ())
        return call

    def end(self) -> None:
        """Leave out the calls that have not begun, and wait for the others."""
        if self._ended or os.getpid() != self._process:  # a forked process has none of the threads
            return
        self._ended = True
        _empty(self._waiting)
        for _ in range(self._threads):
            self._slots.get()

    def _work(self) -> None:
        while not self._waiting.empty():  # also if a call has come while this thread was giving its slot back
            try:
                slot = self._slots.get_nowait()
            except Empty:  # the other threads do what waits
                return
            try:
                with suppress(Empty):
                    while True:
                        self._waiting.get_nowait().do()
            finally:
                self._slots.put(slot)


def _empty(queue: SimpleQueue[Any]) -> None:
    with suppress(Empty):
        while True:
            queue.get_nowait()


def _wait_for(bell: SimpleQueue[None]) -> None:
    with suppress(Empty):
        bell.get(timeout=_LONGEST_WAIT_S)


def _usable_cores() -> int:
    """The number of cores this process may use, which can be fewer than the machine has."""
    from joblib import cpu_count  # also respects affinity masks and the quotas of containers

    return int(cpu_count())
