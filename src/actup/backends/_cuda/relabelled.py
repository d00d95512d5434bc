"""The graph as the layout sees it: points relabelled, weights relative to the largest, weak edges dropped."""

from __future__ import annotations

import numpy as np

from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.launch import start
from actup.graph._records import Graph

_LANES = 8  # threads per point
_MEASURING = 1 << 18  # threads that measure points
# The box of no points: least of two axes, then largest, as ordered() of kernels/layout.h has them.
NO_BOX = np.array([2**31 - 1, 2**31 - 1, -(2**31), -(2**31)], np.int32)


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
    """

    def __init__(self, graph: Graph, start_points, seed: int, shuffled: bool, weakest: float):
        self._kernels = load_kernels("layout_graph")
        n = len(start_points)
        if shuffled:
            keys = cupy().empty(n, np.uint64)
            start(self._kernels.get_function("random_keys"), n, np.uint64(seed), np.int64(n), keys)
        else:
            keys = _place_keys(start_points)
        label = self._relabel(keys, start_points)
        self._copy_rows(graph, label, np.float32(weakest))

    def _relabel(self, keys, start_points):
        """Sort the points by their keys; the new number of each."""
        cp, (n, dimensions) = cupy(), start_points.shape
        self.order, label = cp.empty(n, np.int32), cp.empty(n, np.int32)
        self.points = cp.empty_like(start_points)
        size = (np.int64(n), np.int32(dimensions))
        kernel = self._kernels.get_function("relabel")
        start(kernel, n, cp.argsort(keys), start_points, *size, self.order, label, self.points)
        return label

    def _copy_rows(self, graph: Graph, label, weakest: np.float32) -> None:
        """Strengths, degrees and rows of the edges that are strong enough."""
        cp, n = cupy(), len(label)
        offsets, indices, weights = graph.offsets, graph.indices, graph.weights
        largest = weights.max() if weights.size else cp.ones((), np.float32)
        self.strength, self.degree = cp.empty(n, np.float32), cp.empty(n, np.int32)
        kept = (weights, largest, weakest, self.order)
        count_edges = self._kernels.get_function("count_edges")
        start(count_edges, _LANES * n, offsets, *kept, np.int64(n), self.strength, self.degree)
        self.offsets = offsets_of(self.degree)
        self.edges = cp.empty((max(1, weights.size), 2), np.int32)
        copy_rows = self._kernels.get_function("copy_rows")
        start(copy_rows, _LANES * n, offsets, indices, *kept, label, self.offsets, np.int64(n), self.edges)

    def __len__(self) -> int:
        return len(self.order)

    def reorder(self, points):
        """Relabel the points along a curve through their places now, which changes nothing but speed.

        Returns
        -------
        callable
            Gives what the caller keeps of each point, (n,) or (n, width) float32, in the new order.
        """
        cp, n = cupy(), len(self)
        new = cp.argsort(_place_keys(points))
        label, known = cp.empty(n, np.int32), (self.degree, self.strength, self.order)
        moved = tuple(map(cp.empty_like, known))
        start(self._kernels.get_function("reorder_points"), n, new, np.int64(n), *known, label, *moved)
        self.degree, self.strength, self.order = moved
        offsets, edges = offsets_of(self.degree), cp.empty_like(self.edges)
        kernel = self._kernels.get_function("reorder_rows")
        start(kernel, _LANES * n, self.offsets, self.edges, new, label, offsets, np.int64(n), edges)
        self.offsets, self.edges = offsets, edges

        def taken(values):
            result = cp.empty_like(values)
            size = (np.int64(n), np.int32(values.size // n))
            start(self._kernels.get_function("take_rows"), n, new, values, *size, result)
            return result

        return taken

    def in_callers_order(self, points):
        """A copy of points (n, dimensions) in the caller's order."""
        restored = cupy().empty_like(points)
        n, dimensions = points.shape
        kernel = self._kernels.get_function("restore")
        start(kernel, n, self.order, points, np.int64(n), np.int32(dimensions), restored)
        return restored


def _place_keys(points):
    """Keys that sort points (n, dimensions) along a Morton curve through their first two axes."""
    n, dimensions = points.shape
    keys, box = cupy().empty(n, np.uint64), cupy().asarray(NO_BOX)
    measure_box(points, box)
    kernel = load_kernels("layout_graph").get_function("place_keys")
    start(kernel, n, points, box, np.int64(n), np.int32(dimensions), keys)
    return keys


def measure_box(points, box) -> None:
    """Widen a box on the device, int32 as in State of kernels/layout.h, to hold points (n, dimensions)."""
    n, dimensions = points.shape
    kernel = load_kernels("layout_graph").get_function("measure_box")
    start(kernel, min(n, _MEASURING), points, np.int64(n), np.int32(dimensions), box)


def offsets_of(counts):
    """Where each of some groups begins, and the end of the last: (groups + 1,) int64."""
    cp = cupy()
    offsets = cp.zeros(len(counts) + 1, np.int64)
    cp.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets
