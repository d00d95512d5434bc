"""The part of a map that a picture shows: the bulk of its points, not a few outliers.

viewer/page/frame.js has the same rule and constants for the interactive page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_MIN_POINTS = 20  # below, no point is an outlier
_TRIMMED_SHARE = 0.01  # of the points at each end of an axis, to estimate the size of the bulk
_BULK_MARGIN = 0.75  # points farther than this multiple of the bulk's size from it are outliers
_CLUSTER_MARGIN = 2.0  # ... unless they form a cluster that is no farther than this multiple
_CLUSTER_CELLS = 5  # a cluster is in a cell of the bulk's size divided by this ...
_MIN_CLUSTER = 10  # ... with at least so many points
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
    one percent of the points at either end. Points up to three quarters of its size away from it are shown
    too, and clusters up to twice its size away.

    Parameters
    ----------
    Y : ndarray of shape (n, dimensions)
    kind : {"bulk", "all"}
        Whether outliers may be outside.
    aspect : float, default=None
        Width of the picture relative to its height, for a map of two dimensions: the rectangle grows to it.
    """
    low, high = _ends(Y)
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
    size = np.maximum(last - first, 0.1 * (last - first).max())  # an axis may be nearly flat
    near = View(first - _BULK_MARGIN * size, last + _BULK_MARGIN * size)
    if not size.all() or ((low >= near.low).all() and (high <= near.high).all()):
        return low, high
    inside = near.holds(Y)
    far = Y[~inside]
    shown = far[View(first - _CLUSTER_MARGIN * size, last + _CLUSTER_MARGIN * size).holds(far)]
    return _ends(np.vstack([Y[inside], _clustered(shown, size / _CLUSTER_CELLS)]))


def _ends(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest coordinates; column by column, which is faster."""
    return np.array([column.min() for column in Y.T]), np.array([column.max() for column in Y.T])


def _clustered(points: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Return those points that share their cell with some others: a cluster far from the bulk."""
    cells = np.floor(points / cell).astype(np.int64)
    _, index, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    return points[counts[index.ravel()] >= _MIN_CLUSTER]
