"""Distances that compare which columns of two vectors are nonzero; numba can compile them."""

from __future__ import annotations

from typing import Any

import numpy as np


def hamming(x: Any, y: Any) -> float:
    """The share of columns that differ."""
    return float((np.asarray(x) != np.asarray(y)).mean())


def jaccard(x: Any, y: Any) -> float:
    """The share of columns with one nonzero value, among those with any."""
    both, unequal, _ = _presence(x, y)
    return unequal / (both + unequal) if unequal else 0.0


def dice(x: Any, y: Any) -> float:
    """The number of columns with one nonzero value over all nonzero values."""
    both, unequal, _ = _presence(x, y)
    return unequal / (2 * both + unequal) if unequal else 0.0


def matching(x: Any, y: Any) -> float:
    """The share of columns with one nonzero value."""
    _, unequal, n = _presence(x, y)
    return unequal / n


def kulsinski(x: Any, y: Any) -> float:
    """The distance of Kulsinski."""
    both, unequal, n = _presence(x, y)
    return (unequal - both + n) / (unequal + n) if unequal else 0.0


def rogers_tanimoto(x: Any, y: Any) -> float:
    """The distance of Rogers and Tanimoto."""
    _, unequal, n = _presence(x, y)
    return 2 * unequal / (n + unequal)


def russellrao(x: Any, y: Any) -> float:
    """The share of columns that are not nonzero in both; 0 for equal vectors."""
    both, unequal, n = _presence(x, y)
    return (n - both) / n if unequal else 0.0


def sokal_michener(x: Any, y: Any) -> float:
    """The distance of Sokal and Michener."""
    return rogers_tanimoto(x, y)


def sokal_sneath(x: Any, y: Any) -> float:
    """The distance of Sokal and Sneath."""
    both, unequal, _ = _presence(x, y)
    return unequal / (both / 2 + unequal) if unequal else 0.0


def yule(x: Any, y: Any) -> float:
    """The distance of Yule."""
    a, b = np.asarray(x) != 0, np.asarray(y) != 0
    only_x, only_y = float((a & ~b).sum()), float((~a & b).sum())
    crossed = only_x * only_y
    return float(2 * crossed / ((a & b).sum() * (~a & ~b).sum() + crossed)) if crossed else 0.0


def _presence(x: Any, y: Any) -> tuple[int, int, int]:
    """The number of columns that are nonzero in both vectors, in one of them, and of all columns."""
    a, b = np.asarray(x) != 0, np.asarray(y) != 0
    return int((a & b).sum()), int((a != b).sum()), a.size
