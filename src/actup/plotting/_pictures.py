"""Pictures of one map on given axes, and galleries of several maps of the same points."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from actup._maps import placed_points, read_map, read_maps
from actup._suggestions import PICTURE_NAMES, explain_unknown_keywords
from actup._values import read_name, read_optional_count
from actup.plotting._color_assignment import assign_colors
from actup.plotting._figures import check_axes, check_path, new_axes, new_figure, save_figure
from actup.plotting._grid import Grid
from actup.plotting._legend import draw_colorbar, write_legend
from actup.plotting._naming import LayeredClusters, have_places
from actup.plotting._panel import Panel, draw_panel, read_style
from actup.plotting._scene import Classes, Values, name_largest, read_captions, read_labels
from actup.plotting._theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 160


@explain_unknown_keywords(PICTURE_NAMES)
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
    """Draw one map, with the usual choices of :func:`actup.plot`.

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
        nowhere. ``"auto"`` is the map in two dimensions, unless the classes mix all over it, and the legend
        otherwise.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans, whole numbers with
        at most 128 distinct values and dates with at most twelve as classes.
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
    actup.plot : Has more choices: several columns, facets, clusters, themes, files.
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
    array = read_map(Y, allow_gaps=True)
    check_axes(array.shape[1], ax)
    check_names(names, array.shape[1])
    placed = placed_points([array])
    points = array[placed]
    scene = read_scene(labels, points, label_kind, placed)
    panel = Panel(points, scene, title, caption, names_on_map(names, points, scene))
    style = read_style("light", "bulk", True, None)
    ax = ax or new_axes(points.shape[1], style.theme, registered=True)
    draw_panel(ax, panel, style)
    add_keys(ax, panel, names, style.theme, colorbar)
    return ax


@explain_unknown_keywords(PICTURE_NAMES)
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
        Where to write the picture, whole or not at all; the suffix decides the format: png, pdf or svg.
        Missing folders are created. None writes no file: ``matplotlib.pyplot.show()`` shows the picture,
        as do notebooks.
    title : str, default=None
        Line above all panels.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans, whole numbers with
        at most 128 distinct values and dates with at most twelve as classes.
    columns : int, default=None
        Number of panels in a row; None makes the gallery as square as possible.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. It is one of pyplot's unless ``path`` is given: ``pyplot.show()`` shows it,
        ``pyplot.close(figure)`` frees its memory.

    Warns
    -----
    UserWarning
        If there are more than 1,000 classes.

    See Also
    --------
    actup.plot : Draws one map, also with several columns of labels.
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
    columns = read_optional_count(columns, "columns", 1)
    path = check_path(path)
    arrays = read_maps(maps, allow_gaps=True)
    captions = read_captions(captions, arrays)
    for Y in arrays.values():
        check_axes(Y.shape[1], None)
    placed = placed_points(arrays.values())
    arrays = {name: Y[placed] for name, Y in arrays.items()}
    scene = read_scene(labels, next(iter(arrays.values())), label_kind, placed)
    columns = grid_columns(len(arrays), columns)
    # Panels of two dimensions show the class names themselves; any other panel needs the common legend.
    legend = scene if isinstance(scene, Classes) and any(Y.shape[1] != 2 for Y in arrays.values()) else None
    grid = Grid(len(arrays), columns, title is not None, legend is not None or isinstance(scene, Values))
    style = read_style("light", "bulk", True, None)
    figure = new_figure(grid, title, style.theme, registered=path is None)
    for index, (name, Y) in enumerate(arrays.items()):
        ax = figure.add_axes(grid.cell(index), projection="3d" if Y.shape[1] == 3 else None)
        draw_panel(ax, Panel(Y, scene, name, captions[name], Y.shape[1] == 2), style)
    if legend is not None:
        write_legend(figure, legend, style.theme, figure.transFigure, grid.aside_anchor(), columns=1)
    elif isinstance(scene, Values):
        draw_colorbar(figure, scene, style.theme, cax=figure.add_axes(grid.aside_bar()))
    if path is not None:
        save_figure(figure, path, _DPI)
    return figure


def read_scene(
    labels: ArrayLike | None, Y: np.ndarray, kind: str, placed: np.ndarray, name: str = "labels"
) -> Classes | Values | None:
    """Read labels, name the largest classes, and give neighbours on the map different colours.

    Parameters
    ----------
    labels : array-like of shape (n,) or None
    Y : ndarray of shape (m, n_components)
        The points that have a place.
    kind : {"auto", "classes", "values"}
    placed : ndarray of shape (n,), bool
        Which points these are.
    name : str
        What error messages call the labels.
    """
    scene = read_labels(labels, len(placed), kind, name)
    if scene is not None and not placed.all():
        scene = scene.selected(placed)
    named = name_largest(scene) if isinstance(scene, Classes) else scene
    return assign_colors(named, Y) if isinstance(named, Classes) else named


def check_names(names: str, dimensions: int) -> None:
    """Reject a choice of names that a map of so many dimensions cannot have."""
    read_name(names, "names", ("auto", "map", "legend", "none"))
    if names == "map" and dimensions == 3:
        raise ValueError("names='map' needs a map of one or two dimensions, Y has 3; use names='legend'")


def names_on_map(
    names: str, Y: np.ndarray, scene: Classes | Values | None, clusters: LayeredClusters | None = None
) -> bool:
    """Whether the names of clusters, or else of classes, are written on the map."""
    if names != "auto":
        return names == "map"
    named = scene if clusters is None else None
    return Y.shape[1] == 2 and (not isinstance(named, Classes) or have_places(Y, named))


def grid_columns(panels: int, columns: int | None) -> int:
    """Return the number of panels in a row: as given, or so that the grid is about square."""
    if columns is None:
        columns = panels if panels <= 3 else math.ceil(math.sqrt(panels))
    return min(columns, panels)


def add_keys(ax: Axes, panel: Panel, names: str, theme: Theme, colorbar: bool) -> None:
    """Add the legend or the colour bar that explains the colours of a panel beside it."""
    if isinstance(panel.scene, Classes) and names in ("auto", "legend") and not panel.names:
        write_legend(ax, panel.scene, theme, ax.transAxes, (1.0, 0.5))
    if isinstance(panel.scene, Values) and colorbar:
        draw_colorbar(ax.figure, panel.scene, theme, ax=ax, shrink=0.6, aspect=30, pad=0.02)
