"""CallbackLayout: a descent that calls openTSNE's callbacks every few iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from actup._device import to_host
from actup._errors import WrongType
from actup._typing import Array
from actup.backends import Layout

IterationCallback = Callable[[int, float, np.ndarray], Any]


def read_callbacks(callbacks: Any, every: Any) -> tuple[IterationCallback, ...]:
    """The functions that ``callbacks`` holds: none, one or several."""
    if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
        raise WrongType(f"callbacks_every_iters={every!r} must be an integer of at least 1")
    given = () if callbacks is None else (callbacks,) if callable(callbacks) else callbacks
    if not isinstance(given, Sequence) or not all(map(callable, given)):
        raise WrongType(
            f"callbacks={callbacks!r} must be a function callback(iteration, error, embedding), or a list "
            "of such functions"
        )
    return tuple(given)


class CallbackLayout:
    """A layout that calls functions every few epochs; see ``actup.backends.Layout``.

    Parameters
    ----------
    layout : Layout
    callbacks : sequence of callable
        Called as ``callback(iteration, error, embedding)``; the run ends if one of them returns True. Their
        method ``optimization_about_to_start``, if they have one, is called first.
    every : int
        Epochs between two calls.
    divergence : callable
        ``divergence(points)`` is the error of points.
    """

    def __init__(
        self,
        layout: Layout,
        callbacks: Sequence[IterationCallback],
        every: int,
        divergence: Callable[[np.ndarray], float],
    ):
        self._layout = layout
        self._callbacks, self._every, self._divergence = callbacks, every, divergence
        self.n_epochs = layout.n_epochs  # fewer once the run has ended before its time
        for callback in callbacks:
            begin = getattr(callback, "optimization_about_to_start", None)
            if begin is not None:
                begin()

    @property
    def epoch(self) -> int:
        """The number of epochs that have been run."""
        return self._layout.epoch

    def run(self, until: int) -> None:
        """Advance to epoch ``until``, or to the epoch at which a callback ends the run."""
        while self.epoch < min(until, self.n_epochs):
            self._layout.run(min(until, (self.epoch // self._every + 1) * self._every))
            self.n_epochs = self._layout.n_epochs
            if self.epoch % self._every == 0:
                self._call()

    def _call(self) -> None:
        embedding = to_host(self.embedding())
        error = self._divergence(embedding)
        answers = [callback(self.epoch, error, embedding) for callback in self._callbacks]  # of all of them
        if any(map(bool, answers)):
            self.n_epochs = self.epoch

    def embedding(self) -> np.ndarray:
        """A copy of the points now."""
        return self._layout.embedding()

    def replace_points(self, Y: Array) -> None:
        """Continue from other places."""
        self._layout.replace_points(Y)

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion by these factors."""
        self._layout.steer(exaggeration, repulsion)

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs."""
        return self._layout.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        self._layout.restore(state)

    def loss(self) -> float:
        """The recipe's loss at the points now."""
        return self._layout.loss()
