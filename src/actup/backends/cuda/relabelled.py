"""The graph as the layout sees it: points relabelled, weights relative to the largest, weak edges dropped."""

from __future__ import annotations

import numpy as np

from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.launch import start
from actup.graph import Graph

_LANES = 8  # threads per point


class RelabelledGraph:
    """Rows of edges on the device, in an order of the points that suits the descent.

    The graph and the points that it is made from are on the device.

    Attributes
    ----------
    order : cupy.ndarray of shape (n,), int32
        ``order[new]`` is the caller's number of a point.
    points : cupy.ndarray of shape (n, dimensions), float32
        The start, in the new order.
    offsets : cupy.ndarray of shape (n + 1,), int64
    edges : cupy.ndarray of shape (at least offsets[n], 2), int32
        Neighbour and the bits of the relative weight, side by side.
    strength : cupy.ndarray of shape (n,), float32
    degree : cupy.ndarray of shape (n,), int32
    total : cupy.ndarray of one float64
        The sum of all strengths.
    """

    def __init__(self, graph: Graph, start_points, seed: int, shuffled: bool, weakest: float):
        cp = cupy()
        kernels = load_kernels("layout_graph")
        n, dimensions = start_points.shape
        offsets, indices, weights = graph.offsets, graph.indices, graph.weights
        size = (np.int64(n), np.int32(dimensions))

        if shuffled:
            keys = cp.empty(n, np.uint64)
            start(kernels.get_function("random_keys"), n, np.uint64(seed), np.int64(n), keys)
        else:
            keys = _place_keys(start_points)
        self.order, label = cp.empty(n, np.int32), cp.empty(n, np.int32)
        self.points = cp.empty_like(start_points)
        start(
            kernels.get_function("relabel"),
            n,
            cp.argsort(keys),
            start_points,
            *size,
            self.order,
            label,
            self.points,
        )

        largest = weights.max() if weights.size else cp.ones((), np.float32)
        self.strength, self.degree = cp.empty(n, np.float32), cp.empty(n, np.int32)
        start(
            kernels.get_function("count_edges"),
            _LANES * n,
            offsets,
            weights,
            largest,
            np.float32(weakest),
            self.order,
            np.int64(n),
            self.strength,
            self.degree,
        )
        self.offsets = offsets_of(self.degree)
        self.edges = cp.empty((max(1, weights.size), 2), np.int32)
        start(
            kernels.get_function("copy_rows"),
            _LANES * n,
            offsets,
            indices,
            weights,
            largest,
            np.float32(weakest),
            self.order,
            label,
            self.offsets,
            np.int64(n),
            self.edges,
        )
        self.total = self.strength.sum(dtype=np.float64)
        self._restore = kernels.get_function("restore")

    def __len__(self) -> int:
        return len(self.order)

    def reorder(self, points):
        """Relabel the points along a curve through their places now, which changes nothing but speed.

        Returns
        -------
        cupy.ndarray of shape (n,), int64
            The present number of each point in the new order, by which the caller has to sort what it keeps.
        """
        cp, n = cupy(), len(self)
        new = cp.argsort(_place_keys(points))
        label = cp.empty(n, np.int32)
        label[new] = cp.arange(n, dtype=np.int32)
        self.degree, self.strength, self.order = self.degree[new], self.strength[new], self.order[new]
        offsets, edges = offsets_of(self.degree), cp.empty_like(self.edges)
        kernel = load_kernels("layout_graph").get_function("reorder_rows")
        start(kernel, _LANES * n, self.offsets, self.edges, new, label, offsets, np.int64(n), edges)
        self.offsets, self.edges = offsets, edges
        return new

    def in_callers_order(self, points):
        """A copy of points (n, dimensions) in the caller's order."""
        restored = cupy().empty_like(points)
        n, dimensions = points.shape
        start(self._restore, n, self.order, points, np.int64(n), np.int32(dimensions), restored)
        return restored


def _place_keys(points):
    """Keys that sort points (n, dimensions) along a Morton curve through their first two axes."""
    n, dimensions = points.shape
    keys = cupy().empty(n, np.uint64)
    start(
        load_kernels("layout_graph").get_function("place_keys"),
        n,
        points,
        points.min(axis=0),
        points.max(axis=0),
        np.int64(n),
        np.int32(dimensions),
        keys,
    )
    return keys


def offsets_of(counts):
    """Where each of some groups begins, and the end of the last: (groups + 1,) int64."""
    cp = cupy()
    offsets = cp.zeros(len(counts) + 1, np.int64)
    cp.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets
