"""Pack arrays and texts into compressed blobs, which the page unpacks with the browser's own deflate."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

_LARGEST_STEP = 65535  # largest coordinate in 16 bits
_TAIL_STEPS = 4096  # on each side of the bulk, for outliers; maps.js has the same number
_BULK_TAIL = 0.001  # share of the points beyond the bulk, on each side of an axis
_BULK_SLACK = 0.5  # how far the bulk extends beyond these quantiles, relative to their distance
_LEVEL = 6  # of the compression: higher ones take several times as long for 1 % less


class Blobs:
    """Compressed blobs of a page; what is packed is described by the number of its blob."""

    def __init__(self) -> None:
        self.texts: list[str] = []  # base64

    def add_bytes(self, data: bytes) -> int:
        """Compress bytes and return the number of their blob."""
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = compressor.compress(data) + compressor.flush()
        self.texts.append(base64.b64encode(packed).decode("ascii"))
        return len(self.texts) - 1

    def add_array(self, array: np.ndarray, dtype: str) -> dict[str, Any]:
        """Pack numbers as ``dtype`` ("u2", ...): all first bytes, then all second bytes, and so on."""
        numbers = np.ascontiguousarray(array, dtype=np.dtype(f"<{dtype}")).reshape(-1)
        planes = numbers.view(np.uint8).reshape(len(numbers), -1).T
        return {"blob": self.add_bytes(np.ascontiguousarray(planes).tobytes()), "type": dtype}

    def add_whole_numbers(self, array: np.ndarray, lowest: int, highest: int) -> dict[str, Any]:
        """Pack whole numbers in as few bytes as their range needs."""
        names = ("u1", "u2", "u4") if lowest >= 0 else ("i1", "i2", "i4")
        fitting = [name for name in names if np.can_cast(np.min_scalar_type(lowest), name)]
        name = next(name for name in fitting if highest <= np.iinfo(name).max)
        return self.add_array(array, name)

    def add_texts(self, texts: Sequence[str]) -> dict[str, Any]:
        """Pack texts as one string and their lengths in UTF-16 units, in which JavaScript counts."""
        # An unpaired surrogate cannot be written as UTF-8: it becomes a question mark.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        lengths = np.array([len(text.encode("utf-16-le")) // 2 for text in clean])
        longest = int(lengths.max(initial=0))
        return {
            "text": {"blob": self.add_bytes("".join(clean).encode("utf-8"))},
            "lengths": self.add_whole_numbers(lengths, 0, longest),
        }

    def add_map(self, Y: np.ndarray) -> dict[str, Any]:
        """Pack the coordinates of a map as 16-bit steps, most of which divide the bulk of the points.

        Parameters
        ----------
        Y : ndarray of shape (n, 2)
            Centred; points without a place (NaN) are packed at the centre.

        Returns
        -------
        dict
            ``knots``: for each axis the lowest value, the two ends of the bulk and the highest value; ``x``
            and ``y``: the steps. They divide the bulk evenly, and on either side of it the way to the last
            outlier.
        """
        Y = np.nan_to_num(Y)
        knots = [_axis_knots(values) for values in Y.T]
        steps = [_axis_steps(values, axis) for values, axis in zip(Y.T, knots, strict=True)]
        return {"knots": knots, "x": self.add_array(steps[0], "u2"), "y": self.add_array(steps[1], "u2")}


def _axis_knots(values: np.ndarray) -> list[float]:
    lowest, highest = float(values.min()), float(values.max())
    low, high = np.quantile(values, (_BULK_TAIL, 1 - _BULK_TAIL))
    slack = _BULK_SLACK * (high - low)
    if not slack > 0:
        return [lowest, lowest, highest, highest]
    return [lowest, max(lowest, float(low - slack)), min(highest, float(high + slack)), highest]


def _axis_steps(values: np.ndarray, knots: list[float]) -> np.ndarray:
    lowest, low, high, highest = knots
    first = _TAIL_STEPS if lowest < low else 0
    last = _LARGEST_STEP - (_TAIL_STEPS if highest > high else 0)
    places = sorted({lowest: 0, low: first, high: last, highest: _LARGEST_STEP}.items())
    return np.asarray(np.rint(np.interp(values, *np.array(places, np.float64).T)))
