"""Read single values that callers give: flags, counts, numbers, names. Errors name the parameter."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from actup._errors import WrongType
from actup._suggestions import not_one_of


def read_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise WrongType(f"{name}={value!r} must be True or False")
    return bool(value)


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
    number = float(value)
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
