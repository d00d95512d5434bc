"""Validate the inputs that the measures share."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from actup._errors import WrongType
from actup._labels import label_array, missing_labels
from actup._maps import map_of
from actup._typing import Rows
from actup.quality._points import MeasuredPoints

_LARGEST_PLACE = 1e150  # of a map whose squared distances are finite


class NotMeasurable(ValueError):
    """Raised by a measure that is not defined for the given points.

    The quality report leaves the measure out and shows the message.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import NotMeasurable, triplet_accuracy
    >>> try:
    ...     triplet_accuracy(np.eye(2), np.eye(2))
    ... except NotMeasurable as reason:
    ...     print(reason)
    a triplet needs at least 3 points, got 2
    """


def check_map(Y: ArrayLike) -> np.ndarray:
    """Return the map, or that of a model or result, as a finite float64 array of shape (n, n_components)."""
    given = map_of(Y)
    try:
        array = np.asarray(given)
    except ValueError:
        raise ValueError(
            "Y has rows of different lengths: give an array of shape (n, n_components)"
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"Y must have the shape (n, n_components) with neither 0, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"Y must hold real numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):  # longdouble becomes infinite, which is rejected by name
        array = np.ascontiguousarray(array, np.float64)
    if not np.isfinite(array).all():
        raise ValueError("Y holds NaN or infinite values: a map must be finite to be measured")
    return array


def within_range(Y: np.ndarray) -> np.ndarray:
    """The map, scaled down if squares of its distances would overflow."""
    largest = np.abs(Y).max(initial=0.0)
    return Y / largest if largest > _LARGEST_PLACE else Y


def check_pair(X: Rows | MeasuredPoints, Y: ArrayLike, metric: str) -> tuple[MeasuredPoints, np.ndarray]:
    """Return X as MeasuredPoints and Y as a map, which must have the same number of rows."""
    Y = check_map(Y)
    points = X if isinstance(X, MeasuredPoints) else MeasuredPoints(X, metric)
    if len(points) != len(Y):
        raise ValueError(f"X has {len(points)} rows and Y has {len(Y)}: a map has one row per row of X")
    return points, Y


def check_labels(labels: ArrayLike, n: int, name: str = "labels") -> np.ndarray:
    """Return the labels of n points as class numbers 0, 1, ... in the order of the labels: (n,) int64.

    ``name`` is what error messages call the labels.
    """
    array = label_array(labels)
    if array.shape != (n,):
        raise ValueError(f"{name} must have the shape ({n},), one per point, got {array.shape}")
    missing = int(np.count_nonzero(missing_labels(array)))
    if missing:
        raise ValueError(
            f"{name} is missing (None, NaN, NaT or NA) for {missing} of {n} points: measure only the points "
            "that have a label, such as those in which pandas.notna() is True"
        )
    if array.dtype.kind == "f" and not np.array_equal(array, np.round(array)):
        raise ValueError(f"{name} must be classes, got fractional numbers: bin them first")
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise TypeError(f"{name} mixes types that have no order ({error}): convert all to text") from None


def check_k(k: int, largest: int, n: int) -> int:
    """Return k as an int between 1 and ``largest``, the limit for n points."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise TypeError(f"k={k!r} must be an integer")
    if k < 1:
        raise ValueError(f"k={k} must be at least 1")
    if k > largest:
        raise NotMeasurable(f"k={k} is too large for {n} points")
    return int(k)


def check_sample(sample: int | None) -> int | None:
    """Return a sample size of at least 1, or None for no sampling."""
    if sample is None:
        return None
    if isinstance(sample, bool) or not isinstance(sample, int | np.integer):
        raise TypeError(f"sample={sample!r} must be an integer, or None for everything")
    if sample < 1:
        raise ValueError(f"sample={sample} must be at least 1, or None for everything")
    return int(sample)


def random_generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator of a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        shown = reprlib.repr(random_state)
        raise WrongType(f"random_state={shown} must be a whole number of at least 0") from None


def draw_rows(n: int, sample: int | None, random_state: int) -> np.ndarray:
    """Draw ``sample`` of n rows, in ascending order; all rows if ``sample`` is None or at least n."""
    sample, generator = check_sample(sample), random_generator(random_state)
    if sample is None or sample >= n:
        return np.arange(n)
    return np.sort(generator.choice(n, sample, replace=False))
