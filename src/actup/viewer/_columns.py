"""Columns to colour by: labels and others, read as classes, values or dates, and packed for the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from actup._labels import label_array, missing_labels
from actup.plotting._colors import SEQUENTIAL, categorical_palette
from actup.plotting._scene import Classes, Values, name_largest, read_labels
from actup.viewer._packing import Blobs

_MAX_DATE_CLASSES = 12  # dates with more distinct values are shown on a scale
_MANY_CLASSES = 12  # beyond it, the largest classes get the colours that are told apart best
_LABEL_NAME = "label"


@dataclass(frozen=True)
class Column:
    """One column of the page.

    Attributes
    ----------
    name : str
    scene : Classes or Values
    is_date : bool
        Whether values are milliseconds since 1970.
    """

    name: str
    scene: Classes | Values
    is_date: bool = False


def table_columns(table: Any, n: int, name: str) -> Iterator[tuple[str, Any]]:
    """The columns of a mapping or a data frame, by name, each of length n.

    Parameters
    ----------
    table : mapping or data frame
        Of pandas, polars or another library: with ``columns`` and access by name.
    n : int
        Number of points.
    name : str
        What error messages call the table.
    """
    keys = list(table) if isinstance(table, Mapping) else list(getattr(table, "columns", ()))
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise TypeError(
            f"{name} must be a mapping of names to columns or a data frame, got {type(table).__name__}"
        )
    if len({str(key) for key in keys}) < len(keys):
        raise ValueError(f"{name} has columns of the same name: {[str(key) for key in keys]}; rename them")
    for key in keys:
        column = table[key]
        length = len(column) if hasattr(column, "__len__") else None
        if length != n:
            raise ValueError(f"{name}[{key!r}] must have one entry for each of the {n} points, got {length}")
        yield str(key), column


def is_table(given: Any) -> bool:
    """Whether something is a mapping or a data frame of columns."""
    return isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "__getitem__"))


def read_column(name: str, given: ArrayLike, n: int, kind: str = "auto", parameter: str = "labels") -> Column:
    """Read one column as classes, values or dates.

    Parameters
    ----------
    name : str
    given : array-like of shape (n,)
    n : int
        Number of points.
    kind : {"auto", "classes", "values"}
        Dates are values if there are more than twelve distinct ones or if values are asked for.
    parameter : str
        What error messages call the column.
    """
    try:
        milliseconds = read_dates(given)
        if milliseconds is not None and milliseconds.shape == (n,):
            if _on_scale(milliseconds, kind):
                return Column(name, read_values(milliseconds), is_date=True)
            given = moments_of(milliseconds)
        scene = read_labels(given, n, kind)
    except ValueError as error:
        raise ValueError(re.sub(r"^labels\b", parameter, str(error))) from error
    assert scene is not None
    return Column(name, recolor(scene) if isinstance(scene, Classes) else scene)


def read_values(values: np.ndarray) -> Values:
    """Values on a scale from their 1st to their 99th percentile."""
    scene = read_labels(values, len(values), "values")
    assert isinstance(scene, Values)
    return scene


def read_dates(given: Any) -> np.ndarray | None:
    """Dates as milliseconds since 1970, NaN where missing; None if these are no dates."""
    zone = getattr(getattr(given, "dtype", None), "tz", None)
    if zone is not None:  # pandas: the same moments in UTC
        given = (given.dt if hasattr(given, "dt") else given).tz_convert(None)
    array = label_array(given)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype == object:
        missing = missing_labels(array)
        if missing.all() or not all(isinstance(value, date) for value in array[~missing].tolist()):
            return None
        moments = np.full(len(array), np.datetime64("NaT"), "M8[ms]")
        moments[~missing] = [np.datetime64(_without_zone(value), "ms") for value in array[~missing].tolist()]
        array = moments
    if array.dtype.kind != "M":
        return None
    milliseconds = array.astype("M8[ms]").astype(np.int64).astype(np.float64)
    milliseconds[np.isnat(array)] = np.nan
    return milliseconds


def moments_of(milliseconds: np.ndarray) -> np.ndarray:
    """Milliseconds since 1970 as NumPy's dates, of days if these are all whole."""
    known = ~np.isnan(milliseconds)
    moments = np.full(len(milliseconds), np.datetime64("NaT"), "M8[ms]")
    moments[known] = milliseconds[known].astype(np.int64).astype("M8[ms]")
    days = moments.astype("M8[D]")
    return days if (days[known] == moments[known]).all() else moments


def _without_zone(value: Any) -> Any:
    """A date or a moment in UTC without its time zone, which NumPy does not take."""
    if getattr(value, "tzinfo", None) is None:
        return value

    return value.astimezone(UTC).replace(tzinfo=None)


def _on_scale(milliseconds: np.ndarray, kind: str) -> bool:
    if kind != "auto":
        return kind == "values"
    return len(np.unique(milliseconds[~np.isnan(milliseconds)])) > _MAX_DATE_CLASSES


def recolor(scene: Classes) -> Classes:
    """Give the colours that are told apart best to the largest of many classes."""
    if len(scene.names) <= _MANY_CLASSES:
        return scene
    sizes = np.bincount(scene.codes[scene.codes >= 0], minlength=len(scene.names))
    palette = categorical_palette(len(scene.names))
    colors = list(palette)
    for color, code in zip(palette, np.argsort(-sizes, kind="stable"), strict=True):
        colors[code] = color
    return replace(scene, colors=colors)


def limit_classes(column: Column) -> tuple[Column | None, dict[int, str]]:
    """At most 1,000 named classes, and the names of the points whose class has lost its own.

    Returns
    -------
    Column or None
        None if every point is a class of its own.
    dict of int to str
        Names by point.
    """
    if not isinstance(column.scene, Classes):
        return column, {}
    shown = name_largest(column.scene, "; tooltips and the search still name them")
    if shown is column.scene:
        return column, {}
    unnamed = column.scene.codes >= 0
    if shown is not None:
        unnamed &= shown.codes == len(shown.names) - 1
    names = {int(i): column.scene.names[column.scene.codes[i]] for i in np.flatnonzero(unnamed)}
    return None if shown is None else Column(column.name, _recolor_rest(shown)), names


def _recolor_rest(scene: Classes) -> Classes:
    named = np.where(scene.codes == len(scene.names) - 1, -1, scene.codes)
    colors = recolor(Classes(named, scene.names[:-1], scene.colors[:-1])).colors
    return Classes(scene.codes, scene.names, [*colors, scene.colors[-1]], has_rest=True)


def label_column_name(labels: Any, taken: set[str]) -> str:
    """A name for the column of labels that no other column has: that of the series, if it has one."""
    given = getattr(labels, "name", None)
    if isinstance(given, str) and given and given not in taken:
        return given
    name = _LABEL_NAME
    while name in taken:
        name += "_"
    return name


def pack_column(column: Column, blobs: Blobs) -> dict[str, Any]:
    """Pack a column for the page."""
    if isinstance(column.scene, Classes):
        return _pack_classes(column.name, column.scene, blobs)
    return pack_values(column.name, [column.scene], blobs, is_date=column.is_date)


def _pack_classes(name: str, classes: Classes, blobs: Blobs) -> dict[str, Any]:
    names, colors = zip(*classes.entries(), strict=True)
    # Missing labels are the last entry.
    codes = np.where(classes.codes < 0, len(names) - 1, classes.codes)
    return {
        "name": name,
        "kind": "classes",
        "names": names,
        "colors": colors,
        "unnamed": len(classes.names) - classes.has_rest,  # from here on: all other classes, missing labels
        "missing": len(classes.names) if len(names) > len(classes.names) else None,
        "codes": blobs.add_whole_numbers(codes, 0, len(names) - 1),
    }


def pack_values(
    name: str, by_map: list[Values | None], blobs: Blobs, *, is_date: bool = False, note: str = ""
) -> dict[str, Any]:
    """Pack values on one scale: one entry for all maps, or one for each map, None where a map has none."""
    known = [scene for scene in by_map if scene is not None]
    finite = np.concatenate([scene.values[np.isfinite(scene.values)] for scene in known])
    low, high = min(scene.low for scene in known), max(scene.high for scene in known)
    fits = bool((np.abs(finite) <= np.finfo(np.float32).max).all())
    dtype = "f4" if fits and not is_date else "f8"
    return {
        "name": name,
        "kind": "dates" if is_date else "values",
        "values": [None if scene is None else blobs.add_array(scene.values, dtype) for scene in by_map],
        "low": low,
        "high": high,
        "clipped": [bool((finite < low).any()), bool((finite > high).any())],
        "stops": list(SEQUENTIAL),
        "note": note,
    }
