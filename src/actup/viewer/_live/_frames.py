"""Messages of the event stream: what the page is told, as bytes. ``live.js`` reads them."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

# A message is its kind and the length of what follows, then that. All numbers are little-endian.
_MESSAGE = struct.Struct("<II")
_STATUS, _FRAME = 0, 1
# A frame: key of the level, epoch, number of epochs, number of points, smallest coordinates, extents.
_FRAME_HEADER = struct.Struct("<4I4f")
_LARGEST_STEP = 65535  # largest coordinate in 16 bits


def status_message(status: dict[str, Any]) -> bytes:
    """Return the message of a status: JSON in UTF-8."""
    text = json.dumps(status, allow_nan=False).encode("ascii")
    return _MESSAGE.pack(_STATUS, len(text)) + text


def frame_message(Y: np.ndarray, key: int, epoch: int, n_epochs: int) -> bytes:
    """Return the message of all places of a level, in 16-bit steps between the ends of each axis.

    Parameters
    ----------
    Y : ndarray of shape (n, 2), float32
        Finite places.
    key : int
        The level's key.
    epoch, n_epochs : int
        How far its layout is.
    """
    low, high = Y.min(axis=0), Y.max(axis=0)
    size = np.maximum(high - low, np.finfo(np.float32).tiny)
    steps = ((Y - low) * (np.float32(_LARGEST_STEP) / size) + np.float32(0.5)).astype("<u2")
    header = _FRAME_HEADER.pack(key, epoch, n_epochs, len(Y), *low.tolist(), *size.tolist())
    places: bytes = steps.tobytes()
    return _MESSAGE.pack(_FRAME, len(header) + len(places)) + header + places
