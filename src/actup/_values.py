"""Read values that callers give: flags, counts, numbers, names, arrays. Errors name the parameter."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np

from actup._errors import WrongType
from actup._suggestions import not_one_of

# How NumPy's ValueErrors for arrays beyond any memory begin.
_TOO_LARGE_FOR_NUMPY = ("array is too big", "Maximum allowed dimension")


def read_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise WrongType(f"{name}={value!r} must be True or False")
    return bool(value)


def is_iterable(value: Any) -> bool:
    """Whether a loop over a value works; NumPy calls arrays without axes iterable too."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def read_count(value: Any, name: str, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise WrongType(f"{name}={value!r} must be a whole number")
    if value < least:
        raise ValueError(f"{name}={value} must be at least {least}")
    return int(value)


def read_optional_count(value: Any, name: str, least: int) -> int | None:
    """None, or a whole number of at least ``least``."""
    return None if value is None else read_count(value, name, least)


def read_positive(value: Any, name: str, meaning: str, most: float) -> float:
    """A number above 0 and of at most ``most``; ``meaning`` is what it is, e.g. "pixels per inch"."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(f"{name}={value!r} must be a number: {meaning}")
    number = as_float(value, name)
    if not 0 < number <= most:
        raise ValueError(f"{name}={value} must be positive and at most {most:,g}: {meaning}")
    return number


def read_name(value: Any, name: str, known: Collection[str]) -> str:
    """One of some names."""
    if not isinstance(value, str):
        raise WrongType(f"{name}={value!r} must be one of {', '.join(map(repr, known))}")
    if value not in known:
        raise ValueError(not_one_of(name, value, known))
    return value


def as_float(value: Any, name: str) -> float:
    """``float(value)``; errors name a number beyond the range of floats."""
    try:
        return float(value)
    except OverflowError:
        raise beyond_floats(value, f"{name}=") from None


def to_floats(values: Any, name: str, wrong: Callable[[], Exception]) -> np.ndarray:
    """A new array of float64; errors name masks, complex numbers and numbers beyond the range of floats.

    ``wrong`` makes the error for anything else that is no array of numbers.
    """
    reject_mask(values, name)
    array = None
    try:
        array = np.asarray(values)
        if array.dtype.kind != "c":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        raise wrong() from None
    except OverflowError:
        entries = () if array is None else array.flat
        largest = next(filter(is_beyond_floats, entries), None)
        raise (wrong() if largest is None else beyond_floats(largest, f"{name} holds ")) from None
    raise WrongType(f"{name} holds complex numbers: give real ones, e.g. {name}.real")


def is_beyond_floats(value: Any) -> bool:
    """Whether a value is a number that is too large for a float, such as Python's 10**400."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    except OverflowError:
        return True
    return False


def beyond_floats(value: Any, place: str) -> ValueError:
    """The error for a number that is too large for a float; Python may even refuse to print it."""
    whole = isinstance(value, int)
    shown = f"an integer of {round(value.bit_length() * 0.30103)} digits" if whole else reprlib.repr(value)
    return ValueError(f"{place}{shown}, which is beyond floats (1.8e308): give smaller numbers")


def reject_mask(values: Any, name: str) -> None:
    """Reject arrays with masked entries, which NumPy would read as if nothing were masked."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise WrongType(
            f"{name} is a masked array, whose mask would be lost: fill it, or leave masked entries out"
        )


@contextmanager
def naming_memory(value: Any, name: str) -> Iterator[None]:
    """Raise a MemoryError anew with the number that asks for too much."""
    try:
        yield
    except (MemoryError, OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith(_TOO_LARGE_FOR_NUMPY):
            raise
        shown = f"{name}={reprlib.repr(value)}"
        raise MemoryError(
            f"{shown} needs more memory than there is ({error}): give a smaller number"
        ) from error
