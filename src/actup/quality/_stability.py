"""Measures of how much a map depends on the seed: what maps of several seeds have in common."""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from actup._errors import WrongType
from actup._threads import count_threads
from actup._values import is_iterable
from actup.quality._inputs import check_k, check_map, draw_rows, within_range
from actup.quality._neighborhoods import map_tree, nearest_in_map


class SeedStability(NamedTuple):
    """How alike several maps of the same points are: means over all pairs of maps.

    Attributes
    ----------
    disparity : float
        What remains of one map after the other was moved, rotated, mirrored and scaled onto it (Procrustes),
        from 0 (the same shape) to 1. Lower is better.
    jaccard : float
        Number of neighbours that a point has in both maps, divided by the number it has in either, from 0 to
        1 (the same neighbours). Higher is better.

    See Also
    --------
    seed_stability : Computes it.

    Examples
    --------
    >>> from actup.quality import SeedStability
    >>> SeedStability(disparity=0.25, jaccard=0.75)
    SeedStability(disparity=0.25, jaccard=0.75)
    """

    disparity: float
    jaccard: float


def seed_stability(
    embeddings: Sequence[ArrayLike],
    k: int = 15,
    *,
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
) -> SeedStability:
    """Measure how alike several maps of the same points are, usually maps from several seeds.

    Parameters
    ----------
    embeddings : sequence of array-like of shape (n, n_components)
        At least two maps, all of the same shape.
    k : int, default=15
        Number of neighbours per point that are compared.
    sample : int or None, default=2000
        Number of points whose neighbours are compared; None for all. The disparity always uses all points.
    random_state : int, default=0
        Seed of the sample.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    SeedStability
        ``disparity`` (lower is better) and ``jaccard`` (higher is better).

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import seed_stability
    >>> Y = np.random.default_rng(0).normal(size=(100, 2))
    >>> mirrored = 3 * Y * (-1, 1)
    >>> stability = seed_stability([Y, mirrored])
    >>> round(stability.disparity, 6), stability.jaccard
    (0.0, 1.0)
    """
    if not is_iterable(embeddings):
        raise WrongType(f"embeddings={reprlib.repr(embeddings)} must be a sequence of maps")
    maps = [within_range(check_map(Y)) for Y in embeddings]
    shapes = sorted({Y.shape for Y in maps})
    if len(maps) < 2 or len(shapes) > 1:
        raise ValueError(f"embeddings must be two maps or more of one shape, got {len(maps)} of {shapes}")
    n = len(maps[0])
    k = check_k(k, n - 1, n)
    rows, threads = draw_rows(n, sample, random_state), count_threads(n_jobs)
    neighbors = [np.sort(nearest_in_map(map_tree(Y), rows, k, threads), axis=1) for Y in maps]
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
    return max(0.0, float(1 - overlap**2))


def _jaccard(neighbors: np.ndarray, others: np.ndarray) -> float:
    """The mean Jaccard index of corresponding rows, each of k different ids."""
    k = neighbors.shape[1]
    both = np.sort(np.concatenate([neighbors, others], axis=1), axis=1)
    common = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return float(np.mean(common / (2 * k - common)))
