"""Controls: what the page or a program asks of the layout that runs, read between two slices of epochs."""

from __future__ import annotations

import numbers
import threading

from actup.backends import Layout
from actup.backends._base import check_steering


class Controls:
    """Pause, stop and steering factors, shared by the threads of a session."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paused = False
        self._stopped = False
        self._released = False
        self._factors = (1.0, 1.0)

    @property
    def paused(self) -> bool:
        """Whether the layout waits."""
        return self._paused

    @property
    def factors(self) -> tuple[float, float]:
        """The factors of exaggeration and repulsion."""
        return self._factors

    def steer(self, exaggeration: float | None, repulsion: float | None) -> None:
        """Change the factors that are given."""
        with self._changed:
            factors = (
                self._factors[0] if exaggeration is None else _read_factor("exaggeration", exaggeration),
                self._factors[1] if repulsion is None else _read_factor("repulsion", repulsion),
            )
            check_steering(*factors)
            self._factors = factors

    def forget_stop(self) -> None:
        """Begin another layout, which an earlier ``stop`` does not concern."""
        with self._changed:
            self._stopped = False

    def pause(self) -> None:
        """Have the layout wait before its next slice."""
        self._change(paused=True)

    def resume(self) -> None:
        """Have the layout go on."""
        self._change(paused=False)

    def stop(self) -> None:
        """End the layout before its next slice."""
        self._change(paused=False, stopped=True)

    def release(self, *, stop: bool) -> None:
        """End all control: the layout that runs stops, or goes on to its end unwatched."""
        with self._changed:
            self._released, self._stopped = True, stop
            self._changed.notify_all()

    @property
    def aborted(self) -> bool:
        """Whether the session has ended and stops what it runs."""
        return self._released and self._stopped

    def _change(self, *, paused: bool, stopped: bool = False) -> None:
        with self._changed:
            self._paused, self._stopped = paused, self._stopped or stopped
            self._changed.notify_all()

    def apply(self, layout: Layout) -> bool:
        """Steer a layout, waiting while it is paused. Return whether it should stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._released or not self._paused)
            if not self._released:
                layout.steer(*self._factors)
            return self._stopped


def _read_factor(name: str, value: object) -> float:
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} must be a number; 1 is what the recipe says")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name} is too large; 1 is what the recipe says") from error
