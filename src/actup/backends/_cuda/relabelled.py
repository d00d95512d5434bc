"""The layout's graph: points relabelled, weights relative to the largest, weak edges dropped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from actup._typing import Array
from actup.backends._cuda.arrays import offsets_of
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.constants import BOX_AXES, POINT_LANES
from actup.backends._cuda.launch import launch
from actup.graph._records import Graph

_MAX_BOX_THREADS = 1 << 18  # that compute the bounding box of the points
# The bounding box of no points: smallest and then largest coordinates of the first axes, as ordered() of
# kernels/layout.h encodes them.
EMPTY_BOX = np.repeat(np.array([2**31 - 1, -(2**31)], np.int32), BOX_AXES)


class RelabelledGraph:
    """Rows of edges on the device, in an order of the points that makes the descent fast.

    The graph and the points that it is made from are on the device.

    Attributes
    ----------
    order : cupy.ndarray of shape (n,), int32
        ``order[new]`` is the caller's id of a point.
    points : cupy.ndarray of shape (n, dimensions), float32
        The start, in the new order.
    offsets : cupy.ndarray of shape (n + 1,), int64
    edges : cupy.ndarray of shape (at least offsets[n], 2), int32
        The neighbour, and the bits of the float32 relative weight.
    strength : cupy.ndarray of shape (n,), float32
    degree : cupy.ndarray of shape (n,), int32
    """

    def __init__(self, graph: Graph, start: Array, seed: int, shuffled: bool, weakest: float):
        self._kernels = load_kernels("layout_graph")
        n = len(start)
        if shuffled:
            keys = cupy().empty(n, np.uint64)
            launch(self._kernels.get_function("random_keys"), n, np.uint64(seed), np.int64(n), keys)
        else:
            keys = _morton_keys(start)
        self._graph, self._weakest = graph, np.float32(weakest)
        weights = graph.weights
        self._largest = weights.max() if weights.size else cupy().ones((), np.float32)
        label = self._relabel(keys, start)
        self.edges = cupy().empty((max(1, weights.size), 2), np.int32)
        self.strength, self.degree = cupy().empty(n, np.float32), cupy().empty(n, np.int32)
        kept = (weights, self._largest, self._weakest, self.order)
        count_edges = self._kernels.get_function("count_edges")
        launch(count_edges, POINT_LANES * n, graph.offsets, *kept, np.int64(n), self.strength, self.degree)
        self._copy_rows(label)

    def _relabel(self, keys: Array, start: Array) -> Array:
        """Sort the points by their keys; returns the new id of each."""
        cp, (n, dimensions) = cupy(), start.shape
        self.order, label = cp.empty(n, np.int32), cp.empty(n, np.int32)
        self.points = cp.empty_like(start)
        size = (np.int64(n), np.int32(dimensions))
        kernel = self._kernels.get_function("relabel")
        launch(kernel, n, cp.argsort(keys), start, *size, self.order, label, self.points)
        return label

    def _copy_rows(self, label: Array) -> None:
        """Copy the edges that are not too weak; ``label`` is the new id of each of the caller's points.

        They are read from the caller's graph whenever the order changes, so that no second copy needs memory.
        """
        graph, n = self._graph, len(label)
        self.offsets = offsets_of(self.degree)
        launch(
            self._kernels.get_function("copy_rows"), POINT_LANES * n, graph.offsets, graph.indices,
            graph.weights, self._largest, self._weakest, self.order, label, self.offsets, np.int64(n),
            self.edges,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.order)

    def reorder(self, points: Array) -> Callable[[Array], Array]:
        """Relabel the points along a Morton curve through their current places, which only affects speed.

        Returns what ``_reorder_by`` does.
        """
        return self._reorder_by(cupy().argsort(_morton_keys(points)))

    def reorder_as(self, order: np.ndarray) -> Callable[[Array], Array]:
        """Relabel the points so that ``order`` is as given: a permutation, (n,) int32 on the host.

        Returns what ``_reorder_by`` does.
        """
        cp = cupy()
        now = cp.empty(len(self), np.int64)  # the present place of each of the caller's points
        now[self.order] = cp.arange(len(self))
        return self._reorder_by(now[cp.asarray(order)])

    def _reorder_by(self, new: Array) -> Callable[[Array], Array]:
        """Relabel the points: ``new[i]`` is the present place of the one that gets place i.

        Returns
        -------
        callable
            Brings an array of values per point, (n,) or (n, width) float32, to the new order.
        """
        cp, n = cupy(), len(self)
        label, known = cp.empty(n, np.int32), (self.degree, self.strength, self.order)
        moved = tuple(map(cp.empty_like, known))
        launch(self._kernels.get_function("reorder_points"), n, new, np.int64(n), *known, label, *moved)
        self.degree, self.strength, self.order = moved
        self._copy_rows(label)

        def reordered(values: Array) -> Array:
            result = cp.empty_like(values)
            size = (np.int64(n), np.int32(values.size // n))
            launch(self._kernels.get_function("take_rows"), n, new, values, *size, result)
            return result

        return reordered

    def in_callers_order(self, points: Array) -> Array:
        """A copy of points (n, dimensions) in the caller's order."""
        restored = cupy().empty_like(points)
        n, dimensions = points.shape
        kernel = self._kernels.get_function("restore")
        launch(kernel, n, self.order, points, np.int64(n), np.int32(dimensions), restored)
        return restored


def _morton_keys(points: Array) -> Array:
    """Keys that sort points (n, dimensions) along a Morton curve through their first axes."""
    n, dimensions = points.shape
    keys, box = cupy().empty(n, np.uint64), cupy().asarray(EMPTY_BOX)
    measure_box(points, box)
    kernel = load_kernels("layout_graph").get_function("place_keys")
    launch(kernel, n, points, box, np.int64(n), np.int32(dimensions), keys)
    return keys


def measure_box(points: Array, box: Array) -> None:
    """Widen a bounding box on the device, encoded as in State of kernels/layout.h, to contain the points."""
    n, dimensions = points.shape
    kernel = load_kernels("layout_graph").get_function("measure_box")
    launch(kernel, min(n, _MAX_BOX_THREADS), points, np.int64(n), np.int32(dimensions), box)
