"""Names of classes and clusters on a picture, placed anew whenever its size or view changes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.lines import Line2D
from matplotlib.patheffects import Stroke, withStroke
from matplotlib.text import Text

from actup.plotting._layer import PointLayer, pixels_per_point
from actup.plotting._naming import MapName
from actup.plotting._placement import Board, Box, ClusterPoints, Request
from actup.plotting._theme import Theme

_MAX_FRAME_SHARE = 0.42  # of the frame's width, for one name
_FULL_WIDTH = 430.0  # points (1/72 inch): names in a narrower frame are smaller ...
_MIN_SHRINK = 0.65  # ... down to this share of their size
_MAX_LINES = 3
_PADDING = 3.0  # points (1/72 inch) between the boxes of two names
_HALO = 2.4  # width of the halo in points


class HaloText(Text):
    """A text with a halo. The text itself stays text in a file of vector graphics."""

    halo_color = "#ffffff"

    def draw(self, renderer: RendererBase) -> None:
        """Draw the halo as outlines, and the text over it."""
        if not self.get_visible():
            return
        style: Any = {"linewidth": _HALO, "foreground": self.halo_color, "alpha": 0.85}
        callback, self.stale_callback = self.stale_callback, None  # the path effects last for this drawing
        if isinstance(renderer, RendererAgg):  # which spaces a text otherwise if it has outlines
            self.set_path_effects([withStroke(**style)])
            super().draw(renderer)
            self.set_path_effects([])
        else:
            self.set_path_effects([Stroke(**style)])
            super().draw(renderer)
            self.set_path_effects([])
            super().draw(renderer)
        self.stale_callback = callback


class NameLayer(Artist):
    """Places names before they are drawn: at every size of the figure they are inside and do not overlap.

    Parameters
    ----------
    axes : Axes
    names : sequence of MapName
        The most important first; a name that finds no free place is not shown.
    points : ndarray of shape (n, 2)
        Points that names beside their class should not cover; some of many are enough.
    theme : Theme
    layer : PointLayer
        The points as they are drawn.
    others : sequence of Text
        Other texts within the frame.
    """

    def __init__(
        self,
        axes: Axes,
        names: Sequence[MapName],
        points: np.ndarray,
        theme: Theme,
        layer: PointLayer,
        others: Sequence[Text] = (),
    ) -> None:
        super().__init__()
        self.set_zorder(4)
        self._names = list(names)
        self._points = points
        self._layer = layer
        self._others = list(others)
        self._texts = [_new_text(axes, name, theme) for name in self._names]
        self._leaders = [_new_leader(axes, theme) for _ in self._names]
        self._geometry: tuple[float, ...] | None = None
        axes.add_artist(self)

    def draw(self, renderer: RendererBase) -> None:
        """Place the names if the frame, the view or the resolution has changed since the last time."""
        axes: Any = self.axes
        geometry = (*axes.bbox.extents, *axes.viewLim.extents, pixels_per_point(renderer))
        if geometry != self._geometry:
            self._geometry = geometry
            self._place(renderer)
        self.stale = False

    def _place(self, renderer: RendererBase) -> None:
        axes: Any = self.axes
        frame = axes.bbox
        padding = _PADDING * pixels_per_point(renderer)
        inner = (frame.x0 + padding, frame.y0 + padding, frame.x1 - padding, frame.y1 - padding)
        width = frame.width / pixels_per_point(renderer)
        shrink = min(max((width / _FULL_WIDTH) ** 0.5, _MIN_SHRINK), 1.0)
        others = [text.get_window_extent(renderer).padded(padding) for text in self._others]
        taken: list[Box] = [(box.x0, box.y0, box.x1, box.y1) for box in others]
        board = Board(inner, axes.transData.transform(self._points), taken, self._layer.radius(renderer))
        clusters = {
            id(known): ClusterPoints(axes.transData.transform(known.points), known.codes)
            for known in {id(name.surroundings): name.surroundings for name in self._names}.values()
        }
        back = axes.transData.inverted()
        for name, text, leader in zip(self._names, self._texts, self._leaders, strict=True):
            text.set_visible(True)
            text.set_fontsize(name.font_size * shrink)
            _fit_text(text, name.text, _MAX_FRAME_SHARE * frame.width, renderer)
            extent = text.get_window_extent(renderer)
            lines = text.get_text().count("\n") + 1
            request = Request(
                extent.width + padding,
                extent.height + padding,
                axes.transData.transform(name.anchors),
                axes.transData.transform(name.members),
                name.may_stand_apart,
                extent.height / lines,
                clusters[id(name.surroundings)],
                name.code,
                name.parent,
            )
            fits = request.width <= inner[2] - inner[0] and request.height <= inner[3] - inner[1]
            place = board.place(request) if fits else None
            text.set_visible(place is not None)
            leader.set_visible(place is not None and place.leader is not None)
            if place is not None:
                text.set_position(tuple(back.transform((place.x, place.y))))
                if place.leader is not None:
                    leader.set_data(*back.transform(place.leader).T)


def one_line(name: str, most: int = 28) -> str:
    """Return a name without line breaks, elided if it is longer than ``most`` characters."""
    name = " ".join(name.split())
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def _fit_text(text: Text, name: str, width: float, renderer: RendererBase) -> None:
    """Break a long name into lines and elide it, until it is at most ``width`` pixels wide."""
    name = one_line(name, 60)
    for most in (20, 16, 13, 10, 8, 6, 4, 2, 1):
        lines = textwrap.wrap(name, most, break_long_words=False) or [name]
        if len(lines) > _MAX_LINES:
            lines = [*lines[: _MAX_LINES - 1], " ".join(lines[_MAX_LINES - 1 :])]
        text.set_text("\n".join(one_line(line, most + 6) for line in lines))
        if text.get_window_extent(renderer).width <= width:
            return


def _new_text(axes: Axes, name: MapName, theme: Theme) -> Text:
    text = HaloText(
        float(name.anchors[0, 0]),
        float(name.anchors[0, 1]),
        name.text,
        fontsize=name.font_size,
        fontweight="bold" if name.bold else "normal",
        color=theme.ink,
        ha="center",
        va="center",
        multialignment="center",
        linespacing=1.15,
        parse_math=False,
        zorder=5,
    )
    text.halo_color = theme.background
    axes.add_artist(text)
    text.set_clip_on(True)
    text.set_in_layout(False)  # it is inside the frame
    return text


def _new_leader(axes: Axes, theme: Theme) -> Line2D:
    leader = Line2D([], [], color=theme.quiet_ink, linewidth=0.6, zorder=4.5, solid_capstyle="round")
    axes.add_artist(leader)
    leader.set_in_layout(False)
    leader.set_visible(False)
    return leader
