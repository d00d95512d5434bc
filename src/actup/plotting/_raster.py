"""Render very many points as one image whose opacity and shade show their density."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from actup.plotting._ink import Ink

_CHUNK_ENTRIES = 1 << 20  # entries added to the image at a time: bounds the memory beside the image
_MAX_EXACT_POINTS = 300_000  # discs of more points are centred in their pixels, which is not seen any more
_MAX_SHIFTED_ENTRIES = 30  # larger kernels are convolved by Fourier transforms
_NO_COVERAGE = 1e-3  # coverage below this is empty: it is the rounding of Fourier transforms
_DENSE_QUANTILE = 0.995  # of the covered pixels: the coverage that is drawn in the deepest shade
_EQUALIZED_SHARE = 0.35  # how far the ranks of pixels, beside logarithms, decide their shade
_SMOOTH_DISCS = 40.0  # the density at a pixel is averaged over an area that so many discs cover
_MAX_SMOOTHING = 0.012  # largest standard deviation of that average, relative to the image's size


@dataclass(frozen=True)
class Window:
    """The part of a map that an image shows.

    Attributes
    ----------
    left, bottom : float
        Coordinates of the image's lower left corner. Rows of pixels are counted from there.
    scale_x, scale_y : float
        Pixels per unit of the map.
    width, height : int
        Size of the image in pixels.
    """

    left: float
    bottom: float
    scale_x: float
    scale_y: float
    width: int
    height: int

    def pixels(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and rows of points as fractions of pixels, from the lower left corner."""
        return (points[:, 0] - self.left) * self.scale_x, (points[:, 1] - self.bottom) * self.scale_y


@dataclass(frozen=True)
class Shades:
    """Which colours the densest and the emptiest parts approach.

    Attributes
    ----------
    deep : ndarray of shape (3,)
        Linear RGB that the colour of dense pixels is drawn towards: black on white, white on black.
    depth : float
        How far, from 0 to 1.
    """

    deep: np.ndarray
    depth: float


def render_density(points: np.ndarray, ink: Ink, window: Window, radius: float, shades: Shades) -> np.ndarray:
    """Return an image of the points, each a small disc, with straight alpha.

    A pixel's colour is the mean over the discs that cover it. A lone disc is well visible. Where discs
    overlap, opacity grows with the logarithm of their number, in part with the pixel's rank among all pixels,
    and the densest parts are drawn in a deeper shade. The number is a local average, so that the shade shows
    the density and not the grain of single points.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    ink : Ink
    window : Window
    radius : float
        Of the discs, in pixels.
    shades : Shades

    Returns
    -------
    ndarray of shape (height, width, 4), float32
        Linear RGB and alpha, from 0 to 1.
    """
    coverage, *sums = _covered(points, ink, window, radius)
    shown = coverage > _NO_COVERAGE
    image = np.zeros((window.height, window.width, 4), np.float32)
    if not shown.any():
        return image
    amount = coverage[shown]
    opacity, depth = tone(amount, _smoothed(coverage, amount)[shown])
    color = ink.mixed([plane[shown] / amount for plane in sums], len(amount))
    deepened = color + (shades.depth * depth)[:, None] * (shades.deep - color)
    image[shown] = np.column_stack([deepened, opacity])
    return image


def tone(coverage: np.ndarray, density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return opacity and depth of shade, both from 0 to 1, of the covered pixels.

    Below one disc, as at the edges of discs, opacity is proportional to the coverage: edges stay smooth.

    Parameters
    ----------
    coverage : ndarray of shape (pixels,)
        Number of discs that cover a pixel.
    density : ndarray of shape (pixels,)
        Local average of the coverage.
    """
    dense = max(float(np.quantile(density, _DENSE_QUANTILE)), 1.0)
    lone = float(np.clip(0.92 - 0.22 * math.log10(dense), 0.22, 0.92))  # opacity of one disc
    sparse = min(float(np.quantile(density, 1 - _DENSE_QUANTILE)), 1.0)
    grown = np.log(np.maximum(density, sparse) / sparse) / max(math.log(dense / sparse), math.log(4.0))
    ranks = np.empty(len(density))
    ranks[np.argsort(density)] = np.linspace(0.0, 1.0, len(density))
    grown = np.clip((1 - _EQUALIZED_SHARE) * grown + _EQUALIZED_SHARE * ranks, 0.0, 1.0)
    opacity = np.minimum(coverage, 1.0) * (lone + (1.0 - lone) * np.minimum(1.6 * grown, 1.0))
    return opacity, np.clip((grown - 0.45) / 0.55, 0.0, 1.0)


def _smoothed(coverage: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Return the local average of the coverage, over an area that some tens of discs typically cover."""
    from scipy.ndimage import gaussian_filter

    typical = float(np.sum(amount**2) / np.sum(amount))  # where the points are, not where the pixels are
    deviation = math.sqrt(_SMOOTH_DISCS / typical / (4 * math.pi))
    deviation = min(deviation, _MAX_SMOOTHING * math.sqrt(coverage.size))
    return coverage if deviation < 0.5 else np.asarray(gaussian_filter(coverage, deviation, truncate=3.0))


def _covered(points: np.ndarray, ink: Ink, window: Window, radius: float) -> list[np.ndarray]:
    """Return the number of discs that cover each pixel, and the sums of their channels, as images."""
    reach = math.ceil(radius + 0.5)  # discs may reach into the image from outside
    if len(points) <= _MAX_EXACT_POINTS:
        planes = _splatted(points, ink, window, radius, reach)
    else:
        kernel = _disc(radius)
        planes = [_convolved(plane, kernel) for plane in _binned(points, ink, window, reach)]
    return [plane[reach : reach + window.height, reach : reach + window.width] for plane in planes]


def _splatted(points: np.ndarray, ink: Ink, window: Window, radius: float, reach: int) -> list[np.ndarray]:
    """Return the sums over discs around the very places of the points, with smooth edges."""
    height, width = window.height + 2 * reach, window.width + 2 * reach
    steps = np.arange(-reach, reach + 1)
    planes: list[np.ndarray] = []
    size = max(_CHUNK_ENTRIES // len(steps) ** 2, 1)
    for start in range(0, len(points), size):
        column, row, channels = _inside(points, ink, window, slice(start, start + size), reach)
        # The disc's pixels are those around the one that holds its centre.
        left, bottom = np.floor(column), np.floor(row)
        across = (left + 0.5 - column)[:, None] + steps
        up = (bottom + 0.5 - row)[:, None] + steps
        distance = np.sqrt(across[:, None, :] ** 2 + up[:, :, None] ** 2)
        share = np.clip(radius + 0.5 - distance, 0.0, 1.0)
        pixels = (bottom.astype(np.intp)[:, None, None] + steps[:, None]) * width
        pixels = pixels + left.astype(np.intp)[:, None, None] + steps
        covered = np.flatnonzero((share > 0) & (pixels >= 0) & (pixels < height * width))
        entries, weights = pixels.ravel()[covered], share.ravel()[covered]
        owners = covered // len(steps) ** 2
        added = [weights, *(weights * channel[owners] for channel in channels)]
        _add(planes, [np.bincount(entries, values, height * width) for values in added])
    return [plane.reshape(height, width) for plane in planes]


def _binned(points: np.ndarray, ink: Ink, window: Window, reach: int) -> list[np.ndarray]:
    """Return the number of points in every pixel, and the sums of their channels."""
    height, width = window.height + 2 * reach, window.width + 2 * reach
    planes: list[np.ndarray] = []
    for start in range(0, len(points), _CHUNK_ENTRIES):
        column, row, channels = _inside(points, ink, window, slice(start, start + _CHUNK_ENTRIES), reach)
        bins = row.astype(np.int32) * np.int32(width) + column.astype(np.int32)
        _add(planes, [np.bincount(bins, weights, height * width) for weights in [None, *channels]])
    return [plane.reshape(height, width) for plane in planes]


def _inside(
    points: np.ndarray, ink: Ink, window: Window, chunk: slice, reach: int
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return columns, rows and channels of those points of a chunk that the image with its margin holds."""
    column, row = window.pixels(points[chunk])
    column += reach
    row += reach
    channels = ink.channels(chunk)
    height, width = window.height + 2 * reach, window.width + 2 * reach
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    if inside.all():
        return column, row, channels
    return column[inside], row[inside], [channel[inside] for channel in channels]


def _add(planes: list[np.ndarray], added: list[np.ndarray]) -> None:
    """Add to each plane what a chunk adds; the first chunk makes the planes."""
    if not planes:
        planes.extend(plane.astype(np.float64, copy=False) for plane in added)
        return
    for plane, more in zip(planes, added, strict=True):
        plane += more


def _disc(radius: float) -> np.ndarray:
    """Return the share of every pixel that a disc around the middle one covers."""
    reach = max(math.ceil(radius - 0.5 + 1e-9), 0)
    offsets = np.arange(-reach, reach + 1)
    steps = (np.arange(8) + 0.5) / 8 - 0.5
    fine = (offsets[:, None] + steps).ravel()
    covered = fine[:, None] ** 2 + fine**2 <= radius**2
    side = len(offsets)
    return np.asarray(covered.reshape(side, 8, side, 8).mean(axis=(1, 3)))


def _convolved(plane: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return the plane with every bin spread out as the kernel; the kernel is symmetric."""
    if kernel.size == 1:
        return np.asarray(plane * kernel[0, 0])
    if kernel.size > _MAX_SHIFTED_ENTRIES:
        return _transformed(plane, kernel)
    reach = len(kernel) // 2
    padded = np.pad(plane, reach)
    spread = np.zeros_like(plane)
    height, width = plane.shape
    for (row, column), share in np.ndenumerate(kernel):
        if share:
            spread += share * padded[row : row + height, column : column + width]
    return spread


def _transformed(plane: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolve by Fourier transforms: for kernels so large that shifting the plane takes longer."""
    from scipy.fft import irfft2, next_fast_len, rfft2

    shape = [next_fast_len(size + len(kernel) - 1, real=True) for size in plane.shape]
    product = rfft2(plane, shape) * rfft2(kernel, shape)
    reach = len(kernel) // 2
    whole = np.asarray(irfft2(product, shape))
    inner = whole[reach : reach + plane.shape[0], reach : reach + plane.shape[1]]
    return np.asarray(np.maximum(inner, 0.0))
