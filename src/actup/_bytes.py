"""Numbers of bytes, as people write and read them."""

from __future__ import annotations

import math
import re
import reprlib
from numbers import Real
from typing import Any

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}
_MOST_BYTES = 2**62  # as good as no limit, and a float
_TEXT = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([kmgt]i?|)b?\s*", re.ASCII)


def read_bytes(value: int | str, name: str) -> int:
    """A number of bytes, given as a number or as text such as "5GB" or "512 MiB"."""
    count: Any = 0
    if isinstance(value, str):
        match = _TEXT.fullmatch(value.lower())
        count = float(match[1]) * _UNITS[match[2]] if match else 0
    elif isinstance(value, Real) and not isinstance(value, bool):
        count = value
    if 1 <= count < math.inf:
        return min(int(count), _MOST_BYTES)
    raise ValueError(
        f"{name}={reprlib.repr(value)} must be a number of bytes, at least 1, or text such as '5GB' or "
        "'512 MiB'"
    )


def format_bytes(count: float) -> str:
    """A number of bytes for people, rounded up, so that whoever gives that much gives enough."""
    for unit, name in ((10**3, "kB"), (10**6, "MB")):
        if count <= 999 * unit:
            return f"{math.ceil(count / unit)} {name}"
    return f"{math.ceil(count / 10**8) / 10:.1f} GB"


def format_available(count: float) -> str:
    """A number of bytes that there are, for people, rounded down."""
    return f"{count // 10**8 / 10:.1f} GB" if count >= 10**9 else f"{count // 10**6:.0f} MB"
