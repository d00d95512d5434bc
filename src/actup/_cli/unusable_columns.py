"""Columns that a map cannot be made of: name all of them at once, with options to copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np

from actup._cli.files import Table
from actup._cli.reporting import InputError

_MAX_DESCRIBED = 5  # columns whose first unusable value is quoted
_MAX_QUOTED = 40  # characters of a value
_DECIMAL_COMMA = re.compile(r"\s*[-+]?[\d.]+,\d+\s*")  # in a column that is text nevertheless


def reject_unusable(table: Table, wanted: Sequence[str], categories: set[str], mixed: bool) -> None:
    """Reject text and dates among the columns, unless something turns them into numbers or compares them.

    Parameters
    ----------
    table : Table
    wanted : sequence of str
        The columns that the map is to be made of.
    categories : set of str
        Those that become numbers, by --one-hot.
    mixed : bool
        Whether the metric compares text.
    """
    dates = [name for name in wanted if table.columns[name].dtype.kind in "mM"]
    comparable = set() if not mixed else set(wanted)
    text = [
        name
        for name in wanted
        if table.columns[name].dtype.kind not in "biufmM" and name not in categories | comparable
    ]
    unusable = [name for name in wanted if name in dates or name in text]
    if not unusable:
        return
    if len(table.columns) == 1 and text and not table.matrices:
        held = _describe(table.columns[text[0]])
        source = table.source
        raise InputError(
            f"{source} has one column and it holds no numbers ({held}): if a character separates numbers "
            "in it, give that as --delimiter"
        )
    odd = {name: _odd_values(table.columns[name]) for name in text}
    if unusable == text and all(odd.values()):
        _reject_odd_values(odd, table.source)
    described = [f"{name!r} ({_describe(table.columns[name])})" for name in unusable[:_MAX_DESCRIBED]]
    if len(unusable) > _MAX_DESCRIBED:
        described.append(f"{len(unusable) - _MAX_DESCRIBED} more")
    remedies = []
    if any(_has_decimal_commas(table.columns[name]) for name in text):
        remedies.append("write numbers with decimal points and without separators of thousands")
    remedies.append(f"leave out with {as_option('--exclude', unusable)}")
    remedies.append(f"show with {as_option('--hover', unusable)}")
    if text:
        remedies.append(f"compare text with --metric gower or {as_option('--one-hot', text)}")
    few = len(unusable) == 1
    raise InputError(
        f"column{'' if few else 's'} {', '.join(described)} of {table.source} hold{'s' if few else ''} no "
        f"numbers: {', or '.join(remedies)}"
    )


def _odd_values(values: np.ndarray) -> list[tuple[int, str]]:
    """The rows and values that are no numbers, in a column whose other values are: half of them or more.

    Decimal commas are not odd: other remedies help against them.
    """
    present = [(row, str(value)) for row, value in enumerate(values.tolist()) if value is not None]
    odd = [(row, value) for row, value in present if not _is_number(value)]
    if 2 * len(odd) > len(present) or any(_DECIMAL_COMMA.fullmatch(value) for _, value in odd):
        return []
    return odd


def _reject_odd_values(odd: dict[str, list[tuple[int, str]]], source: str) -> None:
    """Reject columns of numbers for the values in them that are none."""
    described = []
    for name, values in list(odd.items())[:_MAX_DESCRIBED]:
        row, value = values[0]
        more = f" and {len(values) - 1:,} more" if len(values) > 1 else ""
        described.append(f"{name!r} ({_quoted(value)} in row {row}{more})")
    if len(odd) > _MAX_DESCRIBED:
        described.append(f"{len(odd) - _MAX_DESCRIBED} more")
    what, hold = ("column", "holds") if len(odd) == 1 else ("columns", "hold")
    raise InputError(
        f"{what} {', '.join(described)} of {source} {hold} numbers, but not there: "
        "correct that, or leave it empty and give --missing drop, mean or median, or leave out with "
        f"{as_option('--exclude', list(odd))}"
    )


def _quoted(value: str) -> str:
    return repr(value if len(value) <= _MAX_QUOTED else f"{value[:_MAX_QUOTED]}…")


def as_option(option: str, names: Sequence[str]) -> str:
    """An option with these columns as its value, to copy into a shell."""
    plain = [name for name in names if "," not in name]
    values = ([",".join(plain)] if plain else []) + [name for name in names if "," in name]
    return " ".join(f"{option} {shlex.quote(value)}" for value in values)


def _describe(values: np.ndarray) -> str:
    """What a column holds: the first value that is no number, and its row."""
    if values.dtype.kind in "mM":
        return "dates"
    for row, value in enumerate(values.tolist()):
        if value is not None and not _is_number(value):
            return f"text, {_quoted(str(value))} in row {row}"
    return "numbers as text"


def _has_decimal_commas(values: np.ndarray) -> bool:
    return any(isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value) for value in values.tolist())


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
