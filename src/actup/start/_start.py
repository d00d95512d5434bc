"""Where the points start: random, principal components, spectral coordinates of the graph, or landmarks.

Every function is deterministic: a seed gives the same bits at any number of threads.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from types import ModuleType

import numpy as np
from scipy.sparse import csr_matrix, issparse

from actup._engine import engine
from actup.graph._records import Graph
from actup.neighbors._cluster_search import SCALARS
from actup.neighbors._row_transforms import near_zero
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent, Initialization
from actup.start._components import place_components
from actup.start._landmarks import landmark_start, starts_at_landmarks

JITTER = 1e-4  # of the start's size: copies of one point must not share a place, or no force separates them
_NOISE = 1e-2  # of the widest axis: what an axis gets that the data cannot fill


def make_start(X, graph: Graph, recipe: Recipe, init, seed: int, threads: int, backend: ModuleType):
    """The points' first places, and how they were found.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, columns), or None
        The data, where the backend computes; None if only a graph or distances are known.
    graph : Graph
    recipe : Recipe
        Its ``initialization``, ``start_extent``, ``start_size`` and ``n_components``.
    init : array-like of shape (n, n_components), or None
        Places to use instead; see ``given_start``.
    seed, threads : int
    backend : module
        Computes the spectral coordinates and the places of landmarks. Its ``start``, if it has one, is a
        module with the ``*_start`` functions of this one.

    Returns
    -------
    Y : array of shape (n, n_components), float32
        Where the backend computes.
    used : str
        "spectral", "pca", "random" or "array"; with a reason if it is not just what the recipe asked for.
    """
    own = getattr(backend, "start", sys.modules[__name__])
    if init is not None:
        return own.given_start(init, len(graph), recipe, seed)
    kind, reason = recipe.initialization, ""
    Y = None
    if kind is Initialization.PCA and X is None:
        kind, reason = Initialization.SPECTRAL, "there are no rows to take components of"
    if kind is Initialization.SPECTRAL:
        if X is not None and not issparse(X) and starts_at_landmarks(recipe, len(X)):
            begin_at = partial(make_start, backend=backend)
            Y, count = landmark_start(X, recipe, seed, threads, backend, begin_at)
            reason = f"of a map of {count} landmarks"
        elif len(graph.indices):
            Y = own.spectral_start(graph, recipe.n_components, seed, threads, backend, X)
        else:
            kind, reason = Initialization.PCA, "the graph has no edges"
    if kind is Initialization.PCA:
        if X is None:
            kind = Initialization.RANDOM
        else:
            Y = own.pca_start(X, recipe.n_components, seed, threads)
    if Y is None:
        Y = own.random_start(len(graph), recipe.n_components, seed)
    used = f"{kind} ({reason})" if reason else str(kind)
    return own.scale_start(Y, recipe.start_extent, recipe.start_size, seed), used


def random_start(n: int, dimensions: int, seed: int) -> np.ndarray:
    """Uniform places in the cube from -1 to 1.

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    return np.random.default_rng([seed, 1]).uniform(-1, 1, (n, dimensions)).astype(np.float32)


def pca_start(X, dimensions: int, seed: int, threads: int) -> np.ndarray:
    """The scores along the leading principal components of the rows; small noise where there are too few.

    Parameters
    ----------
    X : ndarray or scipy.sparse matrix of shape (n, columns)
    dimensions, seed, threads : int

    Returns
    -------
    ndarray of shape (n, dimensions), float32
        Widest axis first; the component's largest entry is positive.
    """
    kept = min(dimensions, *X.shape)
    if issparse(X):
        X = csr_matrix(X, dtype=np.float32)
        offsets, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
        scores, _ = engine.sparse_principal_scores(
            offsets, indices, X.data, columns=X.shape[1], dimensions=kept, seed=seed, threads=threads
        )
    else:
        X = np.ascontiguousarray(X if X.dtype.type in SCALARS else near_zero(X))
        shift = X[:: max(1, len(X) // 1000)].mean(axis=0, dtype=np.float64).astype(np.float32)
        scores, _ = engine.principal_scores(X, shift, dimensions=kept, seed=seed, threads=threads)
    return widen(scores, dimensions, seed)


def spectral_start(
    graph: Graph, dimensions: int, seed: int, threads: int, backend: ModuleType, X=None
) -> np.ndarray:
    """The leading eigenvectors of the random walk on the graph (Laplacian eigenmaps).

    A graph in several pieces gets such coordinates piece by piece; the pieces are put where the principal
    components of their mean rows of X say, or close together if there is no X, and do not overlap.

    Parameters
    ----------
    graph : Graph
    dimensions, seed, threads : int
    backend : module
        Its ``spectral_coordinates`` is used.
    X : ndarray or scipy.sparse matrix of shape (n, columns), optional

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    def coordinates(part: Graph) -> np.ndarray:
        return component_start(part, dimensions, seed, threads, backend)

    if len(graph) == 1:
        return np.zeros((1, dimensions), np.float32)
    reached = breadth_first_order(graph.to_scipy(), 0, return_predecessors=False)
    if len(reached) == len(graph):  # as nearly always, and sooner known than all components
        return coordinates(graph)
    count, labels = connected_components(graph.to_scipy(), directed=False)
    centers = None
    if X is not None:
        centers = pca_start(_mean_rows(X, labels, count), dimensions, seed, threads)
    return place_components(graph, labels, count, dimensions, coordinates, centers, seed)


def scale_start(Y: np.ndarray, extent: Extent, size: float, seed: int = 0) -> np.ndarray:
    """Scale a start to its size, and jitter it by a ten-thousandth so that no two points share a place.

    Parameters
    ----------
    Y : ndarray of shape (n, dimensions)
    extent : Extent
        ``BOX``: each axis starts at 0 and the longest side is ``size``. ``DEVIATION``: the mean is 0 and the
        widest axis has the standard deviation ``size``.
    size : float
    seed : int
        Of the jitter, and of random places if all points are equal.

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    axes = np.array(np.transpose(Y), np.float64, order="C")  # (dimensions, n), along which sums are fast
    axes -= axes.mean(axis=1, keepdims=True)
    width = np.abs(axes).max(initial=0.0)
    random = np.random.default_rng([seed, 2]).uniform(-1, 1, np.shape(Y)).T
    if not width > 0 or not np.isfinite(width):
        axes = random
    else:
        axes /= width
        measure = np.ptp(axes, axis=1).max() if extent is Extent.BOX else axes.std(axis=1).max()
        axes += JITTER * measure * random
    if extent is Extent.BOX:
        axes = axes - axes.min(axis=1, initial=np.inf, keepdims=True)
        widest = axes.max(initial=0.0)
    else:
        axes = axes - axes.mean(axis=1, keepdims=True)
        widest = axes.std(axis=1).max()
    factor = size / widest if widest > 0 else 1.0
    return np.ascontiguousarray((axes * factor).T, np.float32)


def given_start(init, n: int, recipe: Recipe, seed: int) -> tuple[np.ndarray, str]:
    """The caller's places, checked, and what became of them.

    They are used as given, in their own scale, with two exceptions. Rows that equal an earlier one are moved
    a little, because no force could separate them. A start several times as wide as the recipe's maps are is
    scaled like the recipe's own starts, because forces over such distances are too weak to move the points.

    Returns
    -------
    Y : ndarray of shape (n, dimensions), float32
    used : str
        "array", with the former size if it was scaled.
    """
    dimensions = recipe.n_components
    try:
        with np.errstate(over="ignore"):  # refused below, by name
            Y = np.array(init, dtype=np.float32, order="C")
    except (TypeError, ValueError):
        raise TypeError(
            f"init={init!r} must be an array of numbers of shape (n_samples, n_components)"
        ) from None
    if Y.shape != (n, dimensions):
        raise ValueError(
            f"init has shape {Y.shape} but {n} samples in {dimensions} dimensions need {(n, dimensions)}: "
            "give one row per sample and n_components columns"
        )
    if not np.isfinite(Y).all():
        raise ValueError("init contains NaN or values too large for float32: give finite coordinates")
    order = np.lexsort(Y.T)
    copies = order[1:][(Y[order[1:]] == Y[order[:-1]]).all(axis=1)]
    if len(copies):
        width = np.ptp(Y, axis=0).max() or 1.0
        moves = np.random.default_rng([seed, 3]).uniform(-1, 1, (len(copies), dimensions))
        Y[np.sort(copies)] += (JITTER * width * moves).astype(np.float32)
    radius = math.sqrt(Y.var(axis=0, dtype=np.float64).sum())
    if radius > _widest(recipe, n):
        used = f"array (scaled down: its radius of {radius:.3g} is too wide to move from)"
        return scale_start(Y, recipe.start_extent, recipe.start_size, seed), used
    return Y, "array"


def _widest(recipe: Recipe, n: int) -> float:
    """The root-mean-square radius up to which a start is left as it is; maps are hardly ever wider."""
    a, b = recipe.kernel()
    unit = max(1.0, a ** (-1 / (2 * b)))  # where the kernel has fallen to one half
    return unit * (100 + 1.5 * math.sqrt(n) if recipe.normalized else 40)


def widen(Y: np.ndarray, dimensions: int, seed: int) -> np.ndarray:
    """Add columns of small noise up to the wanted number."""
    missing = dimensions - Y.shape[1]
    if missing <= 0:
        return Y
    deviation = float(Y.std(axis=0).max(initial=0.0)) or 1.0
    noise = np.random.default_rng([seed, 4]).uniform(-1, 1, (len(Y), missing))
    return np.hstack([Y, (_NOISE * deviation * noise).astype(np.float32)])


def component_start(graph: Graph, dimensions: int, seed: int, threads: int, backend: ModuleType):
    """Coordinates of a connected graph: eigenvectors of its random walk that tell many points apart.

    Dividing by the root of the degree turns the backend's vectors into those of the walk, in which neighbours
    are close whatever their degrees: clusters become clumps, not rays. A vector that singles out a handful of
    points, which hang on the rest by a thread, would press all others onto one spot; the next ones take its
    place, and milder outliers are clipped.
    """
    sums = np.concatenate([[0.0], np.cumsum(graph.weights, dtype=np.float64)])
    degree = sums[graph.offsets[1:]] - sums[graph.offsets[:-1]]
    root_degree = np.sqrt(np.where(degree > 0, degree, 1.0))  # without one, the vectors are 0
    for more in (0, 4, 12):
        asked = min(dimensions + more, len(graph) - 1)
        found = backend.spectral_coordinates(graph, asked, seed, threads) / root_degree[:, None]
        low, high = np.quantile(found, [0.005, 0.995], axis=0)
        length = high - low
        telling = length >= 0.05 * np.ptp(found, axis=0)
        if np.count_nonzero(telling) >= dimensions or asked == len(graph) - 1:
            break
    found = np.clip(found, low - length, high + length).astype(np.float32)
    kept = np.argsort(~telling, kind="stable")[:dimensions]
    return widen(found[:, kept], dimensions, seed)


def _mean_rows(X, labels: np.ndarray, count: int):
    """The mean row of X of every component: (count, columns), sparse if X is."""
    sizes = np.bincount(labels, minlength=count)
    members = np.argsort(labels, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    shares = np.repeat(1.0 / sizes, sizes)
    return csr_matrix((shares, members, offsets), shape=(count, len(labels))) @ X
