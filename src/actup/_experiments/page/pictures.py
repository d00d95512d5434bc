"""Pictures of the page: grids of maps, line charts, bars and heat maps, small enough for a repository."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from actup.plotting._colors import CATEGORICAL, categorical_palette, ramp
from actup.plotting._theme import INK, QUIET_INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_DPI = 110
_MAX_POINTS_DRAWN = 10_000  # per panel
_WIDTH_INCHES = 9.6  # of a whole picture
_MAX_PANEL_INCHES = 2.3
_LETTER_INCHES = 0.095  # width of a letter in a title
_LEGEND_INCHES = 0.25  # height of a line that explains colours
_PALETTE_SIZE = 256  # colours in a PNG with a palette


@dataclass(frozen=True)
class Panel:
    """A map and its caption."""

    Y: np.ndarray | None
    labels: np.ndarray | None = None
    caption: str = ""


@dataclass(frozen=True)
class Legend:
    """A line under a grid of maps that explains the colours, or only a text.

    Attributes
    ----------
    title : str
    classes : sequence of str
        Names of the classes, in the order of their numbers.
    ends : tuple of str, or None
        The meaning of the two ends of the colour ramp, where colours show values.
    """

    title: str
    classes: Sequence[str] = ()
    ends: tuple[str, str] | None = None


def new_figure(width: float, height: float) -> Figure:
    """A matplotlib figure of this size in inches that needs no display."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install actup[plot]") from error
    figure = Figure(figsize=(width, height), facecolor="white", dpi=_DPI)
    FigureCanvasAgg(figure)
    return figure


def save_png(figure: Figure, path: Path, reduce_colors: bool = True) -> None:
    """Write a PNG; reducing its colours to a palette cuts the file to a third, and points look the same."""
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    image = Image.open(buffer).convert("RGB")
    if reduce_colors:
        image = image.quantize(_PALETTE_SIZE, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, optimize=True)


def draw_maps(path: Path, rows: Sequence[Sequence[Panel]], row_titles: Sequence[str],
              column_titles: Sequence[str], legends: Sequence[Legend] = ()) -> None:  # fmt: skip
    """Draw a grid of maps with titles of rows and columns, captions under the panels and legends below."""
    columns = max(len(row) for row in rows)
    left, caption, gap = 0.34, 0.26, 0.06  # inches
    side = min(_MAX_PANEL_INCHES, (_WIDTH_INCHES - left) / columns - gap)
    width = left + columns * (side + gap)
    column_titles = [fill(title, max(8, int(side / _LETTER_INCHES))) for title in column_titles]
    top = 0.16 + 0.18 * max(title.count("\n") + 1 for title in column_titles)
    foot = 0.1 + _LEGEND_INCHES * len(legends) if legends else 0.0
    height = top + len(rows) * (side + caption) + foot
    figure = new_figure(width, height)
    for i, legend in enumerate(legends):
        _draw_legend(figure, legend, 0.06 + _LEGEND_INCHES * (len(legends) - i - 0.5))
    for r, row in enumerate(rows):
        bottom = height - top - (r + 1) * (side + caption) + caption
        middle = (bottom + side / 2) / height
        figure.text(0.12 / width, middle, row_titles[r], rotation=90, ha="center", va="center",
                    fontsize=11, color=INK)  # fmt: skip
        for c, panel in enumerate(row):
            x = left + c * (side + gap)
            axes = figure.add_axes((x / width, bottom / height, side / width, side / height))
            _draw_panel(axes, panel, side)
            center = (x + side / 2) / width
            if r == 0:
                figure.text(center, 1 - top / 2 / height, column_titles[c], ha="center", va="center",
                            fontsize=10.5, color=INK)  # fmt: skip
            figure.text(center, (bottom - 0.13) / height, panel.caption, ha="center", va="center",
                        fontsize=8.5, color=QUIET_INK)  # fmt: skip
    has_ramp = any(legend.ends for legend in legends)
    save_png(figure, path, reduce_colors=not has_ramp)  # a palette is too small for the steps of a ramp


def _draw_legend(figure: Figure, legend: Legend, y: float) -> None:
    """Draw a legend, centred on the line ``y`` inches above the lower edge."""
    width, height = figure.get_size_inches()
    dot, strip, gap = 0.13, 1.3, 0.12  # inches
    # The parts of the line, each a text, the colour of a dot, or (None, None) for the colour ramp.
    parts: list[tuple[str | None, str | None]] = [(legend.title, None)]
    for name, class_color in zip(legend.classes, categorical_palette(len(legend.classes)), strict=True):
        parts += [(None, class_color), (name, None)]
    if legend.ends is not None:
        parts += [(legend.ends[0], None), (None, None), (legend.ends[1], None)]
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]  # of FigureCanvasAgg
    texts = {
        i: figure.text(0, y / height, text, ha="left", va="center", fontsize=8.5, color=QUIET_INK)
        for i, (text, _) in enumerate(parts)
        if text is not None
    }
    extents = []
    for i, (text, color) in enumerate(parts):
        if text is not None:
            extents.append(texts[i].get_window_extent(renderer).width / _DPI + gap)
        else:
            extents.append(dot if color is not None else strip + gap)
    x = (width - sum(extents) + gap) / 2
    for i, ((text, color), extent) in enumerate(zip(parts, extents, strict=True)):
        if text is not None:
            texts[i].set_x(x / width)
        elif color is not None:
            _draw_dot(figure, (x + 0.05) / width, y / height, color)
        else:
            axes = figure.add_axes((x / width, (y - 0.05) / height, strip / width, 0.1 / height))
            axes.imshow(ramp(np.arange(128.0), 0.0, 127.0)[None].astype(np.uint8), aspect="auto")
            axes.set_axis_off()
        x += extent


def _draw_dot(figure: Figure, x: float, y: float, color: str) -> None:
    from matplotlib.lines import Line2D

    figure.add_artist(Line2D([x], [y], marker="o", markersize=5, color=color, linewidth=0))


def _draw_panel(axes: Axes, panel: Panel, side: float) -> None:
    """Draw a map into square axes of ``side`` inches."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#dfe2e7")
    if panel.Y is None or not np.isfinite(panel.Y).all():
        axes.text(0.5, 0.5, "not run" if panel.Y is None else "not finite", ha="center", va="center",
                  color=QUIET_INK, transform=axes.transAxes)  # fmt: skip
        return
    order = np.random.default_rng(0).permutation(len(panel.Y))[:_MAX_POINTS_DRAWN]
    Y = panel.Y[order]
    colors = point_colors(panel.labels, len(panel.Y))[order]
    size = float(np.clip(0.16 * (72 * side) ** 2 / len(Y), 0.35, 9.0))
    axes.scatter(Y[:, 0], Y[:, 1], s=size, c=colors, alpha=0.75, linewidths=0)
    # The frame ignores the outermost points: one far outlier would squeeze all others into a dot.
    low, high = np.quantile(Y, [0.002, 0.998], axis=0)
    center, radius = (low + high) / 2, 0.55 * max(float((high - low).max()), 1e-6)
    axes.set_xlim(center[0] - radius, center[0] + radius)
    axes.set_ylim(center[1] - radius, center[1] + radius)


def point_colors(labels: np.ndarray | None, n: int) -> np.ndarray:
    """Colours of n points, shape (n, 3): by class for integer labels, along the ramp for real numbers."""
    if labels is None:
        return np.full((n, 3), np.array([0, 114, 178]) / 255)
    if np.issubdtype(labels.dtype, np.floating):
        return ramp(labels, float(labels.min()), float(labels.max())) / 255
    classes, codes = np.unique(labels, return_inverse=True)
    palette = np.array(
        [[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in categorical_palette(len(classes))]
    )
    return palette[codes]


@dataclass(frozen=True)
class Curve:
    """A line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    color: str | None = None
    marker: str = "o"


@dataclass(frozen=True)
class Chart:
    """Axes with lines on them."""

    title: str
    curves: Sequence[Curve]
    x: str
    y: str
    logarithmic: tuple[bool, bool] = (False, False)
    y_limits: tuple[float, float] | None = None


def draw_charts(
    path: Path, charts: Sequence[Chart], height: float = 3.4, rows: int = 1, own_legends: bool = False
) -> None:
    """Draw charts in ``rows`` rows, with one legend below all of them or, ``own_legends``, one below each."""
    figure = new_figure(_WIDTH_INCHES, height)
    layout = figure.subplots(rows, len(charts) // rows, squeeze=False).ravel()
    shared: dict[str, Line2D] = {}
    entries = [{} if own_legends else shared for _ in charts]  # line by name
    for axes, chart, lines in zip(layout, charts, entries, strict=True):
        for i, curve in enumerate(chart.curves):
            (line,) = axes.plot(
                curve.x,
                curve.y,
                color=curve.color or CATEGORICAL[i % len(CATEGORICAL)],
                linestyle="--" if curve.dashed else "-",
                marker=curve.marker,
                markersize=3.5,
                linewidth=1.6,
                zorder=3 if curve.dashed else 2,  # a solid line below a dashed one still shows
            )
            lines.setdefault(curve.name, line)
        _style(axes, chart)
    _draw_line_legends(figure, entries if own_legends else entries[:1], height)
    save_png(figure, path)


def _draw_line_legends(figure: Figure, legends: Sequence[dict[str, Line2D]], height: float) -> None:
    """Draw legends side by side along the lower edge, and fit the charts above them."""
    columns = []
    for lines in legends:
        entry_width = 0.6 + 0.075 * max(map(len, lines), default=1)  # inches
        columns.append(max(1, min(len(lines), int(_WIDTH_INCHES / len(legends) / entry_width))))
    max_rows = max(-(-len(lines) // count) for lines, count in zip(legends, columns, strict=True))
    top = (0.08 + 0.2 * max_rows) / height
    for i, (lines, count) in enumerate(zip(legends, columns, strict=True)):
        figure.legend(
            lines.values(), lines.keys(), loc="upper center", bbox_to_anchor=((i + 0.5) / len(legends), top),
            borderaxespad=0.2, ncols=count, frameon=False, fontsize=9, labelcolor=INK,
        )  # fmt: skip
    figure.tight_layout(rect=(0, top, 1, 1))


def draw_bars(path: Path, rows: dict[str, dict[str, float | None]], title: str, ours: str) -> None:
    """Draw pairs of bars on a logarithmic axis; rows whose name begins with ``ours`` have another colour."""
    height = 1.0 + 0.34 * len(rows)
    figure = new_figure(_WIDTH_INCHES, height)
    axes = figure.subplots()
    values = [value for row in rows.values() for value in row.values() if value is not None]
    for i, (name, row) in enumerate(rows.items()):
        strong, pale = ("#d55e00", "#f3b98b") if name.startswith(ours) else ("#0072b2", "#9cc9e6")
        for (kind, value), color, offset in zip(row.items(), (pale, strong), (-0.18, 0.18), strict=True):
            if value is None:
                continue
            axes.barh(i + offset, value, height=0.34, left=0, color=color)
            axes.text(value * 1.05, i + offset, f"{value:.3g} s {kind}", va="center", fontsize=7.5, color=INK)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=9, color=INK)
    axes.invert_yaxis()
    axes.set_xlim(min(values) / 2, 3 * max(values))
    _style(axes, Chart(title, (), "seconds, logarithmic", "", (True, False)))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", labelsize=9, colors=INK)
    figure.tight_layout()
    save_png(figure, path)


def _style(axes: Axes, chart: Chart) -> None:
    axes.set_title(chart.title, fontsize=11, color=INK)
    axes.set_xlabel(chart.x, fontsize=9, color=QUIET_INK)
    axes.set_ylabel(chart.y, fontsize=9, color=QUIET_INK)
    if chart.logarithmic[0]:
        axes.set_xscale("log")
        _set_log_ticks(axes.xaxis)
    if chart.logarithmic[1]:
        axes.set_yscale("log")
        _set_log_ticks(axes.yaxis)
    if chart.y_limits is not None:
        axes.set_ylim(*chart.y_limits)
    axes.grid(True, color="#eceef1", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, colors=QUIET_INK, length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#c9cdd4")


def _set_log_ticks(axis: Axis) -> None:
    """Put ticks at powers of ten, over fewer than three decades also at 2 and 5 times these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if _decades(axis) < 3 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _abbreviate(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _abbreviate(value: float) -> str:
    """A number with k for thousands and M for millions."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _decades(axis: Axis) -> float:
    low, high = axis.get_view_interval()
    return float(np.log10(high / low)) if low > 0 else np.inf


@dataclass(frozen=True)
class Field:
    """A heat map: values on a grid."""

    title: str
    values: np.ndarray  # (rows, columns)


def draw_fields(path: Path, fields: Sequence[Field], x: np.ndarray, y: np.ndarray, names: tuple[str, str],
                meaning: str) -> None:  # fmt: skip
    """Draw heat maps on one colour scale (asinh: linear near zero, then logarithmic); zero is dotted."""
    from matplotlib.colors import AsinhNorm, LinearSegmentedColormap

    diverging = LinearSegmentedColormap.from_list(
        "actup", ["#0072b2", "#8ec4e4", "#f7f7f5", "#f0b982", "#d55e00"]
    )
    largest = max(float(np.abs(field.values).max()) for field in fields)
    norm = AsinhNorm(linear_width=0.01, vmin=-largest, vmax=largest)
    figure = new_figure(_WIDTH_INCHES, 3.5)
    layout = figure.subplots(1, len(fields), sharey=True)
    for axes, field in zip(layout, fields, strict=True):
        shown = axes.pcolormesh(
            x, y, field.values, cmap=diverging, norm=norm, shading="auto", rasterized=True
        )
        axes.contour(x, y, field.values, levels=[0.0], colors=[INK], linestyles="dotted", linewidths=1.6)
        axes.set_title(field.title, fontsize=11, color=INK)
        axes.set_xlabel(names[0], fontsize=9, color=QUIET_INK)
        axes.tick_params(labelsize=8, colors=QUIET_INK, length=0)
    layout[0].set_ylabel(names[1], fontsize=9, color=QUIET_INK)
    figure.subplots_adjust(left=0.06, right=0.89, bottom=0.14, top=0.91, wspace=0.08)
    bar = figure.colorbar(shown, cax=figure.add_axes((0.905, 0.14, 0.015, 0.77)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=QUIET_INK, length=0)
    bar.set_label(meaning, fontsize=9, color=QUIET_INK)
    save_png(figure, path, reduce_colors=False)
