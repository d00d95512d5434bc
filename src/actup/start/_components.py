"""Places the pieces of a disconnected graph beside each other, without overlap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from actup.graph._records import Graph

SMALL = 8  # pieces below this size are a seeded ball instead of spectral coordinates
_PACKED = 400  # at most so many pieces, none of them small, are packed; the others are dust between them
FILLED = 0.9  # of a piece's ball that its points may use


def place_components(
    graph: Graph,
    labels: np.ndarray,
    count: int,
    dimensions: int,
    coordinates: Callable[[Graph], np.ndarray],
    centers: np.ndarray | None,
    seed: int,
) -> np.ndarray:
    """Coordinates of all points: each piece by itself in a ball, the balls side by side.

    A ball's volume is proportional to the number of its points, so that all are equally dense.

    Parameters
    ----------
    graph : Graph
    labels : ndarray of shape (n,)
        The piece of every point, 0 to ``count`` - 1.
    count, dimensions : int
    coordinates : callable
        From the graph of one piece to its coordinates, (size, dimensions).
    centers : ndarray of shape (count, dimensions), or None
        Where the pieces should be relative to each other; in any scale.
    seed : int

    Returns
    -------
    ndarray of shape (n, dimensions), float32
    """
    random = np.random.default_rng([seed, 5])
    sizes = np.bincount(labels, minlength=count)
    order, offsets, indices, weights = _sorted_by_piece(graph, labels)
    ends = np.cumsum(sizes)
    spectral = sizes >= max(SMALL, dimensions + 2)
    in_ball = ~spectral[labels[order]]
    shapes = np.zeros((len(graph), dimensions))
    shapes[in_ball] = random_in_ball(random, np.count_nonzero(in_ball), dimensions)
    for piece in np.flatnonzero(spectral):
        begin, end = ends[piece] - sizes[piece], ends[piece]
        edges = slice(offsets[begin], offsets[end])
        part = Graph(offsets[begin : end + 1] - offsets[begin], indices[edges] - begin, weights[edges])
        shapes[begin:end] = fit_ball(coordinates(part))
    places, radii = pack_balls(sizes, dimensions, centers, random)
    piece_of = labels[order]
    shapes[sizes[piece_of] == 1] = 0
    Y = np.empty((len(graph), dimensions), np.float32)
    Y[order] = places[piece_of] + FILLED * radii[piece_of, None] * shapes
    return Y


def _sorted_by_piece(graph: Graph, labels: np.ndarray):
    """The graph with the points of a piece side by side: order[new] = old, offsets, indices, weights."""
    order = np.argsort(labels, kind="stable")
    position = np.empty(len(graph), np.int32)
    position[order] = np.arange(len(graph), dtype=np.int32)
    lengths = np.diff(graph.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    edges = np.arange(offsets[-1]) + np.repeat(graph.offsets[order] - offsets[:-1], lengths)
    return order, offsets, position[graph.indices[edges]], graph.weights[edges]


def random_in_ball(random: np.random.Generator, n: int, dimensions: int) -> np.ndarray:
    directions = _directions(random, n, dimensions)
    return directions * random.uniform(size=(n, 1)) ** (1 / dimensions)


def _directions(random: np.random.Generator, n: int, dimensions: int) -> np.ndarray:
    directions = random.normal(size=(n, dimensions))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def fit_ball(Y: np.ndarray) -> np.ndarray:
    """Shift and scale into the unit ball."""
    Y = Y - (Y.min(axis=0) + Y.max(axis=0)) / 2
    radius = np.linalg.norm(Y, axis=1).max()
    return Y / radius if radius > 0 else Y


def pack_balls(sizes: np.ndarray, dimensions: int, centers, random: np.random.Generator):
    """Centres (count, dimensions) and radii (count,) of the pieces' balls.

    From the middle outwards, each takes the first free place on the ray from the origin through the centre it
    wants, not before that.
    """
    count = len(sizes)
    radii = sizes ** (1 / dimensions)
    whole = sizes.sum() ** (1 / dimensions)
    by_size = np.argsort(-sizes, kind="stable")
    packed = by_size[: min(_PACKED, np.count_nonzero(sizes >= SMALL))]
    directions = _directions(random, count, dimensions)
    if centers is None:
        wanted = whole * random.uniform(size=count) ** (1 / dimensions)
        wanted[packed] = 0  # huddle in the middle
    else:
        centers = centers - np.average(centers, axis=0, weights=sizes)
        wanted = np.linalg.norm(centers, axis=1)
        known = wanted > 0
        directions[known] = centers[known] / wanted[known, None]
        wanted *= 1.5 * whole / max(np.sqrt(np.mean(wanted**2)), np.finfo(float).tiny)
    places = np.zeros((count, dimensions))
    outwards = packed[np.argsort((wanted - radii)[packed], kind="stable")]
    for rank, piece in enumerate(outwards):
        placed = outwards[:rank]
        clear = (radii[placed] + radii[piece])[None, :]
        reach = _first_free(directions[[piece]], wanted[[piece]], places[placed], clear)
        places[piece] = reach[0] * directions[piece]
    if len(packed) < count:
        _scatter_dust(by_size[len(packed) :], packed, places, radii, directions, wanted, random)
    return places, radii


def _first_free(directions, wanted, centers, clear) -> np.ndarray:
    """For each ray, the smallest distance >= wanted at which it is ``clear`` of every centre.

    directions (rays, dimensions), wanted (rays,), centers (balls, dimensions), clear (rays, balls) -> (rays,)
    """
    along = np.einsum("rd,bd->rb", directions, centers)  # not @: a threaded BLAS may change its bits
    half = np.sqrt(np.maximum(0, along**2 - (centers**2).sum(axis=1) + clear**2))
    reach = wanted.copy()
    for _ in range(centers.shape[0]):  # each turn leaves at least one ball behind for good
        inside = (along - half < reach[:, None]) & (reach[:, None] < along + half)
        if not inside.any():
            break
        reach = np.maximum(reach, np.where(inside, along + half, -np.inf).max(axis=1) * (1 + 1e-9))
    return reach


def _scatter_dust(dust, packed, places, radii, directions, wanted, random) -> None:
    """Place the many small pieces clear of the large ones; they shrink to keep clear of each other."""
    from scipy.spatial import cKDTree

    dimensions = places.shape[1]
    extent = (np.linalg.norm(places[packed], axis=1) + radii[packed]).max(initial=0.0)
    shell = (extent**dimensions + 2 * (radii[dust] ** dimensions).sum()) ** (1 / dimensions) - extent
    margin = radii[dust] + shell * random.uniform(size=len(dust))
    for begin in range(0, len(dust), 4096):
        rays = dust[begin : begin + 4096]
        clear = radii[packed][None, :] + margin[begin : begin + 4096, None]
        reach = _first_free(directions[rays], wanted[rays], places[packed], clear)
        places[rays] = reach[:, None] * directions[rays]
    nearest = cKDTree(places[dust]).query(places[dust], k=min(2, len(dust)))[0].reshape(len(dust), -1)[:, -1]
    radii[dust] = np.minimum(radii[dust], nearest / 2) if len(dust) > 1 else radii[dust]
