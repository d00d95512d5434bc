"""Dates among labels: points in time are values on a scale, not classes."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np

from actup._labels import missing_labels


def as_dates(labels: np.ndarray) -> np.ndarray:
    """Return an array of dates as datetime64; any other array as it is.

    Dates of ``datetime``, also with a time zone as pandas keeps them, are read as the clock there shows them.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    """
    if labels.dtype != object or not len(labels):
        return labels
    known = ~missing_labels(labels)
    if not known.any() or not isinstance(labels[int(np.argmax(known))], date | np.datetime64):
        return labels
    if not all(isinstance(value, date | np.datetime64) for value in labels[known]):
        return labels
    dates = np.full(len(labels), np.datetime64("NaT"), "datetime64[us]")
    dates[known] = [np.datetime64(_without_zone(value), "us") for value in labels[known]]
    return dates


def seconds_since_1970(dates: np.ndarray) -> np.ndarray:
    """Return dates as float64 seconds, NaN where missing."""
    seconds = dates.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.asarray(np.where(np.isnat(dates), np.nan, seconds))


def days(durations: np.ndarray) -> np.ndarray:
    """Return durations as float64 days, NaN where missing."""
    return np.asarray(durations / np.timedelta64(1, "D"), np.float64)


def _without_zone(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.replace(tzinfo=None)
    # pandas' Timestamp is a datetime with nanoseconds.
    return value.to_datetime64() if hasattr(value, "to_datetime64") else value
