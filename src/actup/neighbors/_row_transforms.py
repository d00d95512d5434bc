"""Rows in another place or in numbers that float32 holds, so that the engine can compare them.

Each function goes through rows some at a time, in full precision, and gives float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from actup.neighbors._chunks import row_parts

Rows = np.ndarray | sparse.csr_matrix | sparse.csr_array

_TURNED, _VALUES_AT_ONCE = 256, 2**18  # rows and values that are in full precision at a time
_FAR, _SAMPLED_ROWS = 64, 256  # columns so many times as far from 0 as most of a sample's values from another
_MOST_NUMBERED = 2**24 - 2  # by floats


def parts(X: Rows) -> Iterator[Rows]:
    """Some rows at a time, in full precision."""
    return (X[part].astype(np.float64) for part in row_parts(X, _VALUES_AT_ONCE))


def sums_around(part: Rows, center: np.ndarray, power: int) -> np.ndarray:
    """Sums of powers of the differences from a center, by column."""
    if not sparse.issparse(part):
        return ((part - center) ** power).sum(axis=0)
    columns = part.shape[1]
    present = np.bincount(part.indices, minlength=columns)
    of_present = np.bincount(part.indices, (part.data - center[part.indices]) ** power, columns)
    return of_present + (part.shape[0] - present) * (-center) ** power


def mean_row(X: Rows, move: Callable[[Rows], Rows] = lambda rows: rows) -> np.ndarray:
    """The mean of moved rows, by their differences from one: that of equal values is their value, exactly."""
    first = move(X[:1].astype(np.float64))
    first = (first.toarray() if sparse.issparse(first) else first).ravel()
    return first + sum(sums_around(move(part), first, 1) for part in parts(X)) / X.shape[0]


def scaled(X: Rows, factors: np.ndarray | None, center: np.ndarray | None) -> Rows:
    """Rows with moved and multiplied columns, in float32."""
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(factors[None, :]), dtype=np.float32)
    changed = np.empty(X.shape, np.float32)
    whole = center is not None and _is_whole(X) and _is_whole(center)
    for part in row_parts(X, _VALUES_AT_ONCE):
        moved = X[part].astype(np.int64 if whole else np.float64)
        if center is not None:
            moved = moved - center
        changed[part] = moved if factors is None else moved * factors
    return changed


def far_center(X: np.ndarray) -> np.ndarray:
    """A usual value of each column that is far from 0, next to how much it varies in a sample; else 0."""
    sample = X[:: max(1, len(X) // _SAMPLED_ROWS)].astype(np.int64 if _is_whole(X) else np.float64)
    with np.errstate(over="ignore"):
        low, usual, high = np.sort(sample, axis=0)[[len(sample) // 4, len(sample) // 2, 3 * len(sample) // 4]]
        far = np.abs(usual.astype(np.float64)) > _FAR * (high.astype(np.float64) - low)
    return np.where(far, usual, 0)


def _is_whole(X: np.ndarray) -> bool:
    """Whether values are whole numbers that 64 bits with a sign hold; doubles do not hold all of them."""
    return X.dtype.kind == "i" or (X.dtype.kind == "u" and X.dtype.itemsize < 8)


def near_zero(X: np.ndarray) -> np.ndarray:
    """Dense rows in float32, for what depends on their differences alone."""
    return scaled(X, None, far_center(X))


def are_floats(X: Rows) -> bool:
    """Whether float32 holds every value of X as it is."""
    if X.dtype.itemsize <= 2 or X.dtype == np.float32:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return all(np.array_equal(values.astype(np.float32).astype(X.dtype), values) for values in _values(X))


def _values(X: Rows) -> Iterator[np.ndarray]:
    """The values of X, some at a time."""
    return ((X[part].data if sparse.issparse(X) else X[part]) for part in row_parts(X, _VALUES_AT_ONCE))


def different_values(X: Rows) -> np.ndarray:
    """All values of X but 0, ascending."""
    different = np.unique(np.concatenate([np.unique(values) for values in _values(X)]))
    different = different[different != 0]
    if len(different) > _MOST_NUMBERED:
        raise ValueError(
            f"metric='hamming' of {len(different)} different values, more than {_MOST_NUMBERED}: round X, or "
            "give it as float32"
        )
    return different


def numbered(X: Rows, values: np.ndarray) -> Rows:
    """Numbers from 1 on in place of values, 0 for 0, and one more for all that are not known."""
    if sparse.issparse(X):
        numbers = numbered(X.data[None, :], values)[0]
        return sparse.csr_matrix((numbers, X.indices, X.indptr), X.shape)
    result = np.empty(X.shape, np.float32)
    for part in row_parts(X, _VALUES_AT_ONCE):
        at = np.minimum(np.searchsorted(values, X[part]), len(values) - 1)
        known = np.where(values[at] == X[part], at + 1, len(values) + 1)
        result[part] = np.where(X[part] == 0, 0, known)
    return result


def turned(X: np.ndarray, root: np.ndarray, center: np.ndarray) -> np.ndarray:
    """(X - center) @ root in float32, in blocks of one size: rounding may depend on how many rows."""
    result = np.empty((len(X), root.shape[1]), np.float32)
    block = np.zeros((_TURNED, len(root)))
    for begin in range(0, len(X), _TURNED):
        rows = X[begin : begin + _TURNED]
        block[: len(rows)] = rows - center
        result[begin : begin + _TURNED] = (block @ root)[: len(rows)]
    return result


def on_sphere(X: np.ndarray) -> np.ndarray:
    latitude, longitude = X.T
    x, y = np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude)
    return np.column_stack([x, y, np.sin(latitude)])


def around_on_sphere(X: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Points in space in float32, around a center that lets places of one town keep their digits."""
    moved = [(on_sphere(part) - center).astype(np.float32) for part in parts(X)]
    return np.concatenate(moved)


def arcs(rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Great-circle distances from rows to their neighbours: what float32 chords lose of short ones."""
    here, there = np.asarray(rows, np.float64)[:, None, :], np.asarray(points, np.float64)
    half = (there - here) / 2
    chord = (
        np.sin(half[..., 0]) ** 2 + np.cos(here[..., 0]) * np.cos(there[..., 0]) * np.sin(half[..., 1]) ** 2
    )
    return 2 * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
