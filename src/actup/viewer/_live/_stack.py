"""LevelStack: the maps that a session shows one inside the other, and what its pages are told about them."""

from __future__ import annotations

import threading

import numpy as np

from actup.estimators._growing import GrowingMap
from actup.viewer._live._channel import Channel
from actup.viewer._live._frames import frame_message
from actup.viewer._live._levels import Level


class LevelStack:
    """The map of all samples, and maps of selections above it; the last is shown. Any thread may use it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.RLock()
        self._levels: list[Level] = []
        self._start: np.ndarray | None = None  # where the points of the first level are while it is made
        self._keys = 0

    def __len__(self) -> int:
        return len(self._levels)

    @property
    def top(self) -> Level:
        """The level that is shown."""
        with self._lock:
            return self._levels[-1]

    def begin(self) -> int:
        """Forget all levels, because a fit begins; return the key of the level that it makes."""
        with self._lock:
            self._keys += 1
            self._levels, self._start = [], None
            self._tell("")
            return self._keys

    def set_start(self, Y: np.ndarray) -> None:
        """Note where the points of the first level start: (n, 2)."""
        self._start = Y

    def show_first(self, model: GrowingMap, key: int) -> None:
        """Show the map of all samples, which is finished."""
        level = Level(key, np.arange(len(model.embedding_)), model)
        with self._lock:
            self._levels, self._start = [level], level.places()
            self._tell(f"{len(level.ids):,} points")
            self._show(level)

    def push(self, ids: np.ndarray) -> Level:
        """Add the level of a selection, whose map is still to be made."""
        with self._lock:
            self._keys += 1
            level = Level(self._keys, ids)
            self._levels.append(level)
            self._tell("")
            return level

    def pop(self, message: str = "") -> None:
        """Show the level below the last one, if there is one."""
        with self._lock:
            if len(self._levels) > 1:
                self._levels.pop()
                self._tell(message)
                self._show(self._levels[-1])

    def first_places(self) -> np.ndarray | None:
        """The places of all samples, (n, 2), as far as they are known."""
        with self._lock:
            finished = bool(self._levels) and self._levels[0].model is not None
            return self._levels[0].places() if finished else self._start

    def ids_of(self, key: str) -> bytes:
        """The samples of a level, for the page; none if there is no such level."""
        with self._lock:
            found = [level.ids for level in self._levels if str(level.key) == key]
        return bytes(found[0].astype("<u4").tobytes()) if found else b""

    def count(self) -> int:
        """The number of all samples; 0 before it is known."""
        return 0 if self._start is None else len(self._start)

    def _tell(self, message: str) -> None:
        levels = [{"key": level.key, "count": len(level.ids)} for level in self._levels]
        self._channel.update_status(levels=levels, message=message)

    def _show(self, level: Level) -> None:
        self._channel.publish_frame(frame_message(level.places(), level.key, 0, 0))
