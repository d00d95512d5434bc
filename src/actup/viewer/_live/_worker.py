"""Worker: one thread that does a session's work, one piece after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

_JOIN_SECONDS = 30.0  # how long closing waits for the piece of work that runs


class Worker:
    """Does pieces of work in a thread that does not keep the process alive.

    The threads of ``concurrent.futures`` do: the process would wait for a paused layout.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._open = 0
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="actup-live-worker", daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether some work is not done."""
        return self._open > 0

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Add a piece of work; what it returns or raises goes into the future."""
        future: Future[Any] = Future()
        with self._changed:
            self._open += 1
        self._jobs.put((work, future))
        return future

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all work is done; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout)

    def close(self) -> None:
        """End the thread after the piece of work that runs; cancel all others."""
        self._closing = True
        self._jobs.put(None)
        self._thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, future = job
            try:
                if self._closing:
                    future.cancel()
                else:
                    future.set_result(work())
            except BaseException as error:  # it belongs to whoever reads the future
                future.set_exception(error)
            finally:
                with self._changed:
                    self._open -= 1
                    self._changed.notify_all()
