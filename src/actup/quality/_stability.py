"""How much a map depends on the seed: what maps of several seeds have in common."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from actup._threads import count_threads
from actup.quality._inputs import check_k, check_map, draw_rows
from actup.quality._neighborhoods import nearest_in_map


class SeedStability(NamedTuple):
    """Means over all pairs of maps.

    Attributes
    ----------
    disparity : float
        What is left of one map after the other was moved, rotated, mirrored and scaled onto it (Procrustes),
        from 0 (the same shape) to 1.
    jaccard : float
        Neighbours that a point has in both maps, over those it has in any, from 0 to 1 (all the same).
    """

    disparity: float
    jaccard: float


def seed_stability(
    embeddings: Sequence, k: int = 15, *, sample: int | None = 2000, random_state: int = 0, n_jobs: int = -1
) -> SeedStability:
    """How alike several maps of the same points are, usually from several seeds.

    Parameters
    ----------
    embeddings : sequence of arrays of shape (n, dimensions)
        At least two, all of one shape.
    k : int
        Neighbours per point that are compared.
    sample : int or None
        How many points' neighbours are compared; None for all. The disparity is always over all points.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    SeedStability
        ``disparity`` (lower is better) and ``jaccard`` (higher is better).
    """
    maps = [check_map(Y) for Y in embeddings]
    shapes = sorted({Y.shape for Y in maps})
    if len(maps) < 2 or len(shapes) > 1:
        raise ValueError(f"embeddings must be two maps or more of one shape, got {len(maps)} of {shapes}")
    n = len(maps[0])
    k = check_k(k, n - 1, n)
    rows, threads = draw_rows(n, sample, random_state), count_threads(n_jobs)
    neighbors = [np.sort(nearest_in_map(cKDTree(Y), rows, k, threads), axis=1) for Y in maps]
    return SeedStability(
        float(np.mean(list(itertools.starmap(_disparity, itertools.combinations(maps, 2))))),
        float(np.mean(list(itertools.starmap(_jaccard, itertools.combinations(neighbors, 2))))),
    )


def _disparity(Y: np.ndarray, other: np.ndarray) -> float:
    """One minus the squared sum of singular values of the product of the two standardised maps."""
    Y, other = Y - Y.mean(axis=0), other - other.mean(axis=0)
    size = np.linalg.norm(Y) * np.linalg.norm(other)
    if size == 0:  # all points coincide in one of the maps
        return float(np.any(Y) != np.any(other))
    overlap = np.linalg.svd(np.einsum("ij,ik->jk", Y, other), compute_uv=False).sum() / size
    return max(0.0, 1 - overlap**2)


def _jaccard(neighbors: np.ndarray, others: np.ndarray) -> float:
    """The mean Jaccard index of rows of k different ids each."""
    k = neighbors.shape[1]
    both = np.sort(np.concatenate([neighbors, others], axis=1), axis=1)
    common = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return float(np.mean(common / (2 * k - common)))
