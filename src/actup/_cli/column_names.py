"""Find columns by what the caller writes: names, patterns, numbers and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from actup._cli.reporting import InputError
from actup._suggestions import closest_name

_MAX_LISTED = 8  # names of columns that an error lists
_PATTERN_LETTERS = "*?["


def find_columns(written: Sequence[str], names: Sequence[str], option: str, source: str) -> list[str]:
    """The names that the caller means, in the order in which they are written, each once.

    Parameters
    ----------
    written : sequence of str
        Each is a name, a pattern with ``*``, ``?`` or ``[``, a number from 0, a range ``first:last`` of names
        or numbers, both included, or several of them with commas.
    names : sequence of str
        All columns.
    option : str
        What errors call the option.
    source : str
        What errors call the file.
    """
    found: dict[str, None] = {}
    for text in written:
        for part in [text] if text in names else text.split(","):
            found.update(dict.fromkeys(_meant(part.strip(), names, option, source)))
    return list(found)


def _meant(text: str, names: Sequence[str], option: str, source: str) -> list[str]:
    if text in names:
        return [text]
    number = _number(text, names)
    if number is not None:
        return [names[number]]
    first, colon, last = text.partition(":")
    if colon:
        ends = [_end(end, default, names) for end, default in ((first, 0), (last, len(names) - 1))]
        if None not in ends:
            begin, end = (int(end) for end in ends if end is not None)
            return list(names[begin : end + 1])
        if not any(letter in text for letter in _PATTERN_LETTERS):
            which, unknown = ("first", first) if ends[0] is None else ("last", last)
            raise InputError(
                f"{option} {text!r}: the {which} of the range, {unknown!r}, is no column of {source}"
                f"{_suggestion(unknown, names)}"
            )
    matching = [name for name in names if fnmatchcase(name, text)]
    if not matching:
        remedy = ": give a file of labels" if option == "--label" and not names else ""
        raise InputError(f"{option} {text!r} is no column of {source}{_suggestion(text, names)}{remedy}")
    return matching


def _number(text: str, names: Sequence[str]) -> int | None:
    return int(text) if text.isdecimal() and int(text) < len(names) else None


def _end(text: str, default: int, names: Sequence[str]) -> int | None:
    if not text:
        return default
    return names.index(text) if text in names else _number(text, names)


def _suggestion(text: str, names: Sequence[str]) -> str:
    close = closest_name(text, names)
    if close is not None:
        return f": did you mean {close!r}?"
    if not names:
        return ", which has no columns with names"
    return f"; it has: {', '.join(names[:_MAX_LISTED])}{', …' if len(names) > _MAX_LISTED else ''}"
