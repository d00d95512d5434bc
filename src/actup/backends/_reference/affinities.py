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
        Its affinity, distance, symmetrization, scales() and sigma.
    threads : int
        Ignored: the oracle runs on one thread.
    """
    n, k = neighbors.indices.shape
    conditional = directed_affinities(neighbors.distances.astype(np.float64), recipe)
    P = np.zeros((n, n))
    P[np.repeat(np.arange(n), k), neighbors.indices.ravel()] = conditional.ravel()
    match recipe.symmetrization:
        case Symmetrization.UMAP:
            W = P + P.T - P * P.T
        case Symmetrization.TSNE:
            W = (P + P.T) / 2
    W = W.astype(np.float32)
    rows, columns = np.nonzero(W)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Graph(offsets, columns, W[rows, columns])


def directed_affinities(distances: np.ndarray, recipe: Recipe) -> np.ndarray:
    """p(j|i) of every neighbour by the recipe's affinity: (n, k)."""
    match recipe.affinity:
        case Affinity.UMAP:
            return umap_affinities(distances, recipe.distance)
        case Affinity.GAUSSIAN | Affinity.MULTISCALE:
            of_scales = [gaussian_affinities(distances, u) for u in recipe.scales()]
            return np.asarray(np.mean(of_scales, axis=0))
        case Affinity.FIXED_SIGMA:
            assert recipe.sigma is not None
            return fixed_sigma_affinities(distances, recipe.sigma)
        case Affinity.UNIFORM:
            return np.ones(distances.shape)


def umap_affinities(distances: np.ndarray, distance: Distance) -> np.ndarray:
    """p(j|i) = exp(-max(d - rho, 0)/sigma), with sigma such that a row of k neighbours sums to log2(k + 1).

    rho is the first distance above 0 (0 if there is none), or 0 for plain distances. As in umap-learn, sigma
    is at least 1e-3 times the mean distance, of the row if it has a distance above 0, else of all rows; the
    mean includes the point's distance to itself.

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
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    nearest = np.where(np.isfinite(nearest), nearest, 0)
    rho = nearest if distance is Distance.PSEUDO else np.zeros(n)
    beyond = np.maximum(distances - rho[:, None], 0)

    def similarities(sigma: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(beyond > 0, np.exp(-beyond / sigma[:, None]), 1.0)

    target = np.log2(k + 1)
    sigma = _bisect(lambda sigma: similarities(sigma).sum(axis=1) < target, n)
    mean = np.where(nearest > 0, distances.sum(axis=1), distances.sum() / n) / (k + 1)
    return similarities(np.maximum(sigma, 1e-3 * mean))


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
    squares = distances**2 - distances.min(axis=1, keepdims=True) ** 2  # the same p; never all underflow

    def similarities(sigma: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            unscaled = np.where(squares > 0, np.exp(-squares / (2 * sigma[:, None] ** 2)), 1.0)
        return np.asarray(unscaled / unscaled.sum(axis=1, keepdims=True))

    def entropy(p: np.ndarray) -> np.ndarray:
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1))

    return similarities(_bisect(lambda sigma: entropy(similarities(sigma)) < np.log(perplexity), n))


def fixed_sigma_affinities(distances: np.ndarray, sigma: float) -> np.ndarray:
    """p(j|i) proportional to exp(-d²/2sigma²), with one sigma for all rows; a row sums to 1: (n, k)."""
    n, k = distances.shape
    if k == 0:
        return np.zeros((n, 0))
    squares = distances**2 - distances.min(axis=1, keepdims=True) ** 2  # the same p; never all underflow
    unscaled = np.exp(-squares / (2 * sigma**2))
    return np.asarray(unscaled / unscaled.sum(axis=1, keepdims=True))


def _bisect(too_small: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """For each row the smallest sigma > 0 at which too_small(sigma) is false: (n,)."""
    low, high, sigma = np.zeros(n), np.full(n, np.inf), np.ones(n)
    for _ in range(_BISECTIONS):
        small = too_small(sigma)
        low, high = np.where(small, sigma, low), np.where(small, high, sigma)
        sigma = np.where(np.isinf(high), 2 * sigma, (low + np.where(np.isinf(high), 0, high)) / 2)
    return sigma
