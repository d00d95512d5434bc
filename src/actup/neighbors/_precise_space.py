"""How far float32 rounds the distances of a metric, and the space in which its rows can be shifted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from actup._elementary import power
from actup._typing import Rows
from actup.neighbors._chunks import row_chunks
from actup.neighbors._comparison import Comparison
from actup.neighbors._double_rows import difference, norms
from actup.neighbors._finite_values import value_chunks
from actup.neighbors._row_transforms import unit_sphere

_CHUNK_VALUES = 2**18
_FLOAT32_ROUNDING = 2.0**-23  # of a distance, relative to the norm of one of its two rows


def _identity(values: Any) -> Any:
    return values


def _unbounded(_: Rows) -> float:
    return np.inf


@dataclass(frozen=True)
class Space:
    """Where a metric is a norm of differences, if there is such a space, and how far float32 rounds there.

    Attributes
    ----------
    comparison : Comparison
        Its ``metric``, ``p`` and ``factors`` are those of the norm.
    metric : str
        As the caller named it.
    is_norm : bool
        Whether distances are a norm of differences. Otherwise ("canberra", "braycurtis") a multiple of
        "manhattan" is a lower bound of them, by which candidates are found and points are ruled out.
    to_space : callable
        Rows as the caller gave them -> rows of the space, in full precision.
    from_distance, to_distance : callable
        Between distances of the metric and of the space.
    errors : callable
        ``errors(rows)``: how far rounding to float32 moves the distances of each row as the engine reads it,
        beyond their own rounding.
    largest_error : callable
        ``largest_error(rows)``: an upper bound of ``errors(rows)`` that takes less time; infinite if there is
        none.
    """

    comparison: Comparison
    metric: str
    is_norm: bool = True
    to_space: Callable[[Rows], Rows] = _identity
    from_distance: Callable[[np.ndarray], np.ndarray] = _identity
    to_distance: Callable[[np.ndarray], np.ndarray] = _identity
    errors: Callable[[Rows], np.ndarray] = _identity
    largest_error: Callable[[Rows], float] = _unbounded


def make_space(metric: str, comparison: Comparison, X: Rows) -> Space | None:
    """The space of a compiled metric; None where float32 loses no neighbours, or nothing can be done.

    Parameters
    ----------
    metric : str
    comparison : Comparison
        As resolved for X, before any transform.
    X : ndarray or CSR matrix
    """
    columns = X.shape[1]
    match metric:
        case "canberra" | "braycurtis":
            error = _FLOAT32_ROUNDING * (columns if metric == "canberra" else 1)
            return Space(comparison, metric, is_norm=False, **_equal_errors(error))
        case "cosine" | "correlation" | "hellinger":
            if sparse.issparse(X):
                return None
            is_root = metric == "hellinger"
            errors = _equal_errors(_FLOAT32_ROUNDING)
            errors = {"errors": _correlation_errors} if metric == "correlation" else errors
            return Space(
                Comparison("euclidean"),
                metric,
                to_space=partial(_directions, metric=metric),
                from_distance=_chord_of_root if is_root else _chord,
                to_distance=_root_of_chord if is_root else _half_square,
                **errors,
            )
        case "haversine":
            base = Comparison("euclidean")
            return Space(base, metric, to_space=_on_sphere, **_error_bounds(base))
    if comparison.metric not in ("euclidean", "manhattan", "chebyshev", "minkowski"):
        return None
    to_space: Callable[[Rows], Rows] = _identity
    if comparison.root is not None:
        to_space = partial(_projected, root=comparison.root, center=X[0].astype(np.float64))
        comparison = Comparison(comparison.metric)
    return Space(comparison, metric, to_space=to_space, **_error_bounds(comparison))


def _error_bounds(comparison: Comparison) -> dict[str, Any]:
    """How far rounding moves distances in a norm, for ``Space``."""
    return {
        "errors": partial(rounding_errors, comparison=comparison),
        "largest_error": partial(largest_rounding_error, comparison=comparison),
    }


def rounding_errors(rows: Rows, comparison: Comparison) -> np.ndarray:
    """How far rounding to float32 can move the distances of each row, beyond their own rounding: (n,)."""
    errors = [norms(rows[chunk], comparison) for chunk in row_chunks(rows, _CHUNK_VALUES)]
    return _FLOAT32_ROUNDING * np.concatenate([np.zeros(0), *errors])


def largest_rounding_error(rows: Rows, comparison: Comparison) -> float:
    """An upper bound of ``rounding_errors`` by the largest value of all rows."""
    columns = rows.shape[1]
    factors = {"euclidean": np.sqrt(columns), "manhattan": columns, "chebyshev": 1.0}
    factor = factors.get(comparison.metric)
    factor = power(columns, 1 / comparison.p) if factor is None else factor
    return float(_FLOAT32_ROUNDING * (1 + 1e-6) * factor * _largest_value(rows))


def lost_differences(points: Rows, comparison: Comparison) -> float:
    """The distance of differences whose powers underflow float32, next to the largest value of the points."""
    if comparison.metric != "minkowski" or not points.shape[0]:
        return 0.0
    p = comparison.p
    smallest = max(1e-30, float(power(2, -125 / p)))
    return float(smallest * _largest_value(points) * 2 * power(points.shape[1], 1 / p))


def _largest_value(rows: Rows) -> float:
    """The largest absolute value."""
    return max(
        (max(float(part.max()), -float(part.min())) for part in value_chunks(rows) if part.size), default=0.0
    )


def _equal_errors(error: float) -> dict[str, Any]:
    """The same error for all rows, for ``Space``."""
    return {"errors": partial(_error_of_each, error=error), "largest_error": partial(_constant, error=error)}


def _error_of_each(rows: Rows, error: float) -> np.ndarray:
    return np.full(rows.shape[0], error)


def _constant(_: Rows, error: float) -> float:
    return error


def _chord(distances: np.ndarray) -> np.ndarray:
    """The distance of two directions, of which half the square is their cosine distance."""
    return np.sqrt(2.0 * distances)


def _half_square(chords: np.ndarray) -> np.ndarray:
    return np.asarray(chords * chords / 2)


def _chord_of_root(distances: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(2.0) * distances)


def _root_of_chord(chords: np.ndarray) -> np.ndarray:
    return np.asarray(chords / np.sqrt(2.0))


def _on_sphere(rows: np.ndarray) -> np.ndarray:
    return unit_sphere(rows.astype(np.float64))


def _projected(rows: np.ndarray, root: np.ndarray, center: np.ndarray) -> np.ndarray:
    """(rows - center) @ root in float64, summed column by column."""
    projected = np.zeros((len(rows), root.shape[1]))
    for chunk in row_chunks(rows, _CHUNK_VALUES):
        differences = rows[chunk] - center
        for column, factors in enumerate(root):
            projected[chunk] += differences[:, column, None] * factors
    return projected


def _centered(rows: np.ndarray, metric: str) -> np.ndarray:
    """Rows in float64 whose directions are compared."""
    if metric == "correlation":
        rows = difference(rows, rows[:, :1])  # first, because float64 does not hold all int64
        rows -= rows.mean(axis=1, keepdims=True)
        return rows
    return np.sqrt(rows) if metric == "hellinger" else rows.astype(np.float64)


def _directions(rows: np.ndarray, metric: str) -> np.ndarray:
    """The direction of each row, and a column that is 1 for rows without one and 0 for others."""
    rows = _centered(rows, metric)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    missing = lengths == 0
    return np.hstack([rows / np.where(missing, 1, lengths), missing])


def _correlation_errors(rows: np.ndarray) -> np.ndarray:
    """How far rounding to float32 moves the directions of rows from their means."""
    ratios = [np.zeros(0)]
    for chunk in row_chunks(rows, _CHUNK_VALUES):
        part = rows[chunk].astype(np.float64)
        spread = np.linalg.norm(part - part.mean(axis=1, keepdims=True), axis=1)
        length = np.linalg.norm(part, axis=1)
        ratios.append(length / np.maximum(spread, _FLOAT32_ROUNDING * length + np.finfo(np.float64).tiny))
    return _FLOAT32_ROUNDING * np.concatenate(ratios)
