"""LiveProgress: reports a run to a session's pages, and does to its layout what the controls say."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar

import numpy as np

from actup._device import to_host
from actup.backends import Layout
from actup.progress import Callback, Progress
from actup.viewer._live._channel import Channel
from actup.viewer._live._controls import Controls
from actup.viewer._live._frames import frame_message

_MAX_SHARE_OF_FRAMES = 0.2  # of the run's time, that copying and packing places for the pages may take


class SessionClosed(RuntimeError):
    """A session was closed before its run came to the layout."""


class LiveProgress(Progress):
    """Progress of one run of a session.

    Parameters
    ----------
    channel : Channel
    controls : Controls
    key : int
        The level of the map that the run makes.
    begun : callable
        Called with the places (n, 2) when the layout begins.
    ended : callable
        Called with the exception that ended the run, or None, once the run is over.
    verbose, callback
        As in ``Progress``.
    """

    slice_seconds: ClassVar[float] = 0.04  # 25 frames per second

    def __init__(
        self,
        channel: Channel,
        controls: Controls,
        key: int,
        begun: Callable[[np.ndarray], None],
        ended: Callable[[BaseException | None], None],
        verbose: bool | int = False,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(verbose, callback)
        self._channel, self._controls, self._key = channel, controls, key
        self._begun, self._ended = begun, ended
        self._next_frame = -1.0  # not before the layout has begun

    def report(self, stage: str, fraction: float, embedding: Callable[[], np.ndarray] | None = None) -> None:
        """Report that a share of a stage is done, to the pages too.

        Parameters
        ----------
        stage : str
        fraction : float
        embedding : callable, default=None
        """
        super().report(stage, fraction, embedding)
        if stage != "layout":
            if self._controls.aborted:
                raise SessionClosed(f"the session was closed in stage {stage!r}, before there was a map")
            self._channel.update_status(state="running", stage=stage, fraction=fraction)

    def guide(self, layout: Layout) -> None:
        """Show the points, then wait while the session is paused, and steer or stop.

        Parameters
        ----------
        layout : Layout
        """
        begin = time.perf_counter()
        if self._next_frame < 0:
            self._begun(to_host(layout.embedding()))
        if begin >= self._next_frame or layout.epoch == layout.n_epochs:
            self._show(layout)
            spent = time.perf_counter() - begin
            self._next_frame = begin + spent / _MAX_SHARE_OF_FRAMES
        if self._controls.apply(layout) and not self.stopped:
            self.stopped, self.stopped_in = True, "layout"

    def _show(self, layout: Layout) -> None:
        self._channel.update_status(
            state="paused" if self._controls.paused else "running",
            stage="layout",
            fraction=layout.epoch / max(1, layout.n_epochs),
            epoch=layout.epoch,
            epochs=layout.n_epochs,
        )
        is_needed = self._channel.has_listeners or self._controls.paused  # a page may come while it waits
        if is_needed or layout.epoch in (0, layout.n_epochs):
            Y = to_host(layout.embedding())
            self._channel.publish_frame(frame_message(Y, self._key, layout.epoch, layout.n_epochs))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._ended(error)
