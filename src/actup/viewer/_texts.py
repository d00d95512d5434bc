"""Texts of the points: the fields of the tooltip, which the search reads too."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._labels import missing_labels
from actup.viewer._columns import is_table, moments_of, read_dates, table_columns


def read_hover(hover: Any, n: int) -> dict[str, list[str]]:
    """Read the texts of the points.

    Parameters
    ----------
    hover : sequence of length n, mapping of name to sequence, data frame, or None
    n : int
        Number of points.

    Returns
    -------
    dict of str to list of str
        Texts by field; a plain sequence has the field "". Missing entries are empty.
    """
    if hover is None:
        return {}
    if is_table(hover):
        return {name: _as_texts(column) for name, column in table_columns(hover, n, "hover")}
    if isinstance(hover, str | bytes):
        raise TypeError(f"hover={hover!r} is a text: give one text per point, such as frame[[{hover!r}]]")
    is_sequence = hasattr(hover, "__len__") and getattr(hover, "ndim", 1) > 0
    if not is_sequence or len(hover) != n:
        found = len(hover) if is_sequence else type(hover).__name__
        raise ValueError(f"hover must have one text for each of the {n} points, got {found} of them")
    return {"": _as_texts(hover)}


def _as_texts(column: Any) -> list[str]:
    entries = list(column)
    array = np.empty(len(entries), object)
    array[:] = entries
    missing = missing_labels(array)
    milliseconds = read_dates(column if hasattr(column, "dtype") else array)
    if milliseconds is not None:  # as columns write them: in UTC
        moments = moments_of(milliseconds)
        shown = moments if moments.dtype == np.dtype("M8[D]") else moments.astype("M8[s]")
        entries = [str(moment).replace("T", " ") for moment in shown]
    return ["" if gone else str(entry) for entry, gone in zip(entries, missing, strict=True)]


def add_names(texts: dict[str, list[str]], names: dict[int, str], n: int) -> None:
    """Write names of classes above the first field of their points."""
    if not names:
        return
    first = next(iter(texts), "")
    field = texts.setdefault(first, [""] * n)
    for point, name in names.items():
        field[point] = f"{name}\n{field[point]}" if field[point] else name
