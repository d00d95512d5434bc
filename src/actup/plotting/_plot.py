"""plot(): a picture of a map, good at a hundred and at ten million points."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._maps import placed_points
from actup._suggestions import PICTURE_NAMES, explain_unknown_keywords
from actup._values import read_flag, read_optional_count, read_positive
from actup._warnings import warn_user
from actup.plotting._color_assignment import assign_colors
from actup.plotting._colors import categorical_palette
from actup.plotting._columns import read_columns, read_model_or_map
from actup.plotting._figures import check_axes, check_path, new_axes, new_figure, save_figure
from actup.plotting._grid import Grid
from actup.plotting._legend import draw_colorbar, write_legend
from actup.plotting._naming import LayeredClusters, select_points
from actup.plotting._panel import Panel, Style, draw_panel, read_style
from actup.plotting._pictures import add_keys, check_names, grid_columns, names_on_map, read_scene
from actup.plotting._scene import Classes, Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_FACETS = 30
_MAX_DPI = 10_000.0
_MAX_PANELS_INCHES = 13.0  # width of all panels of a row
_PANEL_INCHES = (2.3, 4.4)  # smallest and largest side of one of several panels
_FOOT_INCHES = 0.5  # under a panel, for its colour bar


@explain_unknown_keywords(PICTURE_NAMES)
def plot(
    model_or_Y: Any,
    labels: Any = None,
    values: Any = None,
    *,
    clusters: LayeredClusters | None = None,
    facets: Any = None,
    title: str | None = None,
    caption: str | None = None,
    ax: Axes | None = None,
    path: str | os.PathLike[str] | None = None,
    names: str = "auto",
    label_kind: str = "auto",
    theme: str = "light",
    view: str = "bulk",
    note: bool = True,
    colorbar: bool = True,
    point_size: float | None = None,
    columns: int | None = None,
    dpi: float = 200,
) -> Axes | Figure:
    """Draw a map.

    Few points are crisp discs. Many are rendered by their density: colours mix in proportion to the points,
    single points stay visible, and the densest parts have the deepest shade. The points are one image, at the
    resolution of the screen or file; all text stays text in a PDF or SVG. Needs matplotlib
    (``pip install actup[plot]``).

    Parameters
    ----------
    model_or_Y : fitted model, or array-like or data frame of shape (n,), (n, 1), (n, 2) or (n, 3)
        The map. One dimension is drawn as a line of points that spread out where they are dense, three on
        three-dimensional axes. Points without a place (NaN), such as disconnected samples of UMAP, are left
        out.
    labels : array-like of shape (n,), or a list, mapping or data frame of several, default=None
        Classes of the points, or numbers or dates, which are shown as values. Points without a label (None,
        NaN, NaT, pandas' NA, masked) are grey. Several columns make one panel each. Of more than 1,000
        classes, the largest keep their names and colours.
    values : array-like of shape (n,), or a list, mapping or data frame of several, default=None
        Numbers or dates on a continuous scale, with a colour bar. With ``labels``, both have a panel each.
    clusters : actup.clusters.Clusters, default=None
        Clusters whose names are written on the map: those of the coarsest layer large, those of finer layers
        smaller, where there is room. Without labels and values, those of the main layer colour the points.
    facets : array-like of shape (n,), default=None
        Classes that get a panel each: it shows the points of one class, and all others faintly behind them.
    title : str, default=None
        Line above the map, or above all panels.
    caption : str, default=None
        Line under the map; only for a single panel.
    ax : matplotlib.axes.Axes, default=None
        Axes for a single panel. None makes a new figure.
    path : str or path-like, default=None
        Where to write the picture, whole or not at all; the suffix decides the format: png, pdf or svg.
        Missing folders are created. None writes no file: ``matplotlib.pyplot.show()`` shows the picture,
        as do notebooks.
    names : {"auto", "map", "legend", "none"}, default="auto"
        Where to write class names: on the map, beside or on each class, never over each other; in a legend by
        the size of the classes; or nowhere. ``"auto"`` is the map in two dimensions, unless the classes mix
        all over it, and the legend otherwise.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans, whole numbers with
        at most 128 distinct values and dates with at most twelve as classes.
    theme : {"light", "dark"}, default="light"
        Colour of background and text.
    view : {"bulk", "all"}, default="bulk"
        Whether the view is fitted to the bulk of the points, so that a few outliers do not shrink the map.
    note : bool, default=True
        Whether to write in a corner how many points are outside the view.
    colorbar : bool, default=True
        Whether to draw a colour bar for values.
    point_size : float, default=None
        Diameter of a point in points (1/72 inch); None chooses it by the number of points.
    columns : int, default=None
        Number of panels in a row; None makes the grid as square as possible.
    dpi : float, default=200
        Resolution of the file in pixels per inch.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib.figure.Figure
        The axes of a single panel, or the figure of several. A new figure is one of pyplot's unless ``path``
        is given: ``pyplot.show()`` shows it, ``pyplot.close(figure)`` frees its memory.

    Warns
    -----
    UserWarning
        If there are more than 1,000 classes or more than 30 facets, or if points have no place.

    See Also
    --------
    actup.plotting.plot_gallery : Draws several maps of the same points.
    actup.viewer.write_page : Writes an interactive page.

    Examples
    --------
    >>> import actup
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> species = iris.target_names[iris.target]
    >>> with TemporaryDirectory() as folder:
    ...     ax = actup.plot(iris.data[:, 2:], labels=species, path=Path(folder) / "iris.pdf")
    >>> sorted(text.get_text() for text in ax.texts)
    ['setosa', 'versicolor', 'virginica']

    Two columns make two panels:

    >>> figure = actup.plot(iris.data[:, 2:], labels=species, values={"sepal length": iris.data[:, 0]})
    >>> [ax.get_title() for ax in figure.axes[:2]]
    ['labels', 'sepal length']
    """
    file = check_path(path)
    dpi = read_positive(dpi, "dpi", "pixels per inch", _MAX_DPI)
    columns = read_optional_count(columns, "columns", 1)
    colorbar = read_flag(colorbar, "colorbar")
    caption = None if caption is None else str(caption)
    style = read_style(theme, view, note, point_size)
    Y = read_model_or_map(model_or_Y)
    check_axes(Y.shape[1], ax)
    _check_clusters(clusters, len(Y))
    check_names(names, Y.shape[1])
    placed = placed_points([Y])
    Y = Y[placed]
    clusters = None if clusters is None else select_points(clusters, placed)
    scenes = _read_scenes(Y, placed, labels, values, label_kind, clusters)
    panels = [
        Panel(Y, scene, name, None, facets is None and names_on_map(names, Y, scene, clusters), clusters)
        for name, scene in scenes.items()
    ]
    if facets is not None:
        panels = _facet_panels(panels, facets, placed)
    if len(panels) == 1 and facets is None:
        panel = replace(panels[0], title=title, caption=caption)
        ax = ax or new_axes(Y.shape[1], style.theme, registered=file is None)
        draw_panel(ax, panel, style)
        shown_names = replace(panel, names=panel.names and (clusters is None or labels is None))
        add_keys(ax, shown_names, names, style.theme, colorbar)
        drawn: Axes | Figure = ax
        figure: Any = ax.figure
    else:
        _reject_single(ax, caption, len(panels))
        columns = grid_columns(len(panels), columns)
        drawn = _draw_panels(
            panels, style, title, columns, facets is not None, names, colorbar, registered=file is None
        )
        figure = drawn
    if file is not None:
        save_figure(figure, file, dpi)
    return drawn


def _check_clusters(clusters: LayeredClusters | None, n: int) -> None:
    if clusters is None:
        return
    if not hasattr(clusters, "layers"):
        raise TypeError(
            f"clusters is a {type(clusters).__name__}: give the result of actup.find_clusters, or classes as "
            "labels"
        )
    wrong = [len(layer.codes) for layer in clusters.layers if len(layer.codes) != n]
    if wrong:
        raise ValueError(f"clusters has codes of {wrong[0]} points, but the map has {n}")


def _read_scenes(
    Y: np.ndarray,
    placed: np.ndarray,
    labels: Any,
    values: Any,
    label_kind: str,
    clusters: LayeredClusters | None,
) -> dict[str, Classes | Values | None]:
    """Return the labels of every panel by its title."""
    scenes: dict[str, Classes | Values | None] = {}
    for what, given, kind in (("labels", labels, label_kind), ("values", values, "values")):
        for name, column in read_columns(given, len(placed)).items():
            full = f"{what}[{name!r}]" if name else what
            title = name or what
            while title in scenes:  # the same name among labels and values
                title += " "
            scenes[title] = read_scene(column, Y, kind, placed, full)
    if not scenes:
        scenes[""] = None if clusters is None else _cluster_classes(Y, clusters)
    return scenes


def _cluster_classes(Y: np.ndarray, clusters: LayeredClusters) -> Classes | None:
    """Return the clusters of the main layer as classes."""
    if not clusters.layers or not len(clusters.layers[clusters.main].names):
        return None
    layer = clusters.layers[clusters.main]
    names = [str(name) for name in layer.names]
    codes, palette = np.asarray(layer.codes, np.int32), categorical_palette(len(names))
    return assign_colors(Classes(codes, names, palette, missing_name="no cluster"), Y)


def _facet_panels(panels: list[Panel], facets: Any, placed: np.ndarray) -> list[Panel]:
    """Return a panel for each of the largest classes, in the order of their names."""
    if len(panels) > 1:
        raise ValueError(
            f"facets need one column of labels or values, got {len(panels)}; draw them one by one"
        )
    classes = read_scene(facets, np.zeros((len(panels[0].Y), 1)), "classes", placed, "facets")
    if not isinstance(classes, Classes) or not classes.names:
        raise ValueError("facets must name classes of several points each; it names none")
    sizes = np.bincount(classes.codes[classes.codes >= 0], minlength=len(classes.names))
    shown = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_FACETS])
    if len(shown) < len(sizes):
        warn_user(f"facets has {len(sizes):,} classes: the {len(shown)} largest have a panel")
    return [
        replace(
            panels[0],
            title=f"{classes.names[code]} ({sizes[code]:,})",
            members=classes.codes == code,
            clusters=None,
        )
        for code in shown
    ]


def _reject_single(ax: Axes | None, caption: str | None, panels: int) -> None:
    """Reject what only a single panel can have."""
    for name, given in (("ax", ax), ("caption", caption)):
        if given is not None:
            raise ValueError(f"{name} needs a single panel, this picture has {panels}; leave {name} out")


def _draw_panels(
    panels: list[Panel],
    style: Style,
    title: str | None,
    columns: int,
    faceted: bool,
    names: str,
    colorbar: bool,
    registered: bool,
) -> Figure:
    """Draw small multiples. Facets share one legend or colour bar; other panels have their own bars."""
    side = float(np.clip(_MAX_PANELS_INCHES / columns, *_PANEL_INCHES))
    scenes = [panel.scene for panel in panels]
    shared = scenes[0] if faceted or len(panels) == 1 else None
    needs_legend = isinstance(shared, Classes) and names != "none" and not _is_split_by(panels, shared)
    aside = needs_legend or (isinstance(shared, Values) and colorbar)
    bars = not faceted and colorbar and any(isinstance(scene, Values) for scene in scenes)
    grid = Grid(len(panels), columns, title is not None, aside, side, _FOOT_INCHES if bars else 0.1)
    figure = new_figure(grid, title, style.theme, registered)
    for index, panel in enumerate(panels):
        ax = figure.add_axes(grid.cell(index), projection="3d" if panel.Y.shape[1] == 3 else None)
        draw_panel(ax, panel, style)
        if faceted:
            continue
        if isinstance(panel.scene, Values) and colorbar:
            bar = figure.add_axes(grid.foot_bar(index))
            draw_colorbar(figure, panel.scene, style.theme, horizontal=True, cax=bar)
        elif isinstance(panel.scene, Classes) and not panel.names and names != "none":
            write_legend(ax, panel.scene, style.theme, ax.transAxes, (0.0, 0.5), columns=1)
    if needs_legend and isinstance(shared, Classes):
        write_legend(figure, shared, style.theme, figure.transFigure, grid.aside_anchor(), columns=1)
    elif aside and isinstance(shared, Values):
        draw_colorbar(figure, shared, style.theme, cax=figure.add_axes(grid.aside_bar()))
    return figure


def _is_split_by(panels: list[Panel], classes: Classes) -> bool:
    """Whether each facet shows a single class, which its title names."""
    return all(len(np.unique(classes.codes[panel.members])) <= 1 for panel in panels)
