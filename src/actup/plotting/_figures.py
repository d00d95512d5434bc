"""Figures and axes of matplotlib to draw maps on, and the files they are written to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actup._errors import WrongType
from actup._output_path import read_path
from actup._whole_file import reject_special, whole_file
from actup.plotting._grid import HEADING_INCHES, PANEL_INCHES, Grid
from actup.plotting._theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMATS = ("png", "pdf", "svg", "jpg", "jpeg", "tif", "tiff", "webp")
# Text stays text in files of vector graphics, so that it can be edited and searched.
_FILE_SETTINGS: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "actup"}
_DATES: Any = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}  # left out: equal pictures are equal files


def require_matplotlib() -> None:
    """Raise an error that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install actup[plot]") from error


def check_path(path: str | os.PathLike[str] | None) -> Path | None:
    """Return the path of a picture; its suffix must name a format that can be written."""
    if path is None:
        return None
    path = Path(read_path(path))
    if path.suffix.lower().lstrip(".") not in _FORMATS:
        raise ValueError(f"path={str(path)!r} must end in .png, .pdf or .svg, which says what to write")
    if path.is_dir():
        raise ValueError(f"path={str(path)!r} is a folder: give the name of a file in it")
    reject_special(path, f"path={str(path)!r}")
    return path


def new_axes(dimensions: int, theme: Theme, registered: bool) -> Axes:
    """Return the axes of a new figure for one map; a ``registered`` figure is one of pyplot's."""
    size = (PANEL_INCHES * 1.4, PANEL_INCHES * (0.7 if dimensions == 1 else 1.4))
    figure = _figure(size, theme, registered, layout="constrained")
    return figure.add_subplot(projection="3d" if dimensions == 3 else None)


def new_figure(grid: Grid, title: str | None, theme: Theme, registered: bool) -> Figure:
    """Return a new figure for several panels; a ``registered`` one is one of pyplot's."""
    figure = _figure(grid.size, theme, registered)
    if title is not None:
        y = 1 - 0.6 * HEADING_INCHES / grid.size[1]
        figure.text(0.5, y, title, ha="center", va="center", fontsize=15, color=theme.ink, parse_math=False)
    return figure


def check_axes(dimensions: int, ax: Axes | None) -> None:
    """Reject maps of more than three dimensions, and axes that cannot show one of three."""
    if dimensions > 3:
        raise ValueError(
            f"Y has {dimensions} dimensions, pictures show at most 3; choose columns, such as Y[:, :2], "
            "or embed with n_components=2"
        )
    if ax is not None and not hasattr(ax, "add_artist"):
        raise WrongType(f"ax={ax!r} must be Matplotlib's axes, e.g. of plt.subplots()")
    if ax is not None and dimensions == 3 and ax.name != "3d":
        raise ValueError("Y has 3 dimensions; give axes made with projection='3d', or Y[:, :2]")


def save_figure(figure: Any, path: Path, dpi: float) -> None:
    """Write a picture whole or not at all; missing folders are created."""
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_FILE_SETTINGS), whole_file(path) as unfinished:
        kind = path.suffix.lower().lstrip(".")
        background = figure.get_facecolor()
        figure.savefig(unfinished, format=kind, dpi=dpi, facecolor=background, metadata=_DATES.get(kind))


def _figure(size: tuple[float, float], theme: Theme, registered: bool, layout: Any = None) -> Figure:
    require_matplotlib()
    options: Any = {"figsize": size, "facecolor": theme.background, "layout": layout}
    if registered:
        from matplotlib import pyplot

        from actup.plotting._shown_once import ShownOnce

        return pyplot.figure(FigureClass=ShownOnce, **options)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure
