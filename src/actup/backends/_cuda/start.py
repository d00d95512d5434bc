"""The start of the layout, computed on the GPU: the counterpart of ``actup.start._coordinates``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from actup._device import on_gpu
from actup._typing import Array
from actup.backends._cuda.arrays import device_graph, host_graph, offsets_of, to_host
from actup.backends._cuda.candidates import sampled_mean
from actup.backends._cuda.cells import group_means
from actup.backends._cuda.compile import cupy, load_kernels, value_macros
from actup.backends._cuda.constants import PANEL, THREADS
from actup.backends._cuda.graph import connected_components
from actup.backends._cuda.launch import blocks_for, launch
from actup.backends._cuda.subspace import (
    Spectrum,
    SubspaceIteration,
    block_width,
    column_stats,
    leading_eigenvectors,
)
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent
from actup.start import _coordinates
from actup.start._components import FILLED_SHARE, SMALL_COMPONENT, pack_balls, random_in_ball

_MAX_CPU_POINTS = 2_000  # the CPU finds the eigenvectors of so few points before a GPU has started
_MAX_SCATTER_COLUMNS = 16_384  # for more, the scatter matrix is too large: the CPU finds the axes
_CHUNK_VALUES = 1 << 25  # values of X that are centred at a time
_MIN_SPECTRAL_SHARE = 10_000  # components smaller than n over this start as a ball


def given_start(init: Array, n: int, recipe: Recipe, seed: int) -> tuple[Array, str]:
    """As ``_coordinates.given_start``, on the device: (n, dimensions) float32."""
    init = to_host(init) if on_gpu(init) else init
    Y, used = _coordinates.given_start(init, n, recipe, seed)
    return cupy().asarray(Y), used


def random_start(n: int, dimensions: int, seed: int) -> Array:
    """As ``_coordinates.random_start``, on the device: (n, dimensions) float32."""
    return cupy().asarray(_coordinates.random_start(n, dimensions, seed))


def pca_start(X: Array, dimensions: int, seed: int, threads: int) -> Array:
    """The scores along the leading principal components of the rows; small noise if there are too few.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns)
    dimensions, seed : int
    threads : int
        Threads of the CPU, which handles few rows and very many columns.

    Returns
    -------
    cupy.ndarray of shape (n, dimensions), float32
    """
    cp = cupy()
    n, columns = X.shape
    kept = min(dimensions, n, columns)
    if n <= _MAX_CPU_POINTS or columns > _MAX_SCATTER_COLUMNS:
        return cp.asarray(_coordinates.pca_start(cp.asnumpy(X), dimensions, seed, threads))
    scatter = _Scatter(X)
    if not scatter.trace > 0:
        return _fill_axes(cp.zeros((n, kept), cp.float32), dimensions, seed)
    return _fill_axes(scatter.project(scatter.axes(kept, seed)), dimensions, seed)


class _Scatter:
    """The matrix (X - mean)ᵀ(X - mean), computed relative to an estimated mean to avoid cancellation."""

    def __init__(self, X: Array):
        cp = cupy()
        self._X = X
        self._center = sampled_mean(X)
        n, columns = X.shape
        self._width = 8 * -(-(columns + 1) // 8)  # products of other widths are slow
        total = cp.zeros((self._width, self._width), cp.float32)
        for rows in self._chunks():  # the column of ones makes the column sums
            total = total + rows.T @ rows
        product = total.get().astype(np.float64)
        self._offset = product[:columns, columns] / n
        self._matrix = product[:columns, :columns] - n * np.outer(self._offset, self._offset)
        self.trace = float(np.trace(self._matrix))

    def _chunks(self) -> Iterator[Array]:
        """Chunks of the rows less the centre, with a column of ones and zero padding."""
        cp = cupy()
        n, columns = self._X.shape
        chunk = max(1, _CHUNK_VALUES // self._width)
        kernel = load_kernels("rows", **value_macros(self._X)).get_function("centered_rows")
        for begin in range(0, n, chunk):
            rows = self._X[begin : begin + chunk]
            out = cp.empty((len(rows), self._width), cp.float32)
            size = (np.int32(len(rows)), np.int32(columns), np.int32(self._width))
            launch(kernel, out.size, rows, self._center, *size, out)
            yield out

    def axes(self, count: int, seed: int) -> np.ndarray:
        """The leading principal axes, (columns, count); the largest entry of each is positive."""
        cp = cupy()
        columns = len(self._matrix)
        if columns <= max(64, 2 * block_width(count)):
            found: np.ndarray = np.linalg.eigh(self._matrix)[1][:, ::-1][:, :count]
            largest = np.take_along_axis(found, np.abs(found).argmax(axis=0)[None, :], axis=0)
            found = found * np.sign(largest)
            return found
        matrix = cp.asarray((self._matrix / self.trace).astype(np.float32))
        combine = load_kernels("start").get_function("combine")

        def apply(x: Array, previous: Array, out: Array, alpha: float, beta: float, gamma: float) -> None:
            factors = (np.float32(alpha), np.float32(beta), np.float32(gamma))
            launch(combine, x.size, matrix @ x, x, previous, out, np.int64(x.size), *factors)

        spectrum = Spectrum(0.0, 1.0, 1 / columns, first_degree=3, last_degree=8, budget=40)
        axes: np.ndarray = leading_eigenvectors(apply, columns, spectrum, count, seed).get()
        return axes.astype(np.float64)

    def project(self, axes: np.ndarray) -> Array:
        """The scores of every row along the axes: (n, count) float32 on the device."""
        cp = cupy()
        padded = np.zeros((self._width, axes.shape[1]), np.float32)
        padded[: len(axes) + 1] = np.vstack([axes, -(self._offset @ axes)])
        factors = cp.asarray(padded)
        parts = [rows @ factors for rows in self._chunks()]
        return parts[0] if len(parts) == 1 else cp.concatenate(parts)


def spectral_coordinates(graph: Graph, dimensions: int, seed: int, threads: int = 1) -> Array:
    """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one; columns beyond n - 1 are 0.

    Parameters
    ----------
    graph : Graph
        On the device or the host; so is the result.
    dimensions, seed, threads : int

    Returns
    -------
    array of shape (n, dimensions), float32
    """
    from actup.backends._cpu import spectral_coordinates as solve_on_cpu

    n = len(graph)
    on_device = on_gpu(graph.offsets)
    if n <= max(_MAX_CPU_POINTS, 4 * block_width(dimensions + 1)):
        found = solve_on_cpu(host_graph(graph), dimensions, seed, threads)
        return cupy().asarray(found) if on_device else found
    solver, _ = _spectral_solver(device_graph(graph), dimensions, seed)
    solver.solve()
    found = solver.vectors(dimensions)
    return found if on_device else to_host(found)


def _spectral_solver(graph: Graph, dimensions: int, seed: int) -> tuple[SubspaceIteration, Array]:
    """The solver for D^-1/2 W D^-1/2 of a graph on the device, and the square roots of the degrees."""
    cp = cupy()
    n = len(graph)
    kernels = load_kernels("spectrum")
    size = np.int32(n)
    root_degree = cp.empty(n, cp.float32)
    weights = cp.empty_like(graph.weights)
    root_degrees = kernels.get_function("root_degrees")
    launch(root_degrees, PANEL * n, graph.offsets, graph.weights, size, root_degree)
    normalize = kernels.get_function("normalize_weights")
    rows = (graph.offsets, graph.indices, graph.weights)
    launch(normalize, PANEL * n, *rows, root_degree, size, weights)
    kernel = kernels.get_function("apply_graph")

    def apply(x: Array, previous: Array, out: Array, alpha: float, beta: float, gamma: float) -> None:
        width = x.shape[1]
        factors = (np.float32(alpha), np.float32(beta), np.float32(gamma))
        kernel(  # a thread computes four entries of a row
            (blocks_for(n * PANEL // 4), width // PANEL),
            (THREADS,),
            (graph.offsets, graph.indices, weights, size, np.int32(width), x, previous, out, *factors),
        )

    budget = min(max(12_000_000 // n, 100), 2000)  # seconds, not hours
    spectrum = Spectrum(-1.0, 1.0, 0.9, first_degree=20, last_degree=200, budget=budget)
    return SubspaceIteration(apply, n, spectrum, dimensions, seed, root_degree), root_degree


def spectral_start(
    graph: Graph,
    dimensions: int,
    seed: int,
    threads: int,
    X: Array | None = None,
    gives_up: bool = False,
) -> Array:
    """The leading eigenvectors of the random walk on the graph; see ``_coordinates.spectral_start``.

    The device computes large components and the CPU small ones. Components of less than a ten-thousandth of
    the points start as a ball: thousands of them would take longer than all the rest, and the layout unfolds
    them in a few epochs.

    Returns
    -------
    cupy.ndarray of shape (n, dimensions), float32
    """
    cp = cupy()
    graph = device_graph(graph)
    n = len(graph)
    if n == 1:
        return cp.zeros((1, dimensions), cp.float32)
    count, labels = connected_components(graph)
    if count == 1:
        return _component_start(graph, dimensions, seed, threads, gives_up)
    centers = None
    if X is not None:
        centers = _coordinates.pca_start(_mean_rows(X, labels, count), dimensions, seed, threads)
    random = np.random.default_rng([seed, 5])
    sizes = cp.asnumpy(cp.bincount(labels, minlength=count))
    order, subgraph = _sort_by_component(graph, labels)
    spectral = sizes >= max(SMALL_COMPONENT, dimensions + 2, n // _MIN_SPECTRAL_SHARE)
    in_ball = cp.flatnonzero(cp.asarray(~spectral)[labels[order]])
    shapes = cp.zeros((n, dimensions))
    shapes[in_ball] = cp.asarray(random_in_ball(random, len(in_ball), dimensions))
    ends = np.cumsum(sizes)
    for component in np.flatnonzero(spectral):
        begin, end = int(ends[component] - sizes[component]), int(ends[component])
        coordinates = _component_start(subgraph(begin, end), dimensions, seed, threads)
        shapes[begin:end] = _fit_ball(coordinates)
    places, radii = map(cp.asarray, pack_balls(sizes, dimensions, centers, random))
    component_of = labels[order]
    shapes[cp.asarray(sizes)[component_of] == 1] = 0
    Y = cp.empty((n, dimensions), cp.float32)
    Y[order] = places[component_of] + FILLED_SHARE * radii[component_of, None] * shapes
    return Y


def _sort_by_component(graph: Graph, labels: Array) -> tuple[Array, Callable[[int, int], Graph]]:
    """An order of the points, component after component, and the subgraph of a range of that order.

    ``order[new]`` is the old id of a point.
    """
    cp = cupy()
    order = cp.argsort(labels, kind="stable")
    position = cp.empty(len(graph), cp.int32)
    position[order] = cp.arange(len(graph), dtype=cp.int32)
    lengths = cp.diff(graph.offsets)[order]
    offsets = offsets_of(lengths)
    rows = cp.empty(len(graph.indices), cp.int32)  # the new row of every edge, in the new order
    kernel = load_kernels("spectrum").get_function("rows_of_edges")
    launch(kernel, PANEL * len(graph), offsets, np.int32(len(graph)), rows)
    edges = cp.arange(len(graph.indices)) + (graph.offsets[order] - offsets[:-1])[rows]
    indices, weights = position[graph.indices[edges]], graph.weights[edges]
    starts = cp.asnumpy(offsets)

    def subgraph(begin: int, end: int) -> Graph:
        inside = slice(int(starts[begin]), int(starts[end]))
        own = offsets[begin : end + 1] - offsets[begin]
        return Graph(own, indices[inside] - np.int32(begin), weights[inside])

    return order, subgraph


def _fit_ball(Y: Array) -> Array:
    """Shift and scale into the unit ball."""
    cp = cupy()
    Y = Y - (Y.min(axis=0) + Y.max(axis=0)) / 2
    radius = float(cp.sqrt(cp.square(Y).sum(axis=1)).max())
    return Y / radius if radius > 0 else Y


def _component_start(graph: Graph, dimensions: int, seed: int, threads: int, gives_up: bool = False) -> Array:
    """Coordinates of a connected graph; see ``_coordinates.component_start`` for the method.

    An eigenvector that singles out a handful of points may be replaced by a guard vector of the solver, which
    is less exact, but exact enough for a start.
    """
    cp = cupy()
    n = len(graph)
    if n <= max(_MAX_CPU_POINTS, 4 * block_width(dimensions + 13)):
        on_host = host_graph(graph)
        return cp.asarray(
            _coordinates.component_start(on_host, dimensions, seed, threads, spectral_coordinates, gives_up)
        )
    for more in _coordinates.EXTRA_VECTORS:
        solver, root_degree = _spectral_solver(graph, dimensions + more, seed)
        solver.solve()
        columns = _divide_rows(solver.vectors(solver.found), root_degree)
        ordered = cp.sort(columns, axis=1)
        low, high, least, largest = _quantiles(ordered, (*_coordinates.CENTRAL_QUANTILES, 0.0, 1.0))
        length = high - low
        informative = length >= _coordinates.MIN_CENTRAL_SHARE * (largest - least)
        if np.count_nonzero(informative) >= dimensions:
            break
        if gives_up:
            raise _coordinates.UninformativeVectors
    kept = np.argsort(~informative, kind="stable")[:dimensions]
    Y = cp.empty((n, len(kept)), cp.float32)
    kernel = load_kernels("start").get_function("clipped_column")
    for to, column in enumerate(kept):
        bounds = np.float32(low[column] - length[column]), np.float32(high[column] + length[column])
        launch(kernel, n, columns[column], np.int32(n), *bounds, Y, np.int32(len(kept)), np.int32(to))
    return _fill_axes(Y, dimensions, seed)


def _divide_rows(vectors: Array, divisors: Array) -> Array:
    """Divide each row of (n, width) vectors by its divisor; returns the transposed result, (width, n)."""
    n, width = vectors.shape
    out = cupy().empty((width, n), np.float32)
    kernel = load_kernels("start").get_function("divided_columns")
    launch(kernel, out.size, vectors, divisors, np.int32(n), np.int32(width), out)
    return out


def _quantiles(ordered: Array, shares: Sequence[float]) -> np.ndarray:
    """Quantiles of each row of an array with sorted rows, (shares, rows), interpolated as by NumPy."""
    n = ordered.shape[1]
    places = np.array(shares) * (n - 1)
    first = np.minimum(places.astype(np.int64), n - 2)
    columns = cupy().asarray(np.concatenate([first, first + 1]))
    low, high = ordered[:, columns].get().astype(np.float64).T.reshape(2, len(shares), -1)
    return np.asarray(low + (places - first)[:, None] * (high - low))


def _mean_rows(X: Array, labels: Array, count: int) -> np.ndarray:
    """The mean of the rows of X in every component: (count, columns)."""
    means = cupy().zeros((count, X.shape[1]), np.float32)
    group_means(X, labels, means)
    return to_host(means)


def scale_start(Y: Array, extent: Extent, size: float, seed: int) -> Array:
    """As ``_coordinates.scale_start``, with a jitter of its own, on the device: (n, dimensions) float32."""
    cp = cupy()
    Y = cp.ascontiguousarray(Y, cp.float32)
    kernels = load_kernels("start")
    n, dimensions = Y.shape
    shape = (np.int64(Y.size), np.int32(dimensions))
    least, largest, mean, mean_square = column_stats(Y)
    width = max((largest - mean).max(), (mean - least).max())
    if width > 0 and np.isfinite(width):
        deviation = np.sqrt(np.maximum(mean_square - mean**2, 0))
        measure = (largest - least if extent is Extent.BOX else deviation).max() / width
        scale, amount = np.float64(1 / width), np.float64(_coordinates.JITTER * measure)
    else:  # nothing but random places
        Y, mean = cp.zeros_like(Y), np.zeros(dimensions)
        scale = amount = np.float64(1)
    spread = cp.empty((n, dimensions), cp.float64)
    jittered = kernels.get_function("jittered")
    launch(jittered, Y.size, Y, *shape, cp.asarray(mean), scale, np.uint64(seed), amount, spread)
    least, largest, mean, mean_square = column_stats(spread)
    if extent is Extent.BOX:
        shift, widest = least, (largest - least).max()
    else:
        shift, widest = mean, np.sqrt(np.maximum(mean_square - mean**2, 0)).max()
    out = cp.empty((n, dimensions), cp.float32)
    factor = np.float64(size / widest if widest > 0 else 1.0)
    launch(kernels.get_function("scaled"), Y.size, spread, *shape, cp.asarray(shift), factor, out)
    return out


def _fill_axes(Y: Array, dimensions: int, seed: int) -> Array:
    """Add columns of small noise up to the wanted number; the CPU draws them, so the noise is the same."""
    if Y.shape[1] >= dimensions:
        return Y
    cp = cupy()
    return cp.asarray(_coordinates.fill_axes(cp.asnumpy(Y), dimensions, seed))
