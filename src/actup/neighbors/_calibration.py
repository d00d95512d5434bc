"""How approximate searches are tuned and judged: recall on a sample, effort ladders, widening and stop rules.

The cluster search and the proxy search share all of them but the efforts: those of the cluster search are
tabulated by the engine (``_native/neighbors/calibration.hpp``). The cell search of backend "cuda" has a
sample of its own on the device, and shares the stop rule and the threshold of the warning.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np

DEFAULT_RECALL = 0.97
LOW_RECALL = 0.9  # below this a search warns
SAMPLE_ROWS = 512  # rows whose true neighbours the recall is measured with
# The progress of a search after its calibration, and after the search itself; refinement and outliers follow.
PLANNING_SHARE, SEARCH_SHARE = 0.4, 0.9
RELATIVE_ROUNDING = 1e-5  # distances of one pair that were summed in another order
_RADIUS_QUANTILE = 0.99  # of the sample's k-th distances; the rows beyond it may be outliers
_LADDER_FACTOR = 1.4142135  # between two steps of effort
_WIDENING_FACTOR = 4  # between the code columns of an index and of the next wider one


def shares_found(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The share of each row's true neighbours that were found, judged by distance.

    Points at the distance of the k-th true neighbour are interchangeable, but do not replace nearer ones that
    were missed.

    Parameters
    ----------
    found, true : ndarray of shape (rows, k)
        Distances.

    Returns
    -------
    ndarray of shape (rows,)
    """
    k = true.shape[1]
    radius = true[:, -1:]
    nearer, as_near = radius * (1 - RELATIVE_ROUNDING), radius * (1 + RELATIVE_ROUNDING)
    wanted = np.count_nonzero(true < nearer, axis=1)
    closer = np.count_nonzero(found < nearer, axis=1)
    tied = np.count_nonzero(found <= as_near, axis=1) - closer
    shares: np.ndarray = (np.minimum(closer, wanted) + np.minimum(tied, k - wanted)) / k
    return shares


def recall_lower_bound(mean: np.ndarray, error: np.ndarray) -> np.ndarray:
    """The recall that is almost certainly reached: two standard errors below the sample's mean."""
    bound: np.ndarray = mean - 2 * error
    return bound


def typical_radius(true: np.ndarray) -> float:
    """The distance of the k-th neighbour that nearly all rows of a sample, (rows, k), do not exceed."""
    return float(np.quantile(true[:, -1], _RADIUS_QUANTILE, method="lower"))


def effort_ladder(first: int, last: int) -> list[int]:
    """Integers that grow by a factor of about 1.4 from ``first`` to ``last``, both included."""
    steps = []
    value = float(first)
    while value < last:
        steps.append(round(value))
        value *= _LADDER_FACTOR
    return [*steps, last]


def first_sufficient(steps: list[int], is_sufficient: Callable[[int], bool]) -> int | None:
    """The first step that is sufficient, found by bisection: all later steps must be sufficient too."""
    at = bisect_left(steps, True, key=is_sufficient)
    return steps[at] if at < len(steps) else None


def widened(columns: int, most: int) -> int:
    """The code columns of the next wider index, at most ``most``."""
    return min(_WIDENING_FACTOR * columns, most)


def refine_until(
    target: float,
    refine: Callable[[], float],
    recall: float,
    *,
    max_rounds: int,
    min_gain: float = 0.0,
) -> float:
    """Run refinement rounds until the recall reaches ``target`` or a round gains less than ``min_gain``.

    Parameters
    ----------
    target : float
    refine : callable
        Runs one round and returns the recall after it.
    recall : float
        The recall before the first round.
    max_rounds : int
    min_gain : float, default=0.0

    Returns
    -------
    float
        The recall after the last round.
    """
    for _ in range(max_rounds):
        if recall >= target:
            break
        before, recall = recall, refine()
        if recall < before + min_gain:
            break
    return recall
