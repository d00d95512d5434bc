"""Channel: the newest status and the newest frame, for any number of pages that listen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actup.viewer._live._frames import status_message

_KEEP_ALIVE_SECONDS = 5.0  # a page that is gone is noticed when it is written to


class Channel:
    """Keeps what was published last. A slow page skips frames; nobody waits for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._status: dict[str, Any] = {}
        self._frame = b""
        self._statuses = self._frames = 0  # how many were published
        self._listeners = 0
        self._closed = False

    def update_status(self, **changes: Any) -> None:
        """Change some fields of the status."""
        with self._changed:
            self._status = {**self._status, **changes}
            self._statuses += 1
            self._changed.notify_all()

    def status(self) -> dict[str, Any]:
        """The status now."""
        with self._changed:
            return dict(self._status)

    def publish_frame(self, message: bytes) -> None:
        """Replace the newest frame."""
        with self._changed:
            self._frame = message
            self._frames += 1
            self._changed.notify_all()

    @property
    def has_listeners(self) -> bool:
        """Whether a page listens."""
        return self._listeners > 0

    @contextmanager
    def listening(self) -> Iterator[Iterator[bytes]]:
        """Give the messages for a page that listens while the context lasts."""
        with self._changed:
            self._listeners += 1
            self._changed.notify_all()
        try:
            yield self._messages()
        finally:
            with self._changed:
                self._listeners -= 1

    def _messages(self) -> Iterator[bytes]:
        """What is new since the last message, until the channel is closed; the status again if nothing is."""
        seen_status = seen_frame = 0

        def is_news() -> bool:
            return self._closed or seen_status < self._statuses or seen_frame < self._frames

        while True:
            with self._changed:
                self._changed.wait_for(is_news, _KEEP_ALIVE_SECONDS)
                frame = self._frame if seen_frame < self._frames else b""
                is_known = seen_status == self._statuses
                status = b"" if frame and is_known else status_message(self._status)
                seen_status, seen_frame, closed = self._statuses, self._frames, self._closed
            yield status + frame
            if closed:
                return

    def close(self) -> None:
        """End the messages of all pages, after the newest one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
