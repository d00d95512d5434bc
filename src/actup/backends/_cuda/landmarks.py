"""Landmarks on the GPU: cluster centres, and points scattered around them; see ``actup.start._landmarks``."""

from __future__ import annotations

import numpy as np

from actup._typing import Array
from actup.backends._cuda.cells import find_centers, nearest_center
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.launch import launch
from actup.backends._cuda.neighbors import comparable_rows

_SAMPLE_PER_LANDMARK = 32  # rows that k-means reads per landmark


def find_landmarks(X: Array, metric: str, wanted: int, seed: int, threads: int) -> tuple[Array, Array]:
    """Landmarks (wanted, columns), and for each row the number of its nearest landmark; on the device.

    k-means reads rows that are evenly spaced in X, whatever the seed is. Metrics other than the angular ones
    are replaced by the Euclidean distance: landmarks only have to show the large-scale structure.
    """
    rows = comparable_rows(X, metric)
    landmarks = find_centers(rows, wanted, _SAMPLE_PER_LANDMARK)
    return landmarks, nearest_center(rows, landmarks)


def scatter_around(places: Array, labels: Array, reach: float, seed: int, threads: int) -> Array:
    """A random place for every row, within ``reach`` of its landmark along each axis; on the device."""
    width = places.shape[1]
    out = cupy().empty((len(labels), width), np.float32)
    size = (np.int64(out.size), np.int32(width), np.float32(reach))
    kernel = load_kernels("cells").get_function("scatter_around")
    launch(kernel, out.size, places, labels, *size, np.uint64(seed), out)
    return out
