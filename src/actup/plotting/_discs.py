"""Paint few points as crisp discs, one over the other, each with a thin edge in the background's colour."""

from __future__ import annotations

import math

import numpy as np

_OPACITY = 0.88
_EDGE_SHARE = 0.16  # width of the edge relative to the radius
_MAX_EDGE = 1.2  # pixels


def paint_discs(
    columns: np.ndarray,
    rows: np.ndarray,
    colors: np.ndarray,
    radius: float,
    size: tuple[int, int],
    edge_color: np.ndarray,
) -> np.ndarray:
    """Return an image of discs, the last on top, with straight alpha.

    Parameters
    ----------
    columns, rows : ndarray of shape (n,)
        Centres in fractions of pixels.
    colors : ndarray of shape (n, 3)
        From 0 to 1.
    radius : float
        In pixels.
    size : tuple of two int
        Height and width of the image.
    edge_color : ndarray of shape (3,)
        Colour of the edges where a disc covers another one.

    Returns
    -------
    ndarray of shape (height, width, 4), float32
        Colours and alpha, from 0 to 1.
    """
    height, width = size
    edge = min(_EDGE_SHARE * radius, _MAX_EDGE)
    reach = math.ceil(radius + edge + 0.5)
    image = np.zeros((height, width, 4), np.float32)  # colours are multiplied by alpha until the end
    seen = (columns > -reach) & (columns < width + reach) & (rows > -reach) & (rows < height + reach)
    for column, row, color in zip(columns[seen], rows[seen], colors[seen], strict=True):
        left, bottom = math.floor(column) - reach, math.floor(row) - reach
        across = np.arange(max(left, 0), min(left + 2 * reach + 1, width)) + 0.5 - column
        up = np.arange(max(bottom, 0), min(bottom + 2 * reach + 1, height)) + 0.5 - row
        distance = np.sqrt(up[:, None] ** 2 + across**2)
        patch = image[max(bottom, 0) : bottom + 2 * reach + 1, max(left, 0) : left + 2 * reach + 1]
        # The edge erases a part of the discs below; on the empty background it is not seen.
        rim = np.clip(radius + edge + 0.5 - distance, 0.0, 1.0)[:, :, None] * patch[:, :, 3:] * 0.75
        patch[:, :, :3] += rim * (edge_color * patch[:, :, 3:] - patch[:, :, :3])
        disc = _OPACITY * np.clip(radius + 0.5 - distance, 0.0, 1.0)[:, :, None]
        patch *= 1.0 - disc
        patch[:, :, :3] += disc * color
        patch[:, :, 3:] += disc
    visible = image[:, :, 3] > 0
    image[visible, :3] /= image[visible, 3:]
    return image
