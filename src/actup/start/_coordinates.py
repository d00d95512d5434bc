"""Coordinates to start from, computed on the CPU: random, principal components, spectral, or given.

Every function is deterministic: a seed gives the same bits at any number of threads.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from actup._csr import WIDE_COLUMNS, ids_ascend, nonempty_columns
from actup._device import to_host
from actup._elementary import power
from actup._engine import engine
from actup._errors import WrongType
from actup._typing import CsrMatrix, Rows
from actup._values import to_floats
from actup._warnings import warn_user
from actup.graph._records import Graph
from actup.neighbors._chunks import row_chunks
from actup.neighbors._row_transforms import center_far_columns
from actup.neighbors._rows import ENGINE_TYPES, reject_unsuitable_types
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent
from actup.start._components import place_components

# Of the start's size. Duplicates of one point must not share a place: no force could separate them.
JITTER = 1e-4
_FAR_FACTOR = 100  # given places are far from 0 if their centre exceeds this multiple of their width
_FLAT_SHARE = 1e-6  # of the largest width: given places that spread less in some direction are flat
_SAFE_EXPONENT = 40  # of rows: their squares, and the squares' products, lie well within float32
_MAX_EXPONENT = 120  # of scores; float32 ends at 128
_FILL_NOISE = 1e-2  # of the widest axis, for axes that the data cannot fill

_CHUNK_VALUES = 2**17  # that are held in double precision at a time
_MAX_GRAM_ROWS = 1024  # up to here, rows of very many columns are compared by their inner products

# A vector tells points apart if its central 99 % spread over at least this share of its range.
MIN_CENTRAL_SHARE = 0.05
CENTRAL_QUANTILES = (0.005, 0.995)
EXTRA_VECTORS = (
    0,
    4,
    12,
)  # eigenvectors asked for beyond the wanted ones, if those do not tell points apart

# (graph, dimensions, seed, threads) -> eigenvectors (n, dimensions)
SpectralSolver = Callable[[Graph, int, int, int], np.ndarray]


def random_start(n: int, dimensions: int, seed: int) -> np.ndarray:
    """Uniform places in the cube from -1 to 1.

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    return np.random.default_rng([seed, 1]).uniform(-1, 1, (n, dimensions)).astype(np.float32)


def pca_start(X: Rows, dimensions: int, seed: int, threads: int) -> np.ndarray:
    """The scores along the leading principal components of the rows; small noise where there are too few.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, columns)
    dimensions, seed, threads : int

    Returns
    -------
    ndarray of shape (n, dimensions), float32
        Widest axis first; the largest entry of each axis is positive.
    """
    kept = min(dimensions, *X.shape)
    if issparse(X):
        is_wide = X.shape[1] > WIDE_COLUMNS and X.shape[0] <= _MAX_GRAM_ROWS
        X = csr_matrix(_without_empty_columns(X), dtype=np.float32)
        if is_wide:
            return fill_axes(_gram_scores(X, kept, seed, threads), dimensions, seed)
    return fill_axes(principal_scores(X, kept, seed, threads), dimensions, seed)


def principal_scores(X: Rows, dimensions: int, seed: int, threads: int) -> np.ndarray:
    """The scores of rows, dense or sparse, along their principal axes, whatever the scale of the rows.

    ``dimensions`` is at most the number of columns.
    """
    if abs(_exponent(_some_values(X))) <= _SAFE_EXPONENT:
        scores = _scores(X, dimensions, seed, threads)
        if np.isfinite(scores).all():
            return scores
    return _scaled_scores(X, dimensions, seed, threads)


def _some_values(X: Rows) -> np.ndarray:
    values = X.data if issparse(X) else X
    return np.asarray(values[:: max(1, len(values) // 1000)])


def _exponent(X: np.ndarray) -> int:
    """The exponent of the largest magnitude; 0 if there is none."""
    return int(np.frexp(max(float(X.max(initial=0)), -float(X.min(initial=0))))[1])


def _scaled_scores(X: Rows, dimensions: int, seed: int, threads: int) -> np.ndarray:
    """The scores of rows whose squares may lie outside float32, if they lie within float32 themselves."""
    wide = X.astype(np.result_type(X.dtype, np.float32))
    values = wide.data if issparse(wide) else wide
    exponent = _exponent(values)
    np.ldexp(values, -exponent, out=values)
    scores = _scores(wide, dimensions, seed, threads)
    return np.asarray(np.ldexp(scores, np.clip(exponent, -_MAX_EXPONENT, _MAX_EXPONENT - _exponent(scores))))


def _scores(X: Rows, dimensions: int, seed: int, threads: int) -> np.ndarray:
    if issparse(X):
        offsets, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
        scores, _ = engine.sparse_principal_scores(
            offsets, indices, X.data, columns=X.shape[1], dimensions=dimensions, seed=seed, threads=threads
        )
    else:
        X = np.ascontiguousarray(X if X.dtype.type in ENGINE_TYPES else center_far_columns(X))
        shift = _some_values(X).mean(axis=0, dtype=np.float64).astype(np.float32)
        scores, _ = engine.principal_scores(X, shift, dimensions=dimensions, seed=seed, threads=threads)
    return np.asarray(scores)


def _without_empty_columns(X: CsrMatrix) -> CsrMatrix:
    """Sparse rows without most of their empty columns, if there are very many."""
    nonempty = nonempty_columns(X)
    return X if nonempty is None else nonempty.compress(X)


def _gram_scores(X: CsrMatrix, dimensions: int, seed: int, threads: int) -> np.ndarray:
    """The scores of few rows with very many columns, from the inner products of the rows.

    With X = U S Vᵀ after centring, the products are U S² Uᵀ: their scores are U S², those of X are U S.
    """
    doubles = X.astype(np.float64)
    scale = float(np.abs(doubles.data).max(initial=0.0)) or 1.0
    doubles.data /= scale
    products = (doubles @ doubles.T).toarray()
    products -= products.mean(axis=0)
    products -= products.mean(axis=1, keepdims=True)
    products = products.astype(np.float32)
    shift = np.zeros(len(products), np.float32)
    scores, _ = engine.principal_scores(products, shift, dimensions=dimensions, seed=seed, threads=threads)
    lengths = np.sqrt((scores.astype(np.float64) ** 2).sum(axis=0))
    return np.asarray(scores * (scale / np.sqrt(np.where(lengths > 0, lengths, 1.0))), np.float32)


class UninformativeVectors(Exception):
    """The leading eigenvectors tell only a few points apart, and another start would take less time."""


def spectral_start(
    graph: Graph,
    dimensions: int,
    seed: int,
    threads: int,
    solve: SpectralSolver,
    X: Rows | None = None,
    gives_up: bool = False,
) -> np.ndarray:
    """The leading eigenvectors of the random walk on the graph (Laplacian eigenmaps).

    A disconnected graph gets such coordinates component by component. The components are placed side by side
    without overlap, by the principal components of their mean rows of X, or close together if there is no X.

    Parameters
    ----------
    graph : Graph
    dimensions, seed, threads : int
    solve : callable
        A backend's ``spectral_coordinates``.
    X : ndarray or CSR matrix of shape (n, columns), optional
    gives_up : bool, default=False
        Whether to raise ``UninformativeVectors`` for a connected graph instead of solving for more vectors.

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    from scipy.sparse.csgraph import connected_components

    def coordinates(component: Graph) -> np.ndarray:
        return component_start(component, dimensions, seed, threads, solve)

    if len(graph) == 1:
        return np.zeros((1, dimensions), np.float32)
    if engine.is_connected(graph.offsets, graph.indices):  # nearly always
        return component_start(graph, dimensions, seed, threads, solve, gives_up)
    # All weights 1, which take no memory: the function would convert others to double precision.
    ones = np.broadcast_to(np.ones(1), len(graph.indices))
    pattern = csr_matrix((ones, graph.indices, graph.offsets), shape=(len(graph), len(graph)))
    # Of a symmetric graph, the strong components are all components, and take no transposed copy of it. SciPy
    # does not end their search if an id stands twice in a row.
    kind = "strong" if ids_ascend(graph.offsets, graph.indices) else "weak"
    count, labels = connected_components(pattern, directed=True, connection=kind)
    del pattern
    firsts = np.unique(labels, return_index=True)[1]
    labels = np.argsort(np.argsort(firsts)).astype(np.int32)[labels]  # numbered by their first points
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
    width = max(axes.max(initial=0.0), -axes.min(initial=0.0))
    random = np.random.default_rng([seed, 2]).uniform(-1, 1, np.shape(Y)).T
    if not width > 0 or not np.isfinite(width):
        axes = random
    else:
        axes /= width
        measure = np.ptp(axes, axis=1).max() if extent is Extent.BOX else axes.std(axis=1).max()
        axes += JITTER * measure * random
    if extent is Extent.BOX:
        axes -= axes.min(axis=1, initial=np.inf, keepdims=True)
        widest = axes.max(initial=0.0)
    else:
        axes -= axes.mean(axis=1, keepdims=True)
        widest = axes.std(axis=1).max()
    axes *= size / widest if widest > 0 else 1.0
    return np.ascontiguousarray(axes.T, np.float32)


def given_start(init: Any, n: int, recipe: Recipe, seed: int) -> tuple[np.ndarray, str]:
    """The caller's places, checked, and what became of them.

    They are used as given, in their own scale, with four exceptions. Places far from 0 are moved there,
    because float32 could not tell near places apart. Rows that equal an earlier one are moved by a
    ten-thousandth of the width, because no force could separate them. Places on one line (or plane, in three
    dimensions) are all moved that much, with a warning, because no force leads away from it. A start several
    times as wide as the recipe's maps are is scaled like the recipe's own starts, because forces over such
    distances are too weak to move the points.

    Returns
    -------
    Y : ndarray of shape (n, dimensions), float32
    used : str
        "array", with what was changed.
    """
    dimensions = recipe.n_components
    places, changes = read_places(init, n, dimensions), []
    low, high = places.min(axis=0), places.max(axis=0)
    center = (low + high) / 2
    if np.abs(center).max() > _FAR_FACTOR * (high - low).max():
        places = places - center
        changes.append(f"moved to 0: its centre was {np.linalg.norm(center):.3g} away")
    Y = np.array(places, np.float32, order="C")
    order = np.lexsort(Y.T)
    duplicates = order[1:][(Y[order[1:]] == Y[order[:-1]]).all(axis=1)]
    if len(duplicates):
        width = np.ptp(Y, axis=0).max() or 1.0
        moves = np.random.default_rng([seed, 3]).uniform(-1, 1, (len(duplicates), dimensions))
        Y[np.sort(duplicates)] += (JITTER * width * moves).astype(np.float32)
    if n > dimensions > 1 and _is_flat(places):
        warn_user(
            "init has no spread in one direction, and no force leads away from such a line or plane: all "
            f"points are moved by up to {JITTER} of its width; add noise to init for more"
        )
        moves = np.random.default_rng([seed, 5]).uniform(-1, 1, Y.shape)
        Y += (JITTER * np.ptp(Y, axis=0).max() * moves).astype(np.float32)
        changes.append("jittered: it had no spread in one direction")
    radius = math.sqrt(Y.var(axis=0, dtype=np.float64).sum())
    if radius > _max_radius(recipe, n):
        changes.append(f"scaled down: its radius of {radius:.3g} is too wide to move from")
        Y = scale_start(Y, recipe.start_extent, recipe.start_size, seed)
    return Y, f"array ({'; '.join(changes)})" if changes else "array"


def _is_flat(places: np.ndarray) -> bool:
    """Whether different places lie on one line, plane or other flat space of fewer dimensions."""
    widths = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(widths[0] > 0 and widths[-1] < _FLAT_SHARE * widths[0])


def read_places(init: Any, n: int, dimensions: int, allow_missing: bool = False) -> np.ndarray:
    """The caller's places as (n, dimensions) float64, checked: real numbers that fit float32.

    ``allow_missing``: whether a point may have no place, a row of NaN.
    """
    reject_unsuitable_types(init, "init")
    places = to_floats(
        to_host(init),
        "init",
        lambda: WrongType(
            f"init={_short_repr(init)} must be an array of numbers of shape (n_samples, n_components): "
            "fill or convert other values"
        ),
    )
    if places.shape != (n, dimensions):
        raise ValueError(
            f"init has shape {places.shape} but {n} samples in {dimensions} dimensions need "
            f"{(n, dimensions)}: give one row per sample and n_components columns"
        )
    missing = np.isnan(places).all(axis=1, keepdims=True) & allow_missing
    if not ((np.abs(places) <= np.finfo(np.float32).max) | missing).all():
        raise ValueError("init contains NaN or values too large for float32: give finite coordinates")
    return places


def _short_repr(init: Any) -> str:
    """What the caller gave, in one line of an error."""
    shape = getattr(init, "shape", None)
    return reprlib.repr(init) if shape is None else f"<{type(init).__name__} of shape {tuple(shape)}>"


def _max_radius(recipe: Recipe, n: int) -> float:
    """The root-mean-square radius up to which a start keeps its scale; maps are hardly ever wider."""
    a, b = recipe.kernel()
    unit = max(1.0, float(power(a, -1 / (2 * b))))  # the distance at which the kernel has fallen to one half
    return float(unit * (100 + 1.5 * math.sqrt(n) if recipe.normalized else 40))


def fill_axes(Y: np.ndarray, dimensions: int, seed: int) -> np.ndarray:
    """Add columns of small noise until there are as many as dimensions."""
    missing = dimensions - Y.shape[1]
    if missing <= 0:
        return Y
    with np.errstate(over="ignore"):
        deviation = float(Y.std(axis=0).max(initial=0.0))
    if not 0 < deviation < np.inf:  # the squares may lie outside float32
        deviation = float(Y.std(axis=0, dtype=np.float64).max(initial=0.0)) or 1.0
    noise = np.random.default_rng([seed, 4]).uniform(-1, 1, (len(Y), missing))
    return np.hstack([Y, (_FILL_NOISE * deviation * noise).astype(np.float32)])


def component_start(
    graph: Graph, dimensions: int, seed: int, threads: int, solve: SpectralSolver, gives_up: bool = False
) -> np.ndarray:
    """Coordinates of a connected graph: eigenvectors of its random walk that tell many points apart.

    The solver's vectors over the roots of the degrees are those of the random walk, in which neighbours are
    close whatever their degrees: clusters become clumps, not rays. A vector that singles out a handful of
    loosely connected points would press all others onto one spot; the next vectors take its place, and milder
    outliers are clipped.
    """
    degree = engine.degrees(graph.offsets, graph.indices, graph.weights)
    root_degree = np.sqrt(np.where(degree > 0, degree, 1.0))  # points without edges have vectors of 0
    for extra in EXTRA_VECTORS:
        asked = min(dimensions + extra, len(graph) - 1)
        # (asked, n): NumPy is fast along points
        found = np.ascontiguousarray(solve(graph, asked, seed, threads).T) / root_degree
        low, high = np.quantile(found, CENTRAL_QUANTILES, axis=1)
        length = high - low
        informative = length >= MIN_CENTRAL_SHARE * np.ptp(found, axis=1)
        if np.count_nonzero(informative) >= dimensions or asked == len(graph) - 1:
            break
        if gives_up:
            raise UninformativeVectors
    found = np.clip(found, (low - length)[:, None], (high + length)[:, None]).astype(np.float32)
    kept = np.argsort(~informative, kind="stable")[:dimensions]
    return fill_axes(np.ascontiguousarray(found[kept].T), dimensions, seed)


def _mean_rows(X: Rows, labels: np.ndarray, count: int) -> Rows:
    """The mean row of X of every connected component: (count, columns), sparse if X is."""
    sizes = np.bincount(labels, minlength=count)
    if not issparse(X):
        sums = np.zeros((count, X.shape[1]))
        for chunk in row_chunks(X, _CHUNK_VALUES):  # X in double precision may not fit into memory
            np.add.at(sums, labels[chunk], X[chunk].astype(np.float64))
        return sums / sizes[:, None]
    members = np.argsort(labels, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(labels))  # a product with 1 is exact, so that no processor can fuse it with the sum
    means = csr_matrix((ones, members, offsets), shape=(count, len(labels))) @ _without_empty_columns(X)
    means.data /= np.repeat(sizes, np.diff(means.indptr))
    return means
