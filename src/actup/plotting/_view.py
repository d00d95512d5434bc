"""The part of a map that a picture shows: the bulk of its points, not a few outliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_MIN_POINTS = 20  # below, no point is an outlier
_TRIMMED_SHARE = 0.01  # of the points at each end of an axis, to estimate the size of the bulk
_BULK_MARGIN = 0.5  # points farther than this multiple of the bulk's size from it are outliers
_MAX_SAMPLE = 200_000  # points that estimate the bulk
_EDGE_SHARE = 0.04  # free space around the points


@dataclass(frozen=True)
class View:
    """A rectangle of the map.

    Attributes
    ----------
    low, high : ndarray of shape (dimensions,)
        Its lower and upper ends, with some free space around the points.
    outside : int
        Number of points outside.
    """

    low: np.ndarray
    high: np.ndarray
    outside: int = 0

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Return which points are inside, Booleans of shape (n,)."""
        inside = np.ones(len(points), bool)
        for axis in range(points.shape[1]):
            inside &= (points[:, axis] >= self.low[axis]) & (points[:, axis] <= self.high[axis])
        return inside


def fit_view(Y: np.ndarray, kind: str = "bulk", aspect: float | None = None) -> View:
    """Return the part of a map to show.

    A few points far away would shrink all others to a speck. The bulk is what remains of each axis without
    one percent of the points at either end; points up to half of its size away from it are shown too.

    Parameters
    ----------
    Y : ndarray of shape (n, dimensions)
    kind : {"bulk", "all"}
        Whether outliers may be outside.
    aspect : float, default=None
        Width of the picture relative to its height, for a map of two dimensions: the rectangle grows to it.
    """
    low, high = Y.min(axis=0), Y.max(axis=0)
    if kind == "bulk" and len(Y) >= _MIN_POINTS:
        low, high = _bulk(Y, low, high)
    size = high - low
    largest = float(size.max()) or 1.0
    # A map that is flat along an axis keeps some room there.
    edge = np.maximum(_EDGE_SHARE * largest, 0.5 * (0.2 * largest - size))
    low, high = low - edge, high + edge
    if aspect is not None:
        middle, half = (low + high) / 2, (high - low) / 2
        half = np.maximum(half, [half[1] * aspect, half[0] / aspect])
        low, high = middle - half, middle + half
    inside = View(low, high).holds(Y)
    return View(low, high, len(Y) - int(np.count_nonzero(inside)))


def _bulk(Y: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the points that are no outliers."""
    sample = np.sort(Y[:: -(-len(Y) // _MAX_SAMPLE)], axis=0)
    trimmed = max(int(_TRIMMED_SHARE * len(sample)), 1)
    first, last = sample[trimmed], sample[-1 - trimmed]
    margin = np.maximum(_BULK_MARGIN * (last - first), 1e-12 * np.maximum(np.abs(first), np.abs(last)))
    margin = np.maximum(margin, _BULK_MARGIN * (last - first).max() * 0.1)  # a nearly flat axis
    least, most = first - margin, last + margin
    if (low >= least).all() and (high <= most).all():
        return low, high
    near = View(least, most).holds(Y)
    if not near.any():
        return low, high
    kept = Y[near]
    return kept.min(axis=0), kept.max(axis=0)
