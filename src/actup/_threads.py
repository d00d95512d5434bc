"""count_threads(): how many threads n_jobs asks for. map_in_threads(): calls of a function in threads."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from numbers import Integral
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")

# More threads than this would only wait for each other. 64 threads are always allowed.
_MAX_THREADS_PER_CORE = 4
_ALWAYS_ALLOWED_THREADS = 64


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
        yield from map(function, tasks)
        return
    waiting: SimpleQueue[int] = SimpleQueue()  # numbers of tasks
    ended: SimpleQueue[tuple[int, Any, BaseException | None] | None] = SimpleQueue()
    for number in range(len(tasks)):
        waiting.put(number)

    def work() -> None:
        outcome: tuple[int, Any, BaseException | None]
        try:
            with suppress(Empty):
                while True:
                    number = waiting.get_nowait()
                    try:
                        outcome = number, function(tasks[number]), None
                    except BaseException as error:  # raised where the result is asked for
                        outcome = number, None, error
                    ended.put(outcome)
        finally:
            ended.put(None)

    running = 0
    outcomes: dict[int, tuple[Any, BaseException | None]] = {}
    try:
        for _ in range(threads):
            _thread.start_new_thread(work, ())
            running += 1
        for number in range(len(tasks)):
            while number not in outcomes and running > 0:
                outcome = ended.get()
                if outcome is None:
                    running -= 1
                else:
                    outcomes[outcome[0]] = outcome[1:]
            if number not in outcomes:
                raise MemoryError("a thread had no memory for its result")
            result, error = outcomes.pop(number)
            if error is not None:
                raise error
            yield result
    finally:
        with suppress(Empty):
            while True:
                waiting.get_nowait()
        while running > 0:
            running -= ended.get() is None


def _usable_cores() -> int:
    """The number of cores this process may use, which can be fewer than the machine has."""
    from joblib import cpu_count  # also respects affinity masks and the quotas of containers

    return int(cpu_count())
