"""Legends of classes and colour bars of values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from actup.plotting._colors import SEQUENTIAL
from actup.plotting._scene import Classes, Values
from actup.plotting._theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

_MAX_ROWS = 24
_MAX_COLUMNS = 3  # a wider legend would push the map aside
_SECONDS_PER_DAY = 86_400


def legend_entries(classes: Classes, most: int) -> list[tuple[str, str]]:
    """Names and colours of the classes, the largest first.

    The class that stands for all small ones, and missing labels, come last. Of more than ``most`` entries,
    the last one counts those that are left out.
    """
    entries = classes.entries()
    count = len(classes.names) - classes.has_rest
    sizes = np.bincount(classes.codes[classes.codes >= 0], minlength=count)[:count]
    order = [*np.argsort(-sizes, kind="stable").tolist(), *range(count, len(entries))]
    if len(order) <= most:
        return [entries[code] for code in order]
    left_out = len(order) - (most - 1)
    return [*(entries[code] for code in order[: most - 1]), (f"and {left_out:,} more", "none")]


def write_legend(
    owner: Axes | Figure,
    classes: Classes,
    theme: Theme,
    transform: Transform,
    anchor: tuple[float, float],
    columns: int = _MAX_COLUMNS,
) -> None:
    """Write a legend whose left edge has its middle at ``anchor``."""
    from matplotlib.lines import Line2D

    from actup.plotting._names import one_line

    entries = legend_entries(classes, columns * _MAX_ROWS)
    handles = [Line2D([], [], marker="o", linestyle="", markersize=6, color=color) for _, color in entries]
    legend = owner.legend(
        handles,
        [one_line(name) for name, _ in entries],
        loc="center left",
        bbox_to_anchor=anchor,
        bbox_transform=transform,
        frameon=False,
        fontsize=8,
        labelcolor=theme.ink,
        handletextpad=0.2,
        borderaxespad=0.3,
        ncols=math.ceil(len(handles) / _MAX_ROWS),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def draw_colorbar(
    figure: Any, values: Values, theme: Theme, horizontal: bool = False, **placement: Any
) -> None:
    """Draw a colour bar; ``placement`` are the arguments of matplotlib's ``colorbar`` that place it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colormap = LinearSegmentedColormap.from_list("actup", SEQUENTIAL)
    ends = (values.low, values.high)
    if values.scale == "date":
        ends = (_date_number(values.low), _date_number(values.high))
    mappable = ScalarMappable(Normalize(*ends), colormap)
    known = values.values[np.isfinite(values.values)]
    below, above = bool((known < values.low).any()), bool((known > values.high).any())
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    orientation = "horizontal" if horizontal else "vertical"
    bar = figure.colorbar(
        mappable, extend=extend[below, above], extendfrac=0.03, orientation=orientation, **placement
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=theme.quiet_ink, length=0)
    axis = bar.ax.xaxis if horizontal else bar.ax.yaxis
    if values.scale == "date":
        from matplotlib import dates

        locator = dates.AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
        axis.set_major_locator(locator)
        axis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        axis.get_offset_text().set(color=theme.quiet_ink, fontsize=8)
    elif values.scale == "duration":
        bar.set_label("days", fontsize=8, color=theme.quiet_ink)


def _date_number(seconds: float) -> float:
    """Return seconds since 1970 as matplotlib counts dates."""
    from matplotlib.dates import date2num

    start = date2num(np.datetime64("1970-01-01"))  # type: ignore[no-untyped-call]
    return float(start) + seconds / _SECONDS_PER_DAY
