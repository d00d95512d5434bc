"""Transform rows so that the engine can compare them in float32.

Columns are shifted and scaled, rows are projected or put on a sphere, values are numbered. Every transform
works on chunks in full precision and returns float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from actup._elementary import arcsin, cos, sin
from actup._engine import engine
from actup._threads import count_threads
from actup._typing import Rows
from actup.neighbors._chunks import row_chunks

_CHUNK_VALUES = 2**18  # values that are held in full precision at a time
_FAR_FACTOR = 64  # a column is far from 0 if its median exceeds this multiple of its interquartile range
CENTER_ROWS = 256  # medians are taken of this many evenly spaced rows, or somewhat more
_MAX_NUMBERED_VALUES = 2**24 - 2  # float32 holds all integers up to 2**24


def _identity(rows: Rows) -> Rows:
    return rows


def as_float32(rows: Rows) -> Rows:
    """Rows in float32; sparse rows keep entries with the same id, which SciPy's ``astype`` would sum."""
    if sparse.issparse(rows):
        values = as_float32(rows.data[:, None])[:, 0]
        return sparse.csr_matrix((values, rows.indices, rows.indptr), rows.shape)
    result = np.empty(rows.shape, np.float32)
    for chunk in row_chunks(rows, _CHUNK_VALUES):  # Ctrl-C is answered between chunks
        result[chunk] = rows[chunk]
    return result


def double_chunks(X: Rows) -> Iterator[Rows]:
    """Chunks of rows in float64."""
    return (X[chunk].astype(np.float64) for chunk in row_chunks(X, _CHUNK_VALUES))


def column_moments(chunk: Rows, center: np.ndarray, power: int) -> np.ndarray:
    """The sums of powers of the differences from a center, by column."""
    moments: np.ndarray
    if not sparse.issparse(chunk):
        moments = ((chunk - center) ** power).sum(axis=0)
        return moments
    columns = chunk.shape[1]
    present = np.bincount(chunk.indices, minlength=columns)
    of_present = np.bincount(chunk.indices, (chunk.data - center[chunk.indices]) ** power, columns)
    moments = of_present + (chunk.shape[0] - present) * (-center) ** power
    return moments


def mean_row(X: Rows, transform: Callable[[Rows], Rows] = _identity) -> np.ndarray:
    """The mean of transformed rows.

    It is summed as differences from the first row, so that the mean of equal values is exactly that value.
    """
    first = transform(X[:1].astype(np.float64))
    first = (first.toarray() if sparse.issparse(first) else first).ravel()
    differences = sum(column_moments(transform(chunk), first, 1) for chunk in double_chunks(X))
    mean: np.ndarray = first + differences / X.shape[0]
    return mean


def scale_columns(X: Rows, factors: np.ndarray | None, center: np.ndarray | None) -> Rows:
    """Shift columns by a center and multiply them by factors, in float32; None does neither."""
    if sparse.issparse(X):
        assert factors is not None
        return sparse.csr_matrix(X.multiply(factors[None, :]), dtype=np.float32)
    scaled = np.empty(X.shape, np.float32)
    integers = center is not None and fits_int64(X) and fits_int64(center)
    for chunk in row_chunks(X, _CHUNK_VALUES):
        values = X[chunk].astype(np.int64 if integers else np.float64)
        if center is not None:
            values = values - center
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which callers look for
            scaled[chunk] = values if factors is None else values * factors
    return scaled


def far_column_center(X: np.ndarray) -> np.ndarray:
    """The median of each column whose values lie far from 0 relative to their spread; 0 for other columns."""
    sample = X[:: max(1, len(X) // CENTER_ROWS)].astype(np.int64 if fits_int64(X) else np.float64)
    ranks = [len(sample) // 4, len(sample) // 2, 3 * len(sample) // 4]
    low, median, high = np.concatenate(
        [np.sort(part, axis=0)[ranks] for part in _column_parts(sample)], axis=1
    )
    with np.errstate(over="ignore"):
        far = np.abs(median.astype(np.float64)) > _FAR_FACTOR * (high.astype(np.float64) - low)
    return np.where(far, median, 0)


def column_medians(X: np.ndarray) -> np.ndarray:
    """The upper median of each column."""
    return np.concatenate([np.sort(part, axis=0)[len(X) // 2] for part in _column_parts(X)])


def _column_parts(X: np.ndarray) -> list[np.ndarray]:
    """The columns of rows in chunks, at least one of them."""
    step = max(1, _CHUNK_VALUES // max(1, len(X)))
    return [X[:, begin : begin + step] for begin in range(0, max(1, X.shape[1]), step)]


def fits_int64(X: np.ndarray) -> bool:
    """Whether values are integers that fit int64; float64 does not hold all of them exactly."""
    return X.dtype.kind == "i" or (X.dtype.kind == "u" and X.dtype.itemsize < 8)


def is_exact_shift(X: np.ndarray, center: np.ndarray, transform: Callable[[Rows], Rows]) -> bool:
    """Whether the transform gives the differences from the center without rounding."""
    kind = np.int64 if fits_int64(X) and fits_int64(center) else np.float64
    chunks = (X[chunk] for chunk in row_chunks(X, _CHUNK_VALUES))
    with np.errstate(over="ignore", invalid="ignore"):
        return all(
            np.array_equal(transform(rows).astype(kind), rows.astype(kind) - center) for rows in chunks
        )


def center_far_columns(X: np.ndarray) -> np.ndarray:
    """Dense rows as float32, with columns far from 0 shifted to it.

    Only for uses that depend on differences of rows.
    """
    centered: np.ndarray = scale_columns(X, None, far_column_center(X))
    return centered


def fits_float32(X: Rows) -> bool:
    """Whether float32 holds every value of X exactly."""
    if X.dtype.itemsize <= 2 or X.dtype == np.float32:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return all(np.array_equal(values.astype(np.float32).astype(X.dtype), values) for values in _values(X))


def _values(X: Rows) -> Iterator[np.ndarray]:
    """The stored values of X, chunk by chunk."""
    return ((X[chunk].data if sparse.issparse(X) else X[chunk]) for chunk in row_chunks(X, _CHUNK_VALUES))


def distinct_values(X: Rows) -> np.ndarray:
    """All distinct values of X except 0, ascending."""
    distinct: np.ndarray = np.unique(np.concatenate([np.unique(values) for values in _values(X)]))
    distinct = distinct[distinct != 0]
    if len(distinct) > _MAX_NUMBERED_VALUES:
        raise ValueError(
            f"metric='hamming' of {len(distinct)} different values, more than {_MAX_NUMBERED_VALUES}: "
            "round X, or give it as float32"
        )
    return distinct


def number_values(X: Rows, values: np.ndarray) -> Rows:
    """Replace values by their positions in ``values``, from 1 on; 0 stays, unknown values share a number."""
    if sparse.issparse(X):
        numbers = number_values(X.data[None, :], values)[0]
        return sparse.csr_matrix((numbers, X.indices, X.indptr), X.shape)
    result = np.empty(X.shape, np.float32)
    for chunk in row_chunks(X, _CHUNK_VALUES):
        at = np.minimum(np.searchsorted(values, X[chunk]), len(values) - 1)
        known = np.where(values[at] == X[chunk], at + 1, len(values) + 1)
        result[chunk] = np.where(X[chunk] == 0, 0, known)
    return result


def project(X: np.ndarray, root: np.ndarray, center: np.ndarray) -> np.ndarray:
    """(X - center) @ root in float32, for a lower triangular root."""
    result = np.empty(X.shape, np.float32)
    for chunk in row_chunks(X, _CHUNK_VALUES):
        rows = np.ascontiguousarray(X[chunk], np.float64)
        result[chunk] = engine.project_rows(rows, root, center, count_threads(None))
    return result


def unit_sphere(X: np.ndarray) -> np.ndarray:
    """Points in space from latitudes and longitudes in radians: (n, 3)."""
    latitude, longitude = X.T
    x, y = cos(latitude) * cos(longitude), cos(latitude) * sin(longitude)
    return np.column_stack([x, y, sin(latitude)])


def centered_sphere(X: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Points on the sphere relative to a center, in float32: places within one town keep their digits."""
    return np.concatenate([(unit_sphere(chunk) - center).astype(np.float32) for chunk in double_chunks(X)])


def great_circle_distances(rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Arcs from rows, (m, 2), to their neighbours, (m, k, 2), in float64: float32 chords lose short ones."""
    here, there = np.asarray(rows, np.float64)[:, None, :], np.asarray(points, np.float64)
    half = (there - here) / 2
    chord = sin(half[..., 0]) ** 2 + cos(here[..., 0]) * cos(there[..., 0]) * sin(half[..., 1]) ** 2
    return 2 * arcsin(np.sqrt(np.clip(chord, 0, 1)))
