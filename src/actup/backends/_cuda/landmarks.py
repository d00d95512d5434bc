"""Landmarks on the GPU: centres of cells, and points around their places; see ``actup.start._landmarks``."""

from __future__ import annotations

import math

import numpy as np

from actup.backends._cuda.cells import find_centers, nearest_center
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.neighbors import directions

_SAMPLED = 32  # rows per landmark that they are found from


def find_landmarks(X, metric: str, wanted: int, seed: int, threads: int):
    """The landmarks of the rows, (wanted, columns), and the number of each row's; both on the device.

    The rows they are found from are evenly spread over X, whatever the seed is. Other metrics than the
    angular ones are taken for Euclidean: landmarks need to be near in the large only.
    """
    angular = metric in ("cosine", "correlation")
    rows = directions(X, metric == "correlation") if angular else X
    landmarks = find_centers(rows, wanted, _SAMPLED)
    return landmarks, nearest_center(rows, landmarks)


def scatter_around(places, labels, reach: float, seed: int, threads: int):
    """A place within ``reach`` of its landmark's, along each axis, for every row: on the device."""
    width = places.shape[1]
    out = cupy().empty((len(labels), width), np.float32)
    size = (np.int64(out.size), np.int32(width), np.float32(reach))
    kernel = load_kernels("cells").get_function("scatter_around")
    arguments = (places, labels, *size, np.uint64(seed), out)
    kernel((math.ceil(out.size / 256),), (256,), arguments)
    return out
