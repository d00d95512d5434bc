"""The points of a map as one image, rendered at the resolution at which a figure is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase
from matplotlib.transforms import Bbox

from actup.plotting._colors import linear_rgb, to_srgb
from actup.plotting._discs import paint_discs
from actup.plotting._ink import Ink, PlainInk
from actup.plotting._raster import Shades, Window, render_density
from actup.plotting._theme import Theme

_MAX_DISCS = 5000  # more points are rendered by their density
_COVERED_SHARE = 0.10  # of a panel's area, by all discs together
_MIN_DIAMETER, _MAX_DIAMETER = 0.9, 6.5  # points (1/72 inch)
_MIN_RADIUS = 0.6  # pixels: a smaller disc would be paler than its colour
_BACKDROP_OPACITY = 0.7


@dataclass(frozen=True)
class PointSet:
    """Points and what colours them.

    Attributes
    ----------
    places : ndarray of shape (n, 2) or (n, 3)
    ink : Ink
    """

    places: np.ndarray
    ink: Ink


class PointLayer(Artist):
    """Draws points into the axes as one image.

    Every backend gets an image of just the pixels that it will show: at the dpi of the screen or of the file,
    and again after each change of the view.

    Parameters
    ----------
    points : PointSet
    theme : Theme
    backdrop : ndarray of shape (m, 2) or (m, 3) or None
        Other points, shown faintly behind.
    diameter : float or None
        Of the discs, in points (1/72 inch); None chooses it by the number of points.
    """

    def __init__(
        self,
        points: PointSet,
        theme: Theme,
        backdrop: np.ndarray | None = None,
        diameter: float | None = None,
    ) -> None:
        super().__init__()
        self.points = points
        self.backdrop = backdrop
        self._theme = theme
        self._diameter = diameter
        self._drawn: tuple[tuple[Any, ...], np.ndarray] | None = None  # the last image and what it shows

    def get_window_extent(self, renderer: RendererBase | None = None) -> Bbox:
        """The box of the axes."""
        return self._box()

    def radius(self, renderer: RendererBase) -> float:
        """Radius of the discs, in the backend's units: as given, or so that all cover a share of the axes."""
        dot = pixels_per_point(renderer)
        if self._diameter is not None:
            return 0.5 * dot * self._diameter
        count = len(self.points.places) + (0 if self.backdrop is None else len(self.backdrop))
        area = self._box().width * self._box().height / dot**2
        usual = math.sqrt(_COVERED_SHARE * area / max(count, 1) * 4 / math.pi)
        return 0.5 * dot * min(max(usual, _MIN_DIAMETER), _MAX_DIAMETER)

    def draw(self, renderer: RendererBase) -> None:
        """Render what the axes show, unless that is the image drawn last, and hand it to the backend."""
        if not self.get_visible():
            return
        box, scale = self._box(), float(renderer.get_image_magnification())
        left, bottom = math.floor(box.x0), math.floor(box.y0)
        width, height = (
            round(scale * (math.ceil(end) - begin)) for end, begin in ((box.x1, left), (box.y1, bottom))
        )
        if width < 1 or height < 1:
            return
        window = self._window(left, bottom, scale, width, height)
        projection = self._projection()
        key = (window, pixels_per_point(renderer), None if projection is None else projection.tobytes())
        if self._drawn is None or self._drawn[0] != key:
            radius = max(scale * self.radius(renderer), _MIN_RADIUS)
            self._drawn = (key, self._render(window, radius, projection))
        gc = renderer.new_gc()
        gc.set_clip_rectangle(box)
        renderer.draw_image(gc, left, bottom, self._drawn[1])
        gc.restore()
        self.stale = False

    def _box(self) -> Bbox:
        assert self.axes is not None
        return Bbox.from_extents(*self.axes.bbox.extents)

    def _window(self, left: float, bottom: float, scale: float, width: int, height: int) -> Window:
        """Return which part of the map the image shows; its rows count upwards, as backends want them."""
        axes: Any = self.axes
        # Axes of three dimensions project to a plane whose limits are fixed; their view limits say which.
        limits = axes.viewLim.get_points()
        first, last = axes.transData.transform(limits)
        pixels = (last - first) / (limits[1] - limits[0])
        corner = limits[0] + (np.array([left, bottom]) - first) / pixels
        return Window(corner[0], corner[1], scale * pixels[0], scale * pixels[1], width, height)

    def _projection(self) -> np.ndarray | None:
        axes: Any = self.axes
        return np.asarray(axes.get_proj()) if self.points.places.shape[1] == 3 else None

    def _render(self, window: Window, radius: float, projection: np.ndarray | None) -> np.ndarray:
        """Return the image as bytes of red, green, blue and alpha, shape (height, width, 4)."""
        image = self._painted(self.points, window, radius, projection)
        if self.backdrop is not None and len(self.backdrop):
            behind = PointSet(self.backdrop, PlainInk(self._theme.backdrop))
            image = _over(image, self._painted(behind, window, radius, projection, flat=True))
        return np.rint(255.0 * image).astype(np.uint8)

    def _painted(
        self,
        points: PointSet,
        window: Window,
        radius: float,
        projection: np.ndarray | None,
        flat: bool = False,
    ) -> np.ndarray:
        """Return one set of points as an image; ``flat`` ones show no density."""
        places, ink = points.places, points.ink
        if projection is not None:
            from mpl_toolkits.mplot3d.proj3d import proj_transform  # type: ignore[import-untyped]

            places = np.column_stack(proj_transform(*places.T, projection))
        if len(places) <= _MAX_DISCS and not flat:
            columns, rows = window.pixels(places)
            colors = to_srgb(ink.mixed(ink.channels(slice(None)), len(places)))
            order = _painting_order(places)
            edge = to_srgb(linear_rgb([self._theme.background])[0])
            size = (window.height, window.width)
            return paint_discs(columns[order], rows[order], colors[order], radius, size, edge)
        shades = Shades(linear_rgb([self._theme.deep])[0], 0.0 if flat else self._theme.depth)
        image = render_density(places[:, :2], ink, window, radius, shades)
        image[:, :, :3] = to_srgb(image[:, :, :3])
        if flat:
            image[:, :, 3] = np.minimum(image[:, :, 3], 1.0) * _BACKDROP_OPACITY
        return image


def pixels_per_point(renderer: RendererBase) -> float:
    """Return how many of a backend's units are one point (1/72 inch)."""
    pixels: Any = renderer.points_to_pixels(1.0)
    return float(pixels)


def _painting_order(places: np.ndarray) -> np.ndarray:
    """Return the order in which discs are painted: farthest first, or at random, the same every time.

    In the order of the rows, the last class would cover all others.
    """
    if places.shape[1] == 3:  # projected: the third coordinate is the depth
        return np.argsort(-places[:, 2], kind="stable")
    return np.random.default_rng(0).permutation(len(places))


def _over(front: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Return one image over another, both with straight alpha."""
    alpha, below = front[:, :, 3:], behind[:, :, 3:] * (1.0 - front[:, :, 3:])
    total = alpha + below
    colors = (alpha * front[:, :, :3] + below * behind[:, :, :3]) / np.maximum(total, 1e-9)
    return np.concatenate([colors, total], axis=2)
