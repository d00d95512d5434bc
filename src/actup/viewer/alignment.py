"""Turns maps of the same points the same way round, so that the eye can follow a point through them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..scene import read_maps


def align_maps(maps: Mapping) -> dict[str, np.ndarray]:
    """Rotate and mirror maps of the same points to agree as well as possible with the first one.

    Orthogonal Procrustes: a map is centred, then turned by the orthogonal matrix that brings its points
    closest to those of the first map. Distances within a map stay as they are.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n, d)
        The same points in every map, in the same order, and in as many dimensions.

    Returns
    -------
    dict of str to ndarray of shape (n, d), float64
        The first map is centred only.
    """
    maps = read_maps(maps)
    dimensions = {name: Y.shape[1] for name, Y in maps.items()}
    if len(set(dimensions.values())) > 1:
        raise ValueError(f"maps must have the same number of dimensions to be aligned, got {dimensions}")
    centered = {name: Y - Y.mean(axis=0) for name, Y in maps.items()}
    target = next(iter(centered.values()))
    return {name: target if Y is target else Y @ _nearest_turn(Y, target) for name, Y in centered.items()}


def _nearest_turn(Y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The orthogonal Q that minimises ||Y Q - target||."""
    left, _, right = np.linalg.svd(Y.T @ target)
    return left @ right
