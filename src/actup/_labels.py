"""Labels as arrays, and which of them are missing: None, NaN, NaT, pandas' NA, or masked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

_NUMBERS = (int, float, np.integer, np.floating)
_LARGEST_EXACT = 2**53  # beyond it, float64 cannot tell all whole numbers apart


def label_array(labels: ArrayLike) -> np.ndarray:
    """Return labels as an array; masked entries become None, and nullable numbers floats with NaN."""
    if np.ma.is_masked(labels):
        masked: Any = np.ma.asarray(labels)
        array = np.array(masked.data, object)
        array[masked.mask] = None
    else:
        try:
            array = np.asarray(labels)
        except ValueError:
            raise ValueError("labels has entries of different lengths: give one label per point") from None
    if array.dtype != object:
        return array
    known = ~missing_labels(array)
    kinds = {type(value) for value in array[known].tolist()}
    if not kinds or bool in kinds or not all(issubclass(kind, _NUMBERS) for kind in kinds):
        return array
    numbers = np.full(array.shape, np.nan)
    try:
        numbers[known] = array[known].astype(np.float64)
    except OverflowError:  # integers beyond floats
        return array
    return array if np.nanmax(np.abs(numbers)) > _LARGEST_EXACT else numbers


def missing_labels(array: np.ndarray) -> np.ndarray:
    """Return which labels of an array are missing: Booleans of the same shape."""
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array))
    if array.dtype.kind in "fc":
        return np.asarray(np.isnan(array))
    if array.dtype != object:
        return np.zeros(array.shape, bool)
    flat = np.fromiter((_is_missing(value) for value in array.flat), bool, array.size)
    return flat.reshape(array.shape)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":  # pandas' NA, whose comparisons have no truth value
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False
