"""Starts for maps under an output metric: coordinates of a box become valid points of the output space."""

from __future__ import annotations

import numpy as np

from actup._device import array_module
from actup._typing import Array
from actup.recipe._recipe import Recipe

_PI = 3.141592653589793
_SPHERE_SHARE = 0.9  # of all polar angles and longitudes: the edges of the box do not meet
_FIRST_VARIANCE = 1.0
_ANGULAR_WIDTH = 2.0  # of a box around the origin, for metrics that compare directions

_GAUSSIANS = ("spherical_gaussian_energy", "diagonal_gaussian_energy", "gaussian_energy")


def to_output_space(Y: Array, recipe: Recipe) -> Array:
    """A start that the recipe's output metric can begin with.

    Parameters
    ----------
    Y : array of shape (n, n_components), float32
        A start of any size.
    recipe : Recipe
        Its ``output_metric``.

    Returns
    -------
    array of shape (n, n_components), float32
        "haversine": polar angles and longitudes over most of the sphere. Gaussian energies: the first two
        columns, equal variances and no rotation. "cosine" and "correlation": around the origin. Others: Y.
    """
    metric = recipe.output_metric
    if metric == "haversine":
        centred = _centred(Y, _SPHERE_SHARE)
        return _float32(array_module(Y).stack([_PI * (centred[:, 0] + 0.5), 2 * _PI * centred[:, 1]], axis=1))
    if metric in _GAUSSIANS:
        start = array_module(Y).zeros_like(Y)
        start[:, :2] = Y[:, :2]
        start[:, 2:4] = _FIRST_VARIANCE
        return start
    if metric in ("cosine", "correlation"):
        return _float32(_centred(Y, _ANGULAR_WIDTH))
    return Y


def _centred(Y: Array, width: float) -> Array:
    """Each axis scaled to the same width, around 0."""
    axes = Y.astype(np.float64)
    low, high = axes.min(axis=0), axes.max(axis=0)
    size = array_module(Y).where(high > low, high - low, 1.0)
    return (axes - (low + high) / 2) * (width / size)


def _float32(Y: Array) -> Array:
    return array_module(Y).ascontiguousarray(Y, np.float32)
