"""Where the points start, computed on the GPU: what ``actup.initialization`` does on the CPU."""

from __future__ import annotations

import math
import sys

import numpy as np

from actup import initialization
from actup.backends.cuda.arrays import device_graph, host_graph, to_host
from actup.backends.cuda.cells import group_means
from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.graph import pieces
from actup.backends.cuda.subspace import Spectrum, block_width, fixed_signs, leading_eigenvectors
from actup.components import FILLED, SMALL, pack_balls, random_in_ball
from actup.graph import Graph, on_gpu
from actup.recipe import Extent, Initialization, Recipe

_FEW = 2_000  # points whose eigenvectors the CPU finds before a GPU has started
_GRAM_COLUMNS = 2_048  # columns whose scatter matrix is written out; of more it is applied from the rows
_CHUNK = 1 << 25  # numbers of X that are centred at a time


def make_start(X, graph: Graph, recipe: Recipe, init, seed: int, threads: int):
    """The points' first places on the device, and how they were found; see ``initialization.make_start``.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32, or None
    graph : Graph
        Of device arrays.
    recipe : Recipe
    init : array-like of shape (n, n_components), or None
    seed, threads : int
    """
    cp = cupy()
    graph = device_graph(graph)
    if init is not None:
        init = to_host(init) if on_gpu(init) else init
        Y, used = initialization.make_start(None, graph, recipe, init, seed, threads, sys.modules[__name__])
        return cp.asarray(Y), used
    kind, reason = recipe.initialization, ""
    Y = None
    if kind is Initialization.SPECTRAL:
        if len(graph.indices):
            Y = spectral_start(graph, recipe.n_components, seed, threads, X)
        else:
            kind, reason = Initialization.PCA, "the graph has no edges"
    if kind is Initialization.PCA:
        if X is None:
            kind, reason = Initialization.RANDOM, reason or "there are no rows to take components of"
        else:
            Y = pca_start(X, recipe.n_components, seed)
    if Y is None:
        Y = cp.asarray(initialization.random_start(len(graph), recipe.n_components, seed))
    used = f"{kind} ({reason})" if reason else str(kind)
    return scale_start(Y, recipe.start_extent, recipe.start_size, seed), used


def pca_start(X, dimensions: int, seed: int):
    """The scores along the leading principal components of the rows; small noise where there are too few.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
    dimensions, seed : int

    Returns
    -------
    cupy.ndarray of shape (n, dimensions), float32
    """
    cp = cupy()
    n, columns = X.shape
    kept = min(dimensions, n, columns)
    if n <= _FEW:
        return cp.asarray(initialization.pca_start(cp.asnumpy(X), dimensions, seed, 1))
    scatter = _Scatter(X)
    if not scatter.trace > 0:
        return _widen(cp.zeros((n, kept), cp.float32), dimensions, seed)
    spectrum = Spectrum(0.0, 1.0, 1 / columns, first_degree=3, last_degree=8, budget=40)
    if columns <= max(64, 2 * block_width(kept)):
        _, axes = cp.linalg.eigh(scatter.matrix.astype(cp.float64))
        axes = fixed_signs(axes[:, ::-1][:, :kept].astype(cp.float32))
    else:
        axes = leading_eigenvectors(scatter.apply, columns, spectrum, kept, seed)
    return _widen(scatter.project(axes), dimensions, seed)


class _Scatter:
    """(X - mean)ᵀ(X - mean) over its trace, as an operator."""

    def __init__(self, X):
        cp = cupy()
        self._X = X
        n, columns = X.shape
        shift = X[:: max(1, n // 1000)].mean(axis=0, dtype=cp.float64)
        total = cp.zeros(columns, cp.float64)
        self.matrix = cp.zeros((columns, columns), cp.float32) if columns <= _GRAM_COLUMNS else None
        self._mean = shift.astype(cp.float32)
        squares = cp.zeros((), cp.float64)
        for rows in self._chunks():
            total += cp.ones(len(rows), cp.float32) @ rows
            squares += cp.square(rows).sum(dtype=cp.float64)
            if self.matrix is not None:
                self.matrix += rows.T @ rows
        offset = total / n
        self._mean = (shift + offset).astype(cp.float32)
        self.trace = float(squares - n * (offset @ offset))
        if self.matrix is not None and self.trace > 0:
            self.matrix -= (n * cp.outer(offset, offset)).astype(cp.float32)
            self.matrix /= np.float32(self.trace)

    def _chunks(self):
        """The centred rows, some at a time."""
        step = max(1, _CHUNK // self._X.shape[1])
        for begin in range(0, len(self._X), step):
            yield self._X[begin : begin + step] - self._mean

    def apply(self, x, previous, out, alpha: float, beta: float, gamma: float) -> None:
        """out = alpha A x + beta x + gamma previous."""
        if self.matrix is not None:
            image = self.matrix @ x
        else:
            scaled = x / np.float32(math.sqrt(self.trace))
            image = sum(rows.T @ (rows @ scaled) for rows in self._chunks()) / np.float32(
                math.sqrt(self.trace)
            )
        result = np.float32(alpha) * image + np.float32(beta) * x
        if gamma:
            result += np.float32(gamma) * previous
        out[...] = result

    def project(self, axes):
        """The scores of every row, (n, dimensions)."""
        return cupy().concatenate([rows @ axes for rows in self._chunks()])


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
    from actup.backends import cpu

    n = len(graph)
    there = on_gpu(graph.offsets)
    if n <= max(_FEW, 4 * block_width(dimensions + 1)):
        found = cpu.spectral_coordinates(host_graph(graph), dimensions, seed, threads)
        return cupy().asarray(found) if there else found
    found = _eigenvectors(device_graph(graph), dimensions, seed)
    return found if there else to_host(found)


def _eigenvectors(graph: Graph, dimensions: int, seed: int):
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
            (grid[0], width // 8),
            block,
            (graph.offsets, graph.indices, weights, size, np.int32(width), x, previous, out, *factors),
        )

    budget = min(max(12_000_000 // n, 100), 2000)  # seconds, not hours
    spectrum = Spectrum(-1.0, 1.0, 0.9, first_degree=20, last_degree=200, budget=budget)
    vectors = leading_eigenvectors(apply, n, spectrum, dimensions, seed, root_degree)
    return fixed_signs(cp.where(root_degree[:, None] > 0, vectors, np.float32(0)))


def spectral_start(graph: Graph, dimensions: int, seed: int, threads: int, X=None):
    """The leading eigenvectors of the random walk on the graph; see ``initialization.spectral_start``.

    Large pieces are computed on the device and small ones by the CPU. Pieces of less than a ten-thousandth of
    the points start as a ball: thousands of them would take longer than all the rest, and the layout unfolds
    them in a few epochs.
    """
    cp = cupy()
    n = len(graph)
    count, roots = pieces(graph)
    if count == 1:
        return _piece_start(graph, dimensions, seed, threads)
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
        shapes[begin:end] = _fit_ball(_piece_start(part(begin, end), dimensions, seed, threads))
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


def _piece_start(graph: Graph, dimensions: int, seed: int, threads: int):
    """Coordinates of a connected graph; see ``initialization.component_start``, which says why."""
    cp = cupy()
    n = len(graph)
    if n <= _FEW:
        here = sys.modules[__name__]
        return cp.asarray(initialization.component_start(host_graph(graph), dimensions, seed, threads, here))
    root_degree = cp.empty(n, cp.float32)
    load_kernels("spectrum").get_function("root_degrees")(
        (math.ceil(n / 32),), (256,), (graph.offsets, graph.weights, np.int32(n), root_degree)
    )
    for more in (0, 4, 12):
        asked = min(dimensions + more, n - 1)
        found = spectral_coordinates(graph, asked, seed, threads) / root_degree[:, None]
        low, high = cp.quantile(found, cp.asarray([0.005, 0.995]), axis=0)
        length = high - low
        telling = cp.asnumpy(length >= 0.05 * cp.ptp(found, axis=0))
        if np.count_nonzero(telling) >= dimensions or asked == n - 1:
            break
    found = cp.clip(found, low - length, high + length).astype(cp.float32)
    kept = np.argsort(~telling, kind="stable")[:dimensions]
    return _widen(found[:, cp.asarray(kept)], dimensions, seed)


def _mean_rows(X, labels, count: int) -> np.ndarray:
    """The mean row of X of every piece: (count, columns)."""
    means = cupy().zeros((count, X.shape[1]), np.float32)
    group_means(X, labels, means)
    return to_host(means)


def scale_start(Y, extent: Extent, size: float, seed: int):
    """As ``initialization.scale_start``, with the same jitter, on the device: (n, dimensions) float32."""
    cp = cupy()
    Y = Y.astype(cp.float64)
    Y -= Y.mean(axis=0)
    width = float(cp.abs(Y).max())
    random = cp.asarray(np.random.default_rng([seed, 2]).uniform(-1, 1, Y.shape))
    if not width > 0 or not np.isfinite(width):
        Y = random
    else:
        Y /= width
        measure = cp.ptp(Y, axis=0).max() if extent is Extent.BOX else Y.std(axis=0).max()
        Y += initialization.JITTER * measure * random
    if extent is Extent.BOX:
        Y -= Y.min(axis=0)
        widest = float(Y.max())
    else:
        Y -= Y.mean(axis=0)
        widest = float(Y.std(axis=0).max())
    return (Y * (size / widest if widest > 0 else 1.0)).astype(cp.float32)


def _widen(Y, dimensions: int, seed: int):
    """Add columns of small noise up to the wanted number; on the CPU, which has the same noise."""
    if Y.shape[1] >= dimensions:
        return Y
    cp = cupy()
    return cp.asarray(initialization.widen(cp.asnumpy(Y), dimensions, seed))
