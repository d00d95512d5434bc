"""Place the components of a disconnected graph side by side, without overlap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from actup._elementary import cos, log, power
from actup.graph._records import Graph

SMALL_COMPONENT = 8  # components with fewer points are random balls instead of spectral coordinates
_MAX_PACKED = 400  # components that are packed as balls; the others are scattered between them
FILLED_SHARE = 0.9  # of the radius of a component's ball, which its points may use
_CHUNK_POINTS = 2**11  # points whose edges are sorted at a time
_CHUNK_COMPONENTS = 4096  # components that are scattered at a time


def place_components(
    graph: Graph,
    labels: np.ndarray,
    count: int,
    dimensions: int,
    coordinates: Callable[[Graph], np.ndarray],
    centers: np.ndarray | None,
    seed: int,
) -> np.ndarray:
    """Coordinates of all points: each component by itself in a ball, the balls side by side.

    A ball's volume is proportional to the number of its points, so that all are equally dense.

    Parameters
    ----------
    graph : Graph
    labels : ndarray of shape (n,)
        The component of every point, 0 to ``count`` - 1.
    count, dimensions : int
    coordinates : callable
        From the graph of one component to its coordinates, (size, dimensions).
    centers : ndarray of shape (count, dimensions), or None
        Where the components should be relative to each other; in any scale.
    seed : int

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    random = np.random.default_rng([seed, 5])
    sizes = np.bincount(labels, minlength=count)
    order, offsets, indices, weights = _sorted_by_component(graph, labels)
    ends = np.cumsum(sizes)
    spectral = sizes >= max(SMALL_COMPONENT, dimensions + 2)
    in_ball = ~spectral[labels[order]]
    shapes = np.zeros((len(graph), dimensions))
    shapes[in_ball] = random_in_ball(random, int(np.count_nonzero(in_ball)), dimensions)
    for component in np.flatnonzero(spectral):
        begin, end = ends[component] - sizes[component], ends[component]
        edges = slice(offsets[begin], offsets[end])
        part = Graph(offsets[begin : end + 1] - offsets[begin], indices[edges] - begin, weights[edges])
        shapes[begin:end] = fit_ball(coordinates(part))
    places, radii = pack_balls(sizes, dimensions, centers, random)
    component_of = labels[order]
    shapes[sizes[component_of] == 1] = 0
    Y = np.empty((len(graph), dimensions), np.float32)
    Y[order] = places[component_of] + FILLED_SHARE * radii[component_of, None] * shapes
    return Y


def _sorted_by_component(
    graph: Graph, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The graph with the points of a component side by side: order[new] = old, offsets, indices, weights."""
    order = np.argsort(labels, kind="stable")
    position = np.empty(len(graph), np.int32)
    position[order] = np.arange(len(graph), dtype=np.int32)
    lengths = np.diff(graph.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(offsets[-1], np.int32)
    weights = np.empty(offsets[-1], np.float32)
    for begin in range(0, len(order), _CHUNK_POINTS):
        points = slice(begin, min(begin + _CHUNK_POINTS, len(order)))
        first, last = offsets[points.start], offsets[points.stop]
        shifts = np.repeat(graph.offsets[order[points]] - offsets[points], lengths[points])
        edges = np.arange(first, last) + shifts
        indices[first:last] = position[graph.indices[edges]]
        weights[first:last] = graph.weights[edges]
    return order, offsets, indices, weights


def random_in_ball(random: np.random.Generator, n: int, dimensions: int) -> np.ndarray:
    """Uniform points in the unit ball: (n, dimensions)."""
    directions = _directions(random, n, dimensions)
    places: np.ndarray = directions * power(random.uniform(size=(n, 1)), 1 / dimensions)
    return places


def _directions(random: np.random.Generator, n: int, dimensions: int) -> np.ndarray:
    # Normal draws by the Box-Muller transform: those of NumPy depend on the mathematical library.
    lengths, angles = random.uniform(size=(2, n, dimensions))
    directions = np.sqrt(-2 * log(1 - lengths)) * cos(2 * np.pi * angles)
    unit: np.ndarray = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return unit


def fit_ball(Y: np.ndarray) -> np.ndarray:
    """Shift and scale into the unit ball."""
    Y = Y - (Y.min(axis=0) + Y.max(axis=0)) / 2
    radius = np.linalg.norm(Y, axis=1).max()
    return Y / radius if radius > 0 else Y


def pack_balls(
    sizes: np.ndarray, dimensions: int, centers: np.ndarray | None, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Centres (count, dimensions) and radii (count,) of the components' balls.

    From the middle outwards, each ball takes the first free place on the ray from the origin through its
    wanted centre, at the wanted distance or beyond.
    """
    count = len(sizes)
    radii = power(sizes, 1 / dimensions)
    whole = float(power(sizes.sum(), 1 / dimensions))
    by_size = np.argsort(-sizes, kind="stable")
    packed = by_size[: min(_MAX_PACKED, np.count_nonzero(sizes >= SMALL_COMPONENT))]
    directions = _directions(random, count, dimensions)
    if centers is None:
        wanted = whole * power(random.uniform(size=count), 1 / dimensions)
        wanted[packed] = 0  # all as close to the middle as they fit
    else:
        centers = centers - np.average(centers, axis=0, weights=sizes)
        wanted = np.linalg.norm(centers, axis=1)
        known = wanted > 0
        directions[known] = centers[known] / wanted[known, None]
        spread = np.sqrt(np.mean(wanted**2))
        if spread > np.finfo(float).tiny:
            wanted *= 1.5 * whole / spread
    places = np.zeros((count, dimensions))
    outwards = packed[np.argsort((wanted - radii)[packed], kind="stable")]
    for rank, component in enumerate(outwards):
        placed = outwards[:rank]
        clear = (radii[placed] + radii[component])[None, :]
        reach = _first_free(directions[[component]], wanted[[component]], places[placed], clear)
        places[component] = reach[0] * directions[component]
    if len(packed) < count:
        _scatter_small(by_size[len(packed) :], packed, places, radii, directions, wanted, random)
    return places, radii


def _first_free(
    directions: np.ndarray, wanted: np.ndarray, centers: np.ndarray, clear: np.ndarray
) -> np.ndarray:
    """For each ray, the smallest distance >= wanted at which it is ``clear`` of every centre.

    directions (rays, dimensions), wanted (rays,), centers (balls, dimensions), clear (rays, balls) -> (rays,)
    """
    # Neither @ nor einsum, which fuse products and sums on some processors.
    along = sum(np.multiply.outer(ray, center) for ray, center in zip(directions.T, centers.T, strict=True))
    half = np.sqrt(np.maximum(0, along**2 - (centers**2).sum(axis=1) + clear**2))
    reach = wanted.copy()
    for _ in range(centers.shape[0]):  # each turn passes at least one ball for good
        inside = (along - half < reach[:, None]) & (reach[:, None] < along + half)
        if not inside.any():
            break
        reach = np.maximum(reach, np.where(inside, along + half, -np.inf).max(axis=1) * (1 + 1e-9))
    return reach


def _scatter_small(
    small: np.ndarray,
    packed: np.ndarray,
    places: np.ndarray,
    radii: np.ndarray,
    directions: np.ndarray,
    wanted: np.ndarray,
    random: np.random.Generator,
) -> None:
    """Place small components clear of the packed ones; their balls shrink to keep clear of each other."""
    from scipy.spatial import cKDTree

    dimensions = places.shape[1]
    extent = (np.linalg.norm(places[packed], axis=1) + radii[packed]).max(initial=0.0)
    volume = power(extent, dimensions) + 2 * power(radii[small], dimensions).sum()
    shell = float(power(volume, 1 / dimensions)) - extent
    margin = radii[small] + shell * random.uniform(size=len(small))
    for begin in range(0, len(small), _CHUNK_COMPONENTS):
        rays = small[begin : begin + _CHUNK_COMPONENTS]
        clear = radii[packed][None, :] + margin[begin : begin + _CHUNK_COMPONENTS, None]
        reach = _first_free(directions[rays], wanted[rays], places[packed], clear)
        places[rays] = reach[:, None] * directions[rays]
    if len(small) > 1:
        nearest = small[cKDTree(places[small]).query(places[small], k=2)[1][:, 1]]
        gaps = np.linalg.norm(places[small] - places[nearest], axis=1)
        radii[small] = np.minimum(radii[small], gaps / 2)
