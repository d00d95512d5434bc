"""Elementary functions of float64 arrays with the same bits on every processor.

NumPy's, and those of Python's ``math``, differ in the last bit from processor to processor and from library
to library. Use these wherever a result reaches a map.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from actup._engine import engine


def exp(x: ArrayLike) -> np.ndarray:
    """e to the power of each value."""
    return _of_each("exp", x)


def log(x: ArrayLike) -> np.ndarray:
    """The natural logarithm of each value."""
    return _of_each("log", x)


def power(x: ArrayLike, exponent: float) -> np.ndarray:
    """Each value, at least 0, to the power of one exponent."""
    return _of_each("power", x, float(exponent))


def cos(x: ArrayLike) -> np.ndarray:
    """The cosine of each angle in radians."""
    return _of_each("cos", x)


def sin(x: ArrayLike) -> np.ndarray:
    """The sine of each angle in radians."""
    return _of_each("sin", x)


def arcsin(x: ArrayLike) -> np.ndarray:
    """The angle in radians of each sine from -1 to 1."""
    return _of_each("arcsin", x)


def _of_each(name: str, x: ArrayLike, y: float = 0.0) -> np.ndarray:
    values = np.ascontiguousarray(x, np.float64)
    return engine.elementary(name, values.ravel(), y).reshape(np.shape(x))
