"""Give classes that touch on a map colours that differ well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from actup.plotting._colors import CATEGORICAL, color_distances
from actup.plotting._scene import Classes

_CELLS = 48  # cells per side of the grid on which classes meet
_MAX_ASSIGNED = 256  # classes; more share colours anyway
_MAX_SAMPLE = 300_000  # points that say which classes meet


def assign_colors(classes: Classes, Y: np.ndarray) -> Classes:
    """Return the classes with their colours exchanged so that neighbours on the map differ.

    Up to twelve classes keep the colours in the order of their names, which is the same in every picture of
    them. Of more, two colours change hands as long as that makes neighbours easier to tell apart.

    Parameters
    ----------
    classes : Classes
    Y : ndarray of shape (n, dimensions)
        The map; its first two dimensions count.
    """
    count = len(classes.names) - classes.has_rest
    if not len(CATEGORICAL) < count <= _MAX_ASSIGNED or Y.shape[1] < 2:
        return classes
    closeness = _closeness(Y[:, :2], classes.codes, count)
    confusion = 1.0 / (color_distances(classes.colors[:count]) ** 2 + 1e-3)
    np.fill_diagonal(confusion, 0.0)
    color_of = np.arange(count)
    for _ in range(4 * count):
        current = confusion[np.ix_(color_of, color_of)]
        product = closeness @ current
        own = np.diag(product)
        # What exchanging the colours of two classes adds to the sum of closeness times confusion.
        change = product + product.T - own[:, None] - own + 2 * closeness * current
        first, second = np.unravel_index(int(np.argmin(change)), change.shape)
        if change[first, second] > -1e-9:
            break
        color_of[[first, second]] = color_of[[second, first]]
    colors = [classes.colors[color] for color in color_of]
    return replace(classes, colors=[*colors, *classes.colors[count:]])


def _closeness(Y: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Return how much every two classes meet on the map: the cosine of their blurred histograms."""
    from scipy.ndimage import gaussian_filter

    step = -(-len(Y) // _MAX_SAMPLE)
    Y, codes = Y[::step], codes[::step]
    Y, codes = Y[(codes >= 0) & (codes < count)], codes[(codes >= 0) & (codes < count)]
    if not len(Y):
        return np.zeros((count, count))
    low, high = np.quantile(Y, (0.01, 0.99), axis=0)
    cells = ((Y - low) / np.where(high > low, high - low, 1.0) * _CELLS).clip(0, _CELLS - 1).astype(np.intp)
    bins = (codes.astype(np.intp) * _CELLS + cells[:, 0]) * _CELLS + cells[:, 1]
    held = np.bincount(bins, minlength=count * _CELLS**2).reshape(count, _CELLS, _CELLS).astype(np.float64)
    blurred = gaussian_filter(np.sqrt(held), (0.0, 2.0, 2.0)).reshape(count, -1)
    blurred /= np.maximum(np.linalg.norm(blurred, axis=1, keepdims=True), 1e-12)
    closeness = blurred @ blurred.T
    np.fill_diagonal(closeness, 0.0)
    return np.asarray(closeness)
