"""Static pictures of maps with matplotlib: one map, or a gallery of several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actup._maps import read_map, read_maps
from actup.plotting._colors import MISSING, SEQUENTIAL
from actup.plotting._scene import Classes, Values, dense_spots, read_captions, read_labels, spread_line

INK = "#22252b"
QUIET_INK = "#6b7280"
MOST_LEGEND_ROWS = 24
LONGEST_NAME = 28


def plot_embedding(
    Y, labels=None, *, title=None, caption=None, ax=None, names="auto", label_kind="auto", colorbar=True
):
    """Draw one map.

    Parameters
    ----------
    Y : array-like of shape (n,), (n, 1), (n, 2) or (n, 3)
        The embedding. One dimension is drawn as a line of points that pile up where they are many; three
        dimensions are drawn on three-dimensional axes.
    labels : array-like of shape (n,), optional
        Classes or values of the points.
    title : str, optional
        Line above the map.
    caption : str, optional
        Line under the map, such as quality figures and seconds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given. Three-dimensional maps need three-dimensional axes.
    names : {"auto", "map", "legend", "none"}
        Where class names stand: on the map at a dense spot of each class, in a legend beside it, or nowhere.
        ``"auto"`` is the map in two dimensions and the legend otherwise.
    label_kind : {"auto", "classes", "values"}
        Whether labels name classes or measure values.
    colorbar : bool
        Whether values get a colour bar.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if names not in ("auto", "map", "legend", "none"):
        raise ValueError(f"names={names!r} must be 'auto', 'map', 'legend' or 'none'")
    Y = read_map(Y)
    scene = read_labels(labels, len(Y), label_kind)
    ax = _axes_for(Y, ax)
    if names == "auto":
        names = "map" if Y.shape[1] == 2 else "legend"
    if names == "map" and Y.shape[1] == 3:
        raise ValueError("names='map' needs a map of one or two dimensions, Y has 3; use names='legend'")
    _draw_map(ax, Y, scene, title, caption, names == "map")
    if isinstance(scene, Classes) and names == "legend":
        _write_legend(ax, scene, ax.transAxes, (1.0, 0.5))
    if isinstance(scene, Values) and colorbar:
        _draw_colorbar(ax.figure, scene, ax=ax, shrink=0.6, aspect=30, pad=0.02)
    return ax


def plot_gallery(maps, labels=None, captions=None, path=None, *, title=None, label_kind="auto", columns=None):
    """Draw several maps of the same points side by side.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n,) or (n, d), d at most 3
        Embeddings by name; the name becomes the panel's title.
    labels : array-like of shape (n,), optional
        Classes or values of the points, the same for every map.
    captions : mapping of str to str, optional
        Line under a panel, by map name.
    path : str or path-like, optional
        Where to write the picture; its ending decides the format.
    title : str, optional
        Line above all panels.
    label_kind : {"auto", "classes", "values"}
        Whether labels name classes or measure values.
    columns : int, optional
        Panels in a row; by default as square as possible.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot, so that nothing needs closing.
    """
    if columns is not None and columns < 1:
        raise ValueError(f"columns={columns} must be at least 1")
    maps = read_maps(maps)
    captions = read_captions(captions, maps)
    n = len(next(iter(maps.values())))
    scene = read_labels(labels, n, label_kind)
    if columns is None:
        columns = len(maps) if len(maps) <= 3 else math.ceil(math.sqrt(len(maps)))
    columns = min(columns, len(maps))
    # One legend for all panels, and only where a panel cannot carry the names itself.
    needs_legend = isinstance(scene, Classes) and any(Y.shape[1] != 2 for Y in maps.values())
    layout = Grid(len(maps), columns, title is not None, needs_legend or isinstance(scene, Values))
    figure = _new_figure(layout, title)
    for panel, (name, Y) in enumerate(maps.items()):
        ax = figure.add_axes(layout.cell(panel), projection="3d" if Y.shape[1] == 3 else None)
        _draw_map(_axes_for(Y, ax), Y, scene, name, captions[name], Y.shape[1] == 2)
    if needs_legend:
        _write_legend(figure, scene, figure.transFigure, layout.aside_anchor())
    elif isinstance(scene, Values):
        _draw_colorbar(figure, scene, cax=figure.add_axes(layout.aside_bar()))
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    return figure


def _matplotlib():
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install actup[plot]") from error
    return matplotlib


PANEL_INCHES = 4.4
TITLE_INCHES = 0.4
CAPTION_INCHES = 0.42
MARGIN_INCHES = 0.18
HEADING_INCHES = 0.5
ASIDE_INCHES = 1.1


@dataclass(frozen=True)
class Grid:
    """Where the panels of a gallery stand: fixed, so that names can be placed before anything is drawn."""

    panels: int
    columns: int
    heading: bool
    aside: bool

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure in inches."""
        rows = math.ceil(self.panels / self.columns)
        width = self.columns * (PANEL_INCHES + MARGIN_INCHES) + MARGIN_INCHES
        height = rows * (PANEL_INCHES + TITLE_INCHES + CAPTION_INCHES)
        return width + self.aside * ASIDE_INCHES, height + self.heading * HEADING_INCHES

    def cell(self, panel: int) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of a panel in figure coordinates."""
        width, height = self.size
        row, column = divmod(panel, self.columns)
        left = MARGIN_INCHES + column * (PANEL_INCHES + MARGIN_INCHES)
        top = height - self.heading * HEADING_INCHES - TITLE_INCHES
        bottom = top - row * (PANEL_INCHES + TITLE_INCHES + CAPTION_INCHES) - PANEL_INCHES
        return left / width, bottom / height, PANEL_INCHES / width, PANEL_INCHES / height

    def aside_anchor(self) -> tuple[float, float]:
        """Left edge and middle of the strip beside the panels."""
        return (self.size[0] - ASIDE_INCHES) / self.size[0], 0.5

    def aside_bar(self) -> tuple[float, float, float, float]:
        """Box of a colour bar in the strip beside the panels."""
        width, height = self.size
        bar = min(0.6 * height, PANEL_INCHES)
        return (width - 0.85 * ASIDE_INCHES) / width, 0.5 - 0.5 * bar / height, 0.12 / width, bar / height


def _new_figure(layout: Grid, title: str | None):
    _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=layout.size, facecolor="white")
    FigureCanvasAgg(figure)
    if title is not None:
        y = 1 - 0.6 * HEADING_INCHES / layout.size[1]
        figure.text(0.5, y, title, ha="center", va="center", fontsize=15, color=INK, parse_math=False)
    return figure


def _axes_for(Y: np.ndarray, ax):
    dimensions = Y.shape[1]
    if dimensions > 3:
        raise ValueError(
            f"Y has {dimensions} dimensions, pictures show at most 3; choose columns, such as Y[:, :2], "
            "or embed with n_components=2"
        )
    if ax is None:
        _matplotlib()
        from matplotlib import pyplot

        size = (PANEL_INCHES * 1.4, PANEL_INCHES * (0.7 if dimensions == 1 else 1.4))
        figure = pyplot.figure(figsize=size, facecolor="white", layout="constrained")
        return figure.add_subplot(projection="3d" if dimensions == 3 else None)
    if dimensions == 3 and ax.name != "3d":
        raise ValueError("Y has 3 dimensions; give axes made with projection='3d', or Y[:, :2]")
    return ax


def point_style(n: int, area: float) -> tuple[float, float]:
    """Marker area in square points and opacity for ``n`` points on a panel.

    Parameters
    ----------
    n : int
        Number of points.
    area : float
        Area of the panel in square points (1/72 inch).

    Returns
    -------
    tuple of float
        The markers together would cover a fixed share of the panel; the more points, the more they overlap,
        and the more each lets through.
    """
    size = float(np.clip(0.22 * area / n, 0.8, 42.0))
    opacity = float(np.clip(1.05 - 0.1 * math.log10(max(n, 1)), 0.3, 0.9))
    return size, opacity


def _draw_map(ax, Y: np.ndarray, scene, title: str | None, caption: str | None, names: bool) -> None:
    if Y.shape[1] == 1:
        Y = spread_line(Y)
    _draw_points(ax, Y, scene)
    _clear_frame(ax)
    if title is not None:
        ax.set_title(title, color=INK, fontsize=12, pad=6, parse_math=False)
    if caption:
        _write_caption(ax, caption)
    if names and isinstance(scene, Classes):
        _write_names(ax, Y, scene)


def _draw_points(ax, Y: np.ndarray, scene: Classes | Values | None) -> None:
    box = ax.get_window_extent()
    size, opacity = point_style(len(Y), box.width * box.height * (72.0 / ax.figure.dpi) ** 2)
    colors = np.full((len(Y), 3), (0, 114, 178)) if scene is None else scene.point_colors()
    # A fixed shuffle: in file order the last class would hide the others.
    order = np.random.default_rng(0).permutation(len(Y))
    ax.scatter(
        *Y[order].T, s=size, c=colors[order] / 255.0, alpha=opacity, linewidths=0, marker="o", rasterized=True
    )


def _clear_frame(ax) -> None:
    if ax.name == "3d":
        ax.set_aspect("equal")
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_ticklabels([])
            axis.set_tick_params(length=0, color="#ffffff00")
            axis.set_pane_color((0.97, 0.97, 0.98, 1.0))
            axis.line.set_color("#d4d7dd")
        ax.grid(False)
        return
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.margins(0.04)
    ax.set_aspect("equal", adjustable="datalim")


def _write_caption(ax, caption: str) -> None:
    style = {"fontsize": 9, "color": QUIET_INK, "parse_math": False}
    if ax.name == "3d":
        ax.text2D(0.5, -0.02, caption, transform=ax.transAxes, ha="center", va="top", **style)
    else:
        ax.set_xlabel(caption, labelpad=6, **style)


def _write_names(ax, Y: np.ndarray, classes: Classes) -> None:
    """Names at dense spots, large classes first; a name with no free spot is left out."""
    from matplotlib.patheffects import withStroke

    ax.apply_aspect()
    many = len(classes.names)
    style = {
        "fontsize": float(np.clip(14 - 1.6 * math.log2(max(many, 1)) * 0.55, 6.0, 12.0)),
        "fontweight": "bold",
        "color": INK,
        "ha": "center",
        "va": "center",
        "path_effects": [withStroke(linewidth=2.6, foreground=(1, 1, 1, 0.85))],
        "parse_math": False,
        "zorder": 5,
    }
    sizes = np.bincount(classes.codes[classes.codes >= 0], minlength=many)
    spots = dense_spots(Y, classes.codes, many, most=60)
    frame = ax.get_window_extent()
    taken = []
    for code in np.argsort(-sizes, kind="stable"):
        if not sizes[code]:
            continue
        text = ax.text(0, 0, _short(classes.names[code]), **style)
        extent = text.get_window_extent()
        width, height = extent.width + 3, extent.height + 1
        for x, y in ax.transData.transform(spots[code]):
            # Inside the panel; and above a handful of points, which the name would cover.
            x = float(np.clip(x, frame.x0 + width / 2, frame.x1 - width / 2))
            y += height if sizes[code] < 5 else 0.0
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                text.set_position(ax.transData.inverted().transform((x, y)))
                break
        else:
            text.remove()


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _overlap(one: tuple, other: tuple) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _write_legend(owner, classes: Classes, transform, anchor: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    entries = list(zip(classes.names, classes.colors, strict=True))
    if (classes.codes < 0).any():
        entries.append(("missing", MISSING))
    handles = [Line2D([], [], marker="o", linestyle="", markersize=6, color=color) for _, color in entries]
    legend = owner.legend(
        handles,
        [_short(name) for name, _ in entries],
        loc="center left",
        bbox_to_anchor=anchor,
        bbox_transform=transform,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        handletextpad=0.2,
        borderaxespad=0.3,
        ncols=math.ceil(len(handles) / MOST_LEGEND_ROWS),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _draw_colorbar(figure, values: Values, **place) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colormap = LinearSegmentedColormap.from_list("actup", SEQUENTIAL)
    mappable = ScalarMappable(Normalize(values.low, values.high), colormap)
    known = values.values[np.isfinite(values.values)]
    below, above = bool((known < values.low).any()), bool((known > values.high).any())
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    bar = figure.colorbar(mappable, extend=extend[below, above], extendfrac=0.03, **place)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=QUIET_INK, length=0)


__all__ = ["plot_embedding", "plot_gallery"]
