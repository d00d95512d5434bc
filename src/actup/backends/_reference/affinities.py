"""Affinities of the oracle: a bandwidth per point, p(j|i), and their symmetrisation to a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from actup.graph._records import Graph, Neighbors
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity, Distance, Symmetrization

_BISECTIONS = 256  # doublings or halvings up to any scale of distances, then one per bit of float64


def affinity_graph(neighbors: Neighbors, recipe: Recipe, threads: int = 1) -> Graph:
    """The symmetric graph of similarities, without the edges whose weights underflow float32.

    Parameters
    ----------
    neighbors : Neighbors
    recipe : Recipe
        Its affinity, distance, symmetrization, set_op_mix_ratio, local_connectivity, scales() and sigma.
    threads : int
        Ignored: the oracle runs on one thread.
    """
    n, k = neighbors.indices.shape
    conditional = directed_affinities(neighbors.distances.astype(np.float64), recipe)
    P = np.zeros((n, n))
    connected = np.isfinite(neighbors.distances).ravel()
    P[np.repeat(np.arange(n), k)[connected], neighbors.indices.ravel()[connected]] = conditional.ravel()[
        connected
    ]
    match recipe.symmetrization:
        case Symmetrization.UMAP:
            share = recipe.set_op_mix_ratio
            W = share * (P + P.T - P * P.T) + (1 - share) * P * P.T
        case Symmetrization.TSNE:
            W = (P + P.T) / 2
    W = W.astype(np.float32)
    rows, columns = np.nonzero(W)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Graph(offsets, columns, W[rows, columns])


def directed_affinities(distances: np.ndarray, recipe: Recipe) -> np.ndarray:
    """p(j|i) of every neighbour by the recipe's affinity: (n, k), 0 at infinite distances."""
    match recipe.affinity:
        case Affinity.UMAP:
            return umap_affinities(distances, recipe.distance, recipe.local_connectivity)
        case Affinity.GAUSSIAN | Affinity.MULTISCALE:
            of_scales = [gaussian_affinities(distances, u) for u in recipe.scales()]
            return np.asarray(np.mean(of_scales, axis=0))
        case Affinity.FIXED_SIGMA:
            assert recipe.sigma is not None
            return fixed_sigma_affinities(distances, recipe.sigma)
        case Affinity.UNIFORM:
            return np.asarray(np.isfinite(distances), np.float64)


def umap_affinities(distances: np.ndarray, distance: Distance, local_connectivity: float = 1.0) -> np.ndarray:
    """p(j|i) = exp(-max(d - rho, 0)/sigma), with sigma such that a row of k neighbours sums to log2(k + 1).

    rho is the distance of number ``local_connectivity`` among those above 0, or 0 for plain distances. As in
    umap-learn, sigma is at least 1e-3 times the mean distance, of the row if its rho (with plain distances,
    its first distance above 0) is above 0, else of all rows; the mean includes the point's distance to
    itself. Infinite distances count in no mean.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Ascending in each row.

    Returns
    -------
    ndarray of shape (n, k)
    """
    n, k = distances.shape
    if k == 0:
        return np.zeros((n, 0))
    number = local_connectivity if distance is Distance.PSEUDO else 1.0
    nearest = np.array([_rho(row[(row > 0) & np.isfinite(row)], number) for row in distances])
    rho = nearest if distance is Distance.PSEUDO else np.zeros(n)
    beyond = np.maximum(distances - rho[:, None], 0)

    def similarities(sigma: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(beyond > 0, np.exp(-beyond / sigma[:, None]), 1.0)

    target = np.log2(k + 1)
    sigma = _bisect(lambda sigma: similarities(sigma).sum(axis=1) < target, n)
    finite = np.where(np.isfinite(distances), distances, 0)
    counts = np.isfinite(distances).sum(axis=1) + 1
    mean = np.where(nearest > 0, finite.sum(axis=1) / counts, finite.sum() / counts.sum())
    return similarities(np.maximum(sigma, 1e-3 * mean))


def _rho(positive: np.ndarray, number: float) -> float:
    """The distance of that number, from 0 on, among 0 and ascending distances; fractions interpolate."""
    return float(np.interp(number, np.arange(len(positive) + 1), np.concatenate([[0.0], positive])))


def gaussian_affinities(distances: np.ndarray, perplexity: float) -> np.ndarray:
    """p(j|i) proportional to exp(-d²/2sigma²); a row sums to 1 and has the entropy log(perplexity).

    If there is no such sigma, the row is the limit: uniform over all neighbours if they are fewer than the
    perplexity, uniform over the nearest ones if more than the perplexity are equally near.

    Parameters
    ----------
    distances : ndarray of shape (n, k)

    Returns
    -------
    ndarray of shape (n, k)
    """
    n, k = distances.shape
    if k == 0:
        return np.zeros((n, 0))
    squares = _squares_beyond_nearest(distances)

    def similarities(sigma: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            unscaled = np.where(squares > 0, np.exp(-squares / (2 * sigma[:, None] ** 2)), 1.0)
        return _normalized(unscaled)

    def entropy(p: np.ndarray) -> np.ndarray:
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1))

    return similarities(_bisect(lambda sigma: entropy(similarities(sigma)) < np.log(perplexity), n))


def fixed_sigma_affinities(distances: np.ndarray, sigma: float) -> np.ndarray:
    """p(j|i) proportional to exp(-d²/2sigma²), with one sigma for all rows; a row sums to 1: (n, k)."""
    n, k = distances.shape
    if k == 0:
        return np.zeros((n, 0))
    return _normalized(np.exp(-_squares_beyond_nearest(distances) / (2 * sigma**2)))


def _squares_beyond_nearest(distances: np.ndarray) -> np.ndarray:
    """d² less the row's smallest: the same p, which never all underflow."""
    nearest = distances.min(axis=1, keepdims=True)
    return np.asarray(distances**2 - np.where(np.isfinite(nearest), nearest, 0) ** 2)


def _normalized(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; rows of 0 stay so."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(rows / np.where(sums > 0, sums, 1.0))


def _bisect(too_small: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """For each row the smallest sigma > 0 at which too_small(sigma) is false: (n,)."""
    low, high, sigma = np.zeros(n), np.full(n, np.inf), np.ones(n)
    for _ in range(_BISECTIONS):
        small = too_small(sigma)
        low, high = np.where(small, sigma, low), np.where(small, high, sigma)
        sigma = np.where(np.isinf(high), 2 * sigma, (low + np.where(np.isinf(high), 0, high)) / 2)
    return sigma
