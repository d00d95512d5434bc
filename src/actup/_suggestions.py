"""Suggestions for names that do not exist: errors that say which name was probably meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Parameters of pictures and pages by the names that other libraries have for them.
PICTURE_NAMES = {
    **dict.fromkeys(("c", "color", "colors", "colour", "colours", "hue", "label", "target", "y"), "labels"),
    **dict.fromkeys(("file", "filename", "fname"), "path"),
    **dict.fromkeys(("s", "size"), "point_size"),
}
_LEAST_LIKENESS = 0.7  # of two names, from 0 to 1; below it a suggestion would puzzle


def closest_name(
    name: object, known: Collection[str], other_names: Mapping[str, str] | None = None
) -> str | None:
    """The known name that was probably meant, whatever its case; None if no name is close.

    Parameters
    ----------
    name : object
        What was given; only text has a close name.
    known : collection of str
    other_names : mapping of str to str, default=None
        Known names by the names, in lower case, that others have for them.
    """
    if not isinstance(name, str):
        return None
    meant = (other_names or {}).get(name.lower())
    if meant in known:
        return meant
    by_lower_case = {other.lower(): other for other in known}
    close = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=_LEAST_LIKENESS)
    return by_lower_case[close[0]] if close else None


def not_one_of(parameter: str, value: object, known: Collection[str]) -> str:
    """The error for a value that is none of the known names: the one that was probably meant, or all."""
    close = closest_name(value, known)
    if close is not None:
        return f"{parameter}={value!r} is not known: did you mean {close!r}?"
    return f"{parameter}={value!r} is not one of {', '.join(map(repr, known))}"


def unknown_argument(
    owner: str, unknown: str, names: Collection[str], other_names: Mapping[str, str] | None = None
) -> str:
    """The error for an argument that a class or function does not have."""
    close = closest_name(unknown, names, other_names)
    hint = f": did you mean {close!r}?" if close else f"; its parameters are {', '.join(names)}"
    return f"{owner} has no parameter {unknown!r}{hint}"


def explain_unknown_keywords(
    other_names: Mapping[str, str] | None = None,
    elsewhere: Callable[[str, object], str | None] | None = None,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Function decorator: an unknown keyword argument raises a TypeError that says what to do instead.

    Parameters
    ----------
    other_names : mapping of str to str, default=None
        Parameters by the names that others have for them.
    elsewhere : callable, default=None
        ``elsewhere(name, value)`` says where an argument belongs that is no parameter; None: it does not
        know.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        names = [name for name in inspect.signature(function).parameters if name != "self"]

        @functools.wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            for name, value in kwargs.items():
                if name not in names:
                    place = None if elsewhere is None else elsewhere(name, value)
                    if place is not None:
                        raise TypeError(f"{function.__name__} has no parameter {name!r}: {place}")
                    raise TypeError(unknown_argument(function.__name__, name, names, other_names))
            return function(*args, **kwargs)

        return call

    return decorate
