"""Where the points start, computed on the GPU: what ``actup.start._start`` does on the CPU."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np

from actup.backends._cuda.arrays import device_graph, host_graph, to_host
from actup.backends._cuda.cells import group_means
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.graph import pieces
from actup.backends._cuda.neighbors import sampled_mean
from actup.backends._cuda.subspace import (
    Spectrum,
    SubspaceIteration,
    block_width,
    column_stats,
    leading_eigenvectors,
)
from actup.graph._records import Graph, on_gpu
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent
from actup.start import _start as initialization
from actup.start._components import FILLED, SMALL, pack_balls, random_in_ball

_FEW = 2_000  # points whose eigenvectors the CPU finds before a GPU has started
_MOST_COLUMNS = 16_384  # columns whose scatter matrix is written out; of more, the CPU finds the axes
_CHUNK = 1 << 25  # numbers of X that are centred at a time


def given_start(init, n: int, recipe: Recipe, seed: int):
    """As ``initialization.given_start``, the places on the device: (n, dimensions) float32."""
    init = to_host(init) if on_gpu(init) else init
    Y, used = initialization.given_start(init, n, recipe, seed)
    return cupy().asarray(Y), used


def random_start(n: int, dimensions: int, seed: int):
    """As ``initialization.random_start``, on the device: (n, dimensions) float32."""
    return cupy().asarray(initialization.random_start(n, dimensions, seed))


def pca_start(X, dimensions: int, seed: int, threads: int):
    """The scores along the leading principal components of the rows; small noise where there are too few.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    dimensions, seed : int
    threads : int
        Of the CPU, which takes few rows and very many columns.

    Returns
    -------
    cupy.ndarray of shape (n, dimensions), float32
    """
    cp = cupy()
    n, columns = X.shape
    kept = min(dimensions, n, columns)
    if n <= _FEW or columns > _MOST_COLUMNS:
        return cp.asarray(initialization.pca_start(cp.asnumpy(X), dimensions, seed, threads))
    scatter = _Scatter(X)
    if not scatter.trace > 0:
        return _widen(cp.zeros((n, kept), cp.float32), dimensions, seed)
    return _widen(scatter.project(scatter.axes(kept, seed)), dimensions, seed)


class _Scatter:
    """(X - mean)ᵀ(X - mean), found relative to a row near the mean: a common offset costs no digits."""

    def __init__(self, X):
        cp = cupy()
        self._X = X
        self._center = sampled_mean(X)
        n, columns = X.shape
        self._width = 8 * math.ceil((columns + 1) / 8)  # odd widths are slow to multiply
        product = cp.zeros((self._width, self._width), cp.float32)
        for rows in self._chunks():  # one column of which is 1: its products are sums
            product = product + rows.T @ rows
        product = product.get().astype(np.float64)
        self._offset = product[:columns, columns] / n
        self._matrix = product[:columns, :columns] - n * np.outer(self._offset, self._offset)
        self.trace = float(np.trace(self._matrix))

    def _chunks(self):
        """The rows less the centre, and a 1, some at a time."""
        cp = cupy()
        n, columns = self._X.shape
        step = max(1, _CHUNK // self._width)
        kernel = load_kernels("rows").get_function("centered_rows")
        for begin in range(0, n, step):
            rows = self._X[begin : begin + step]
            out = cp.empty((len(rows), self._width), cp.float32)
            size = (np.int32(len(rows)), np.int32(columns), np.int32(self._width))
            arguments = (rows, self._center, *size, out)
            kernel((math.ceil(out.size / 256),), (256,), arguments)
            yield out

    def axes(self, count: int, seed: int) -> np.ndarray:
        """The leading principal axes, (columns, count); the largest entry of each is positive."""
        cp = cupy()
        columns = len(self._matrix)
        if columns <= max(64, 2 * block_width(count)):
            found = np.linalg.eigh(self._matrix)[1][:, ::-1][:, :count]
            largest = np.take_along_axis(found, np.abs(found).argmax(axis=0)[None, :], axis=0)
            return found * np.sign(largest)
        matrix = cp.asarray((self._matrix / self.trace).astype(np.float32))
        combine = load_kernels("start").get_function("combine")

        def apply(x, previous, out, alpha: float, beta: float, gamma: float) -> None:
            factors = (np.float32(alpha), np.float32(beta), np.float32(gamma))
            arguments = (matrix @ x, x, previous, out, np.int64(x.size), *factors)
            combine((math.ceil(x.size / 256),), (256,), arguments)

        spectrum = Spectrum(0.0, 1.0, 1 / columns, first_degree=3, last_degree=8, budget=40)
        return leading_eigenvectors(apply, columns, spectrum, count, seed).get().astype(np.float64)

    def project(self, axes: np.ndarray):
        """The scores of every row along the axes: (n, count) float32 on the device."""
        cp = cupy()
        turned = np.zeros((self._width, axes.shape[1]), np.float32)
        turned[: len(axes) + 1] = np.vstack([axes, -(self._offset @ axes)])
        turned = cp.asarray(turned)
        parts = [rows @ turned for rows in self._chunks()]
        return parts[0] if len(parts) == 1 else cp.concatenate(parts)


def spectral_coordinates(graph: Graph, dimensions: int, seed: int, threads: int = 1):
    """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one; columns beyond n - 1 are 0.

    Parameters
    ----------
    graph : Graph
        On the device or not; the result lies where it does.
    dimensions, seed, threads : int

    Returns
    -------
    array of shape (n, dimensions), float32
    """
    from actup.backends import _cpu as cpu

    n = len(graph)
    there = on_gpu(graph.offsets)
    if n <= max(_FEW, 4 * block_width(dimensions + 1)):
        found = cpu.spectral_coordinates(host_graph(graph), dimensions, seed, threads)
        return cupy().asarray(found) if there else found
    solver, _ = _spectral_solver(device_graph(graph), dimensions, seed)
    solver.solve()
    found = solver.vectors(dimensions)
    return found if there else to_host(found)


def _spectral_solver(graph: Graph, dimensions: int, seed: int):
    """The solver for D^-1/2 W D^-1/2 of a graph on the device, and the roots of the degrees."""
    cp = cupy()
    n = len(graph)
    kernels = load_kernels("spectrum")
    size = np.int32(n)
    grid, block = (math.ceil(n / 32),), (256,)
    root_degree = cp.empty(n, cp.float32)
    weights = cp.empty_like(graph.weights)
    kernels.get_function("root_degrees")(grid, block, (graph.offsets, graph.weights, size, root_degree))
    kernels.get_function("normalize_weights")(
        grid, block, (graph.offsets, graph.indices, graph.weights, root_degree, size, weights)
    )
    kernel = kernels.get_function("apply_graph")

    def apply(x, previous, out, alpha: float, beta: float, gamma: float) -> None:
        width = x.shape[1]
        factors = (np.float32(alpha), np.float32(beta), np.float32(gamma))
        kernel(
            (math.ceil(n / 128), width // 8),
            block,
            (graph.offsets, graph.indices, weights, size, np.int32(width), x, previous, out, *factors),
        )

    budget = min(max(12_000_000 // n, 100), 2000)  # seconds, not hours
    spectrum = Spectrum(-1.0, 1.0, 0.9, first_degree=20, last_degree=200, budget=budget)
    return SubspaceIteration(apply, n, spectrum, dimensions, seed, root_degree), root_degree


def spectral_start(graph: Graph, dimensions: int, seed: int, threads: int, backend: ModuleType, X=None):
    """The leading eigenvectors of the random walk on the graph; see ``initialization.spectral_start``.

    Large pieces are computed on the device and small ones by the CPU. Pieces of less than a ten-thousandth of
    the points start as a ball: thousands of them would take longer than all the rest, and the layout unfolds
    them in a few epochs.

    Returns
    -------
    cupy.ndarray of shape (n, dimensions), float32
    """
    cp = cupy()
    graph = device_graph(graph)
    n = len(graph)
    count, roots = pieces(graph)
    if count == 1:
        return _piece_start(graph, dimensions, seed, threads, backend)
    labels = cp.searchsorted(cp.unique(roots), roots)
    centers = None
    if X is not None:
        centers = initialization.pca_start(_mean_rows(X, labels, count), dimensions, seed, threads)
    random = np.random.default_rng([seed, 5])
    sizes = cp.asnumpy(cp.bincount(labels, minlength=count))
    order, part = _sorted_by_piece(graph, labels)
    spectral = sizes >= max(SMALL, dimensions + 2, n // 10_000)
    in_ball = cp.flatnonzero(cp.asarray(~spectral)[labels[order]])
    shapes = cp.zeros((n, dimensions))
    shapes[in_ball] = cp.asarray(random_in_ball(random, len(in_ball), dimensions))
    ends = np.cumsum(sizes)
    for piece in np.flatnonzero(spectral):
        begin, end = int(ends[piece] - sizes[piece]), int(ends[piece])
        shapes[begin:end] = _fit_ball(_piece_start(part(begin, end), dimensions, seed, threads, backend))
    places, radii = map(cp.asarray, pack_balls(sizes, dimensions, centers, random))
    piece_of = labels[order]
    shapes[cp.asarray(sizes)[piece_of] == 1] = 0
    Y = cp.empty((n, dimensions), cp.float32)
    Y[order] = places[piece_of] + FILLED * radii[piece_of, None] * shapes
    return Y


def _sorted_by_piece(graph: Graph, labels):
    """The points of a piece side by side, order[new] = old, and a function from a range to its graph."""
    cp = cupy()
    order = cp.argsort(labels, kind="stable")
    position = cp.empty(len(graph), cp.int32)
    position[order] = cp.arange(len(graph), dtype=cp.int32)
    lengths = cp.diff(graph.offsets)[order]
    offsets = cp.concatenate([cp.zeros(1, cp.int64), cp.cumsum(lengths)])
    rows = cp.empty(len(graph.indices), cp.int32)  # the new row of every edge, in the new order
    load_kernels("spectrum").get_function("name_rows")(
        (math.ceil(len(graph) / 32),), (256,), (offsets, np.int32(len(graph)), rows)
    )
    edges = cp.arange(len(graph.indices)) + (graph.offsets[order] - offsets[:-1])[rows]
    indices, weights = position[graph.indices[edges]], graph.weights[edges]
    starts = cp.asnumpy(offsets)

    def part(begin: int, end: int) -> Graph:
        inside = slice(int(starts[begin]), int(starts[end]))
        own = offsets[begin : end + 1] - offsets[begin]
        return Graph(own, indices[inside] - np.int32(begin), weights[inside])

    return order, part


def _fit_ball(Y):
    """Shift and scale into the unit ball."""
    cp = cupy()
    Y = Y - (Y.min(axis=0) + Y.max(axis=0)) / 2
    radius = float(cp.sqrt(cp.square(Y).sum(axis=1)).max())
    return Y / radius if radius > 0 else Y


def _piece_start(graph: Graph, dimensions: int, seed: int, threads: int, backend: ModuleType):
    """Coordinates of a connected graph; see ``initialization.component_start``, which says why.

    What takes the place of a vector that singles out a handful of points may be one of those that only guard
    the wanted ones: it is a little less exact, and good enough to begin with.
    """
    cp = cupy()
    n = len(graph)
    if n <= max(_FEW, 4 * block_width(dimensions + 13)):
        on_host = host_graph(graph)
        return cp.asarray(initialization.component_start(on_host, dimensions, seed, threads, backend))
    for more in (0, 4, 12):
        solver, root_degree = _spectral_solver(graph, dimensions + more, seed)
        solver.solve()
        columns = _over(solver.vectors(solver.found), root_degree)
        ordered = cp.sort(columns, axis=1)
        low, high = _quantile(ordered, 0.005), _quantile(ordered, 0.995)
        length = high - low
        telling = length >= 0.05 * (_quantile(ordered, 1.0) - _quantile(ordered, 0.0))
        if np.count_nonzero(telling) >= dimensions:
            break
    kept = np.argsort(~telling, kind="stable")[:dimensions]
    Y = cp.empty((n, len(kept)), cp.float32)
    kernel = load_kernels("start").get_function("clipped_column")
    for to, column in enumerate(kept):
        bounds = np.float32(low[column] - length[column]), np.float32(high[column] + length[column])
        arguments = (columns[column], np.int32(n), *bounds, Y, np.int32(len(kept)), np.int32(to))
        kernel((math.ceil(n / 256),), (256,), arguments)
    return _widen(Y, dimensions, seed)


def _over(vectors, divisors):
    """The columns of (n, width) vectors, each entry over its row's divisor: (width, n)."""
    n, width = vectors.shape
    out = cupy().empty((width, n), np.float32)
    kernel = load_kernels("start").get_function("divided_columns")
    kernel((math.ceil(out.size / 256),), (256,), (vectors, divisors, np.int32(n), np.int32(width), out))
    return out


def _quantile(ordered, share: float) -> np.ndarray:
    """A quantile of each row of an array whose rows are sorted, as NumPy interpolates it."""
    n = ordered.shape[1]
    place = share * (n - 1)
    first = min(int(place), n - 2)
    pairs = np.array([row[first : first + 2].get() for row in ordered], np.float64)
    return pairs[:, 0] + (place - first) * (pairs[:, 1] - pairs[:, 0])


def _mean_rows(X, labels, count: int) -> np.ndarray:
    """The mean row of X of every piece: (count, columns)."""
    means = cupy().zeros((count, X.shape[1]), np.float32)
    group_means(X, labels, means)
    return to_host(means)


def scale_start(Y, extent: Extent, size: float, seed: int):
    """As ``initialization.scale_start``, with the same jitter, on the device: (n, dimensions) float32."""
    cp = cupy()
    Y = cp.ascontiguousarray(Y, cp.float32)
    kernels = load_kernels("start")
    n, dimensions = Y.shape
    grid, block = (math.ceil(Y.size / 256),), (256,)
    shape = (np.int64(Y.size), np.int32(dimensions))
    random = cp.asarray(np.random.default_rng([seed, 2]).uniform(-1, 1, Y.shape))
    least, largest, mean, mean_square = column_stats(Y)
    width = max((largest - mean).max(), (mean - least).max())
    if not width > 0 or not np.isfinite(width):
        spread = random
    else:
        deviation = np.sqrt(np.maximum(mean_square - mean**2, 0))
        measure = (largest - least if extent is Extent.BOX else deviation).max() / width
        spread = cp.empty((n, dimensions), cp.float64)
        amount = np.float64(initialization.JITTER * measure)
        arguments = (Y, *shape, cp.asarray(mean), np.float64(1 / width), random, amount, spread)
        kernels.get_function("jittered")(grid, block, arguments)
    least, largest, mean, mean_square = column_stats(spread)
    if extent is Extent.BOX:
        shift, widest = least, (largest - least).max()
    else:
        shift, widest = mean, np.sqrt(np.maximum(mean_square - mean**2, 0)).max()
    out = cp.empty((n, dimensions), cp.float32)
    factor = np.float64(size / widest if widest > 0 else 1.0)
    kernels.get_function("scaled")(grid, block, (spread, *shape, cp.asarray(shift), factor, out))
    return out


def _widen(Y, dimensions: int, seed: int):
    """Add columns of small noise up to the wanted number; on the CPU, which has the same noise."""
    if Y.shape[1] >= dimensions:
        return Y
    cp = cupy()
    return cp.asarray(initialization.widen(cp.asnumpy(Y), dimensions, seed))
