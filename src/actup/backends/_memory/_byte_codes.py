"""Whether a search by integer codes needs no float32 rows, because codes of 8 bits hold the rows exactly.

The rules are those of ``GridChoice`` and ``FewPoints`` in ``_native/neighbors/``, for whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_CHUNK_VALUES = 2**13
_MAX_RANGE = 255  # of a column: all values have codes of their own
_MAX_MAGNITUDE = 2**22
_MAX_SQUARED_DISTANCE = 2**24  # up to here sums of squares are the same in floats, in any order
_USUAL_SHARE, _RARE_RATIO, _USUAL_ROWS = 0.999, 4.0, 24  # codes clip values that are rare and much larger
_SAMPLE_ROWS = 256  # whose nearest neighbours among them are farther than those among all rows


def have_byte_codes(X: Any, rows: int, columns: int) -> bool:
    """Whether X holds whole numbers of a small range whose neighbours have exact distances of codes.

    False if memory runs out, since whoever explains that asks here too.

    Parameters
    ----------
    X : array-like of shape (rows, columns)
        Dense. Read chunk by chunk, up to the first value that is no whole number.
    """
    try:
        return _are_whole_and_near(X, rows, columns)
    except MemoryError:
        return False


def _are_whole_and_near(X: Any, rows: int, columns: int) -> bool:
    if not (rows and columns):
        return False
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    for part in _chunks(X, rows, columns):
        if part is None or (part.dtype.kind == "f" and not np.array_equal(part, np.rint(part))):
            return False
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        if (high - low).max() > _MAX_RANGE or max(-low.min(), high.max()) > _MAX_MAGNITUDE:
            return False
    usual = _sample(X, rows, columns, _USUAL_ROWS)
    sizes = np.sort(np.abs(usual - usual.mean(axis=0)), axis=None)
    if (high - low).max() > _RARE_RATIO * sizes[int(len(sizes) * _USUAL_SHARE)] > 0:
        return False
    sample = _sample(X, rows, columns, _SAMPLE_ROWS) - low
    squares = (sample**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * (sample @ sample.T)
    np.fill_diagonal(distances, np.inf)
    return bool(distances.min(axis=1).max() <= _MAX_SQUARED_DISTANCE)


def _chunks(X: Any, rows: int, columns: int) -> Iterator[np.ndarray | None]:
    step = max(1, _CHUNK_VALUES // columns)
    for begin in range(0, rows, step):
        yield _numbers(X, slice(begin, begin + step), columns)


def _numbers(X: Any, rows: slice, columns: int) -> np.ndarray | None:
    """Some rows as numbers; None for what is none, which reading rejects or changes."""
    try:
        part = np.asarray((X.iloc if hasattr(X, "iloc") else X)[rows])
        if part.dtype.kind == "O":
            part = np.asarray(part.tolist())
    except (TypeError, ValueError, OverflowError):
        return None
    return part if part.dtype.kind in "biuf" and part.ndim == 2 and part.shape[1] == columns else None


def _sample(X: Any, rows: int, columns: int, count: int) -> np.ndarray:
    """Evenly spaced rows, all of which are numbers."""
    ids = np.linspace(0, rows - 1, min(rows, count)).astype(int)
    parts = (_numbers(X, slice(row, row + 1), columns) for row in ids)
    return np.concatenate([part for part in parts if part is not None]).astype(np.float64)
