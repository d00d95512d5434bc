"""One map in its axes: the points, the view fitted to them, names, title, caption and note."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._values import read_flag, read_name, read_positive
from actup.plotting._ink import make_ink
from actup.plotting._naming import LayeredClusters, class_names, cluster_names, sampled_points
from actup.plotting._scene import Classes, Values, spread_line
from actup.plotting._theme import Theme, read_theme
from actup.plotting._view import View, fit_view

if TYPE_CHECKING:
    from matplotlib.text import Text

    from actup.plotting._layer import PointLayer

_MAX_POINT_SIZE = 1000.0  # a disc of 14 inches


@dataclass(frozen=True)
class Style:
    """How panels are drawn.

    Attributes
    ----------
    theme : Theme
    view : {"bulk", "all"}
        Whether a few outliers may be outside.
    note : bool
        Whether to write how many points are outside.
    point_size : float or None
        Diameter of the points in points (1/72 inch); None chooses it by their number.
    """

    theme: Theme
    view: str = "bulk"
    note: bool = True
    point_size: float | None = None


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    Attributes
    ----------
    Y : ndarray of shape (n, 1), (n, 2) or (n, 3)
    scene : Classes or Values or None
        Labels of the points.
    title, caption : str or None
    names : bool
        Whether names of the classes are written on the map.
    clusters : LayeredClusters or None
        Whose names are written on the map instead.
    members : ndarray of shape (n,), bool, or None
        The points in front; all others are a backdrop. None: all points.
    """

    Y: np.ndarray
    scene: Classes | Values | None = None
    title: str | None = None
    caption: str | None = None
    names: bool = False
    clusters: LayeredClusters | None = None
    members: np.ndarray | None = None


def read_style(theme: str, view: str, note: bool, point_size: float | None) -> Style:
    """Check the choices of how to draw."""
    read_name(view, "view", ("bulk", "all"))
    if point_size is not None:
        point_size = read_positive(
            point_size, "point_size", "a diameter in points (1/72 inch)", _MAX_POINT_SIZE
        )
    return Style(read_theme(theme), view, read_flag(note, "note"), point_size)


def draw_panel(ax: Any, panel: Panel, style: Style) -> None:
    """Draw a map on its axes."""
    Y = _flat_line(panel.Y, style.view) if panel.Y.shape[1] == 1 else panel.Y
    _clear_frame(ax, style.theme)
    view = _set_view(ax, Y, style)
    layer = _add_points(ax, Y, panel, style, view)
    if panel.title is not None:
        ax.set_title(panel.title, color=style.theme.ink, fontsize=12, pad=6, parse_math=False)
    if panel.caption:
        _write_caption(ax, panel.caption, style.theme)
    note = [_write_note(ax, view.outside, style.theme)] if style.note and view.outside else []
    if Y.shape[1] == 2:
        _add_names(ax, Y, panel, style, view, layer, note)


def take(scene: Classes | Values | None, chosen: np.ndarray) -> Classes | Values | None:
    """Return the labels of some of the points."""
    if isinstance(scene, Classes):
        return replace(scene, codes=scene.codes[chosen])
    return None if scene is None else replace(scene, values=scene.values[chosen])


def _flat_line(Y: np.ndarray, view: str) -> np.ndarray:
    """Return a map of one dimension with a second one; outliers do not count for its height."""
    if view == "all":
        return spread_line(Y)
    bulk = fit_view(Y)
    flat = spread_line(np.clip(Y, bulk.low, bulk.high))
    flat[:, 0] = Y[:, 0]
    return flat


def _set_view(ax: Any, Y: np.ndarray, style: Style) -> View:
    if Y.shape[1] == 3:
        view = fit_view(Y, style.view)
        ax.set(
            **{
                f"{axis}lim": ends
                for axis, ends in zip("xyz", zip(view.low, view.high, strict=True), strict=True)
            }
        )
        ax.set_aspect("equal")
        return view
    box = ax.bbox
    view = fit_view(Y, style.view, box.width / box.height)
    ax.update_datalim([view.low, view.high])
    ax.margins(0)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    return view


def _add_points(ax: Any, Y: np.ndarray, panel: Panel, style: Style, view: View) -> PointLayer:
    from actup.plotting._layer import PointLayer, PointSet

    front = panel.members
    behind = None if front is None else Y[~front]
    if Y.shape[1] == 3 and view.outside:  # a projection would draw them across the panes
        inside = view.holds(Y)
        front = inside if front is None else np.logical_and(front, inside)
        behind = None if behind is None else behind[view.holds(behind)]
    scene = panel.scene if front is None else take(panel.scene, front)
    points = PointSet(Y if front is None else Y[front], make_ink(scene, style.theme.plain))
    layer = PointLayer(points, style.theme, behind, style.point_size)
    ax.add_artist(layer)
    return layer


def _add_names(
    ax: Any, Y: np.ndarray, panel: Panel, style: Style, view: View, layer: PointLayer, note: list[Text]
) -> None:
    from actup.plotting._names import NameLayer

    if panel.clusters is not None:
        names = cluster_names(Y, panel.clusters, view)
    elif panel.names and isinstance(panel.scene, Classes):
        names = class_names(Y, panel.scene, view)
    else:
        return
    codes = panel.scene.codes if isinstance(panel.scene, Classes) else None
    NameLayer(ax, names, Y[sampled_points(codes, len(Y))], style.theme, layer, note)


def _clear_frame(ax: Any, theme: Theme) -> None:
    """Remove ticks and frame."""
    ax.set_facecolor(theme.background)
    if ax.name == "3d":
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_ticklabels([])
            axis.set_tick_params(length=0, color="#ffffff00")
            axis.set_pane_color(theme.pane)
            axis.line.set_color(theme.backdrop)
        ax.grid(False)
        return
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _write_caption(ax: Any, caption: str, theme: Theme) -> None:
    style = {"fontsize": 9, "color": theme.quiet_ink, "parse_math": False}
    if ax.name == "3d":
        ax.text2D(0.5, -0.02, caption, transform=ax.transAxes, ha="center", va="top", **style)
    else:
        ax.set_xlabel(caption, labelpad=6, **style)


def _write_note(ax: Any, outside: int, theme: Theme) -> Text:
    """Write in a corner how many points are outside."""
    text = f"{outside:,} point{'s' if outside > 1 else ''} outside"
    write = ax.text2D if ax.name == "3d" else ax.text
    note: Text = write(
        0.995,
        0.005,
        text,
        transform=ax.transAxes,
        ha="right",
        va="bottom",
        fontsize=7,
        color=theme.quiet_ink,
        zorder=5,
    )
    return note
