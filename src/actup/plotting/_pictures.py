"""Static pictures of maps with matplotlib: one map, or a gallery of several."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from actup._maps import read_map, read_maps
from actup.plotting._colors import SEQUENTIAL
from actup.plotting._grid import HEADING_INCHES, PANEL_INCHES, Grid
from actup.plotting._scene import (
    Classes,
    Values,
    dense_spots,
    name_largest,
    read_captions,
    read_labels,
    spread_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top

INK = "#22252b"
QUIET_INK = "#6b7280"
_PLAIN_COLOR = (0, 114, 178)  # of points without labels
_MAX_LEGEND_ROWS = 24
_MAX_LEGEND_COLUMNS = 3  # a wider legend would push the map aside
_MAX_NAME_LENGTH = 28
_NAME_SPOTS = 60  # places tried for each class name


def plot_embedding(
    Y: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    title: str | None = None,
    caption: str | None = None,
    ax: Axes | None = None,
    names: str = "auto",
    label_kind: str = "auto",
    colorbar: bool = True,
) -> Axes:
    """Draw one map.

    Parameters
    ----------
    Y : array-like of shape (n,), (n, 1), (n, 2) or (n, 3)
        The map. A one-dimensional map is drawn as a line of points that spread out where they are dense, a
        three-dimensional one on three-dimensional axes.
    labels : array-like of shape (n,), default=None
        Classes or values of the points. Points without a label (None, NaN, NaT, pandas' NA, masked) are grey.
        Of more than 1,000 classes, the largest keep their names and colours.
    title : str, default=None
        Line above the map.
    caption : str, default=None
        Line under the map, such as quality measures and run time.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on; None makes a new figure. A three-dimensional map needs three-dimensional axes.
    names : {"auto", "map", "legend", "none"}, default="auto"
        Where to write class names: on the map at a dense spot of each class, in a legend beside it, or
        nowhere. ``"auto"`` is the map in two dimensions and the legend otherwise.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans and whole numbers
        with at most 128 distinct values as classes.
    colorbar : bool, default=True
        Whether to draw a colour bar for values.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the map.

    Warns
    -----
    UserWarning
        If there are more than 1,000 classes.

    See Also
    --------
    plot_gallery : Draws several maps side by side.
    actup.viewer.write_page : Writes an interactive page.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from matplotlib import pyplot
    >>> from sklearn.datasets import load_iris
    >>> from actup.plotting import plot_embedding
    >>> iris = load_iris()
    >>> ax = plot_embedding(iris.data[:, 2:], iris.target_names[iris.target], title="Iris petals")
    >>> sorted(text.get_text() for text in ax.texts)
    ['setosa', 'versicolor', 'virginica']
    >>> pyplot.close(ax.figure)
    """
    if names not in ("auto", "map", "legend", "none"):
        raise ValueError(f"names={names!r} must be 'auto', 'map', 'legend' or 'none'")
    Y = read_map(Y)
    scene = _read_scene(labels, len(Y), label_kind)
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


def plot_gallery(
    maps: Mapping[str, ArrayLike],
    labels: ArrayLike | None = None,
    captions: Mapping[str, str] | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    label_kind: str = "auto",
    columns: int | None = None,
) -> Figure:
    """Draw several maps of the same points side by side.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n,) or (n, n_components)
        Maps by name, of at most three dimensions; the name becomes the panel's title.
    labels : array-like of shape (n,), default=None
        Classes or values of the points, the same for every map; see :func:`plot_embedding`.
    captions : mapping of str to str, default=None
        Line under a panel, by map name.
    path : str or path-like, default=None
        Where to write the picture; the suffix decides the format. None writes no file.
    title : str, default=None
        Line above all panels.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans and whole numbers
        with at most 128 distinct values as classes.
    columns : int, default=None
        Number of panels in a row; None makes the gallery as square as possible.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. It is not registered with pyplot, so it need not be closed.

    Warns
    -----
    UserWarning
        If there are more than 1,000 classes.

    See Also
    --------
    plot_embedding : Draws one map.
    actup.embed_many : Computes several maps of the same data.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from actup.plotting import plot_gallery
    >>> iris = load_iris()
    >>> maps = {"sepals": iris.data[:, :2], "petals": iris.data[:, 2:]}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.png"
    ...     figure = plot_gallery(maps, iris.target_names[iris.target], path=path)
    ...     path.exists()
    True
    >>> [ax.get_title() for ax in figure.axes]
    ['sepals', 'petals']
    """
    if columns is not None and columns < 1:
        raise ValueError(f"columns={columns} must be at least 1")
    arrays = read_maps(maps)
    captions = read_captions(captions, arrays)
    n = len(next(iter(arrays.values())))
    scene = _read_scene(labels, n, label_kind)
    if columns is None:
        columns = len(arrays) if len(arrays) <= 3 else math.ceil(math.sqrt(len(arrays)))
    columns = min(columns, len(arrays))
    # Panels of two dimensions show the class names themselves; any other panel needs the common legend.
    legend = scene if isinstance(scene, Classes) and any(Y.shape[1] != 2 for Y in arrays.values()) else None
    grid = Grid(len(arrays), columns, title is not None, legend is not None or isinstance(scene, Values))
    figure = _new_figure(grid, title)
    for panel, (name, Y) in enumerate(arrays.items()):
        ax = figure.add_axes(grid.cell(panel), projection="3d" if Y.shape[1] == 3 else None)
        _draw_map(_axes_for(Y, ax), Y, scene, name, captions[name], Y.shape[1] == 2)
    if legend is not None:
        _write_legend(figure, legend, figure.transFigure, grid.aside_anchor(), columns=1)
    elif isinstance(scene, Values):
        _draw_colorbar(figure, scene, cax=figure.add_axes(grid.aside_bar()))
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    return figure


def _read_scene(labels: ArrayLike | None, n: int, label_kind: str) -> Classes | Values | None:
    scene = read_labels(labels, n, label_kind)
    return name_largest(scene) if isinstance(scene, Classes) else scene


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install actup[plot]") from error


def _new_figure(grid: Grid, title: str | None) -> Figure:
    _require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=grid.size, facecolor="white")
    FigureCanvasAgg(figure)
    if title is not None:
        y = 1 - 0.6 * HEADING_INCHES / grid.size[1]
        figure.text(0.5, y, title, ha="center", va="center", fontsize=15, color=INK, parse_math=False)
    return figure


def _axes_for(Y: np.ndarray, ax: Axes | None) -> Axes:
    """Return the given axes, or new ones, after checking that they can show the map."""
    dimensions = Y.shape[1]
    if dimensions > 3:
        raise ValueError(
            f"Y has {dimensions} dimensions, pictures show at most 3; choose columns, such as Y[:, :2], "
            "or embed with n_components=2"
        )
    if ax is None:
        _require_matplotlib()
        from matplotlib import pyplot

        size = (PANEL_INCHES * 1.4, PANEL_INCHES * (0.7 if dimensions == 1 else 1.4))
        figure = pyplot.figure(figsize=size, facecolor="white", layout="constrained")
        return figure.add_subplot(projection="3d" if dimensions == 3 else None)
    if dimensions == 3 and ax.name != "3d":
        raise ValueError("Y has 3 dimensions; give axes made with projection='3d', or Y[:, :2]")
    return ax


def _point_style(n: int, area: float) -> tuple[float, float]:
    """Return the marker area in square points and the opacity for ``n`` points on a panel.

    All markers together cover a fixed share of the panel's ``area``, given in square points (1/72 inch). The
    more points there are, the more of them overlap, and the more transparent each one is.
    """
    size = float(np.clip(0.22 * area / n, 0.8, 42.0))
    opacity = float(np.clip(1.05 - 0.1 * math.log10(max(n, 1)), 0.3, 0.9))
    return size, opacity


def _draw_map(
    ax: Axes,
    Y: np.ndarray,
    scene: Classes | Values | None,
    title: str | None,
    caption: str | None,
    names: bool,
) -> None:
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


def _draw_points(ax: Any, Y: np.ndarray, scene: Classes | Values | None) -> None:
    box = ax.get_window_extent()
    size, opacity = _point_style(len(Y), box.width * box.height * (72.0 / ax.figure.dpi) ** 2)
    colors = np.full((len(Y), 3), _PLAIN_COLOR) if scene is None else scene.point_colors()
    # Shuffled, with a fixed seed: in the order of the rows the last class would cover the others.
    order = np.random.default_rng(0).permutation(len(Y))
    ax.scatter(
        *Y[order].T, s=size, c=colors[order] / 255.0, alpha=opacity, linewidths=0, marker="o", rasterized=True
    )


def _clear_frame(ax: Any) -> None:
    """Remove ticks and frame, and make the axes equal."""
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


def _write_caption(ax: Any, caption: str) -> None:
    style = {"fontsize": 9, "color": QUIET_INK, "parse_math": False}
    if ax.name == "3d":
        ax.text2D(0.5, -0.02, caption, transform=ax.transAxes, ha="center", va="top", **style)
    else:
        ax.set_xlabel(caption, labelpad=6, **style)


def _write_names(ax: Axes, Y: np.ndarray, classes: Classes) -> None:
    """Write class names at dense spots, large classes first; leave out a name that finds no free spot."""
    from matplotlib.patheffects import withStroke

    ax.apply_aspect()
    count = len(classes.names) - classes.has_rest
    style: dict[str, Any] = {
        "fontsize": float(np.clip(14 - 1.6 * math.log2(max(count, 1)) * 0.55, 6.0, 12.0)),
        "fontweight": "bold",
        "color": INK,
        "ha": "center",
        "va": "center",
        "path_effects": [withStroke(linewidth=2.6, foreground=(1, 1, 1, 0.85))],
        "parse_math": False,
        "zorder": 5,
    }
    sizes = np.bincount(classes.codes[classes.codes >= 0], minlength=count)[:count]
    spots = dense_spots(Y, classes.codes, count, most=_NAME_SPOTS)
    frame = ax.get_window_extent()
    taken: list[Box] = []
    for code in np.argsort(-sizes, kind="stable"):
        if not sizes[code]:
            continue
        text = ax.text(0, 0, _short(classes.names[code]), **style)
        extent = text.get_window_extent()
        width, height = extent.width + 3, extent.height + 1
        for x, y in ax.transData.transform(spots[code]):
            # Keep the name inside the panel, and above a class of few points, which it would cover.
            x = float(np.clip(x, frame.x0 + width / 2, frame.x1 - width / 2))
            y += height if sizes[code] < 5 else 0.0
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                spot_x, spot_y = ax.transData.inverted().transform((x, y))
                text.set_position((spot_x, spot_y))
                break
        else:
            text.remove()


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 1] + "…"


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _legend_entries(classes: Classes, most: int) -> list[tuple[str, str]]:
    """Names and colours of all classes, or of the largest ones and a line that counts the others."""
    entries = classes.entries()
    if len(entries) <= most:
        return entries
    sizes = np.bincount(classes.codes % len(entries), minlength=len(entries))  # missing ones are the last
    kept = np.sort(np.argsort(-sizes, kind="stable")[: most - 1])
    left_out = len(entries) - len(kept)
    return [*(entries[code] for code in kept), (f"and {left_out:,} more", "none")]


def _write_legend(
    owner: Axes | Figure,
    classes: Classes,
    transform: Transform,
    anchor: tuple[float, float],
    columns: int = _MAX_LEGEND_COLUMNS,
) -> None:
    from matplotlib.lines import Line2D

    entries = _legend_entries(classes, columns * _MAX_LEGEND_ROWS)
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
        ncols=math.ceil(len(handles) / _MAX_LEGEND_ROWS),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _draw_colorbar(figure: Any, values: Values, **placement: Any) -> None:
    """Draw a colour bar; ``placement`` are the arguments of matplotlib's ``colorbar`` that place it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colormap = LinearSegmentedColormap.from_list("actup", SEQUENTIAL)
    mappable = ScalarMappable(Normalize(values.low, values.high), colormap)
    known = values.values[np.isfinite(values.values)]
    below, above = bool((known < values.low).any()), bool((known > values.high).any())
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    bar = figure.colorbar(mappable, extend=extend[below, above], extendfrac=0.03, **placement)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=QUIET_INK, length=0)
