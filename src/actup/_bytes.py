"""Numbers of bytes, as people write and read them."""

from __future__ import annotations

import math
import re
from numbers import Real

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}


def read_bytes(value: int | str, name: str) -> int:
    """A number of bytes, given as a number or as text such as "5GB" or "512 MiB"."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", value.lower())
        if match and match[2] in _UNITS and re.fullmatch(r"\d+\.?\d*|\.\d+", match[1]):
            return int(float(match[1]) * _UNITS[match[2]])
    elif isinstance(value, Real) and not isinstance(value, bool) and 0 < value < math.inf:
        return int(value)
    raise ValueError(f"{name}={value!r} must be a number of bytes, or text such as '5GB' or '512 MiB'")


def format_bytes(count: float) -> str:
    """A number of bytes for people, rounded up, so that whoever gives that much gives enough."""
    if count < 10**9:
        return f"{math.ceil(count / 10**6)} MB"
    return f"{math.ceil(count / 10**8) / 10:.1f} GB"


def format_available(count: float) -> str:
    """A number of bytes that there are, for people, rounded down."""
    return f"{count // 10**8 / 10:.1f} GB" if count >= 10**9 else f"{count // 10**6:.0f} MB"
