"""What searches are judged by: how many of a sample's true neighbours they found, by their distances."""

from __future__ import annotations

import numpy as np

DEFAULT_RECALL = 0.97
LOW_RECALL = 0.9
SAMPLED_ROWS = 512
_ROUNDING = 1e-5  # the same sums, in another order


def true_shares(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The share of each row's true neighbours that were found.

    Points as far as the k-th true neighbour count for each other, whichever they are, but not for nearer
    ones that were missed.

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
    nearer, as_near = radius * (1 - _ROUNDING), radius * (1 + _ROUNDING)
    wanted = np.count_nonzero(true < nearer, axis=1)
    closer = np.count_nonzero(found < nearer, axis=1)
    tied = np.count_nonzero(found <= as_near, axis=1) - closer
    return (np.minimum(closer, wanted) + np.minimum(tied, k - wanted)) / k


def almost_certain(mean, error):
    """The recall that is reached almost certainly: two standard errors below the mean."""
    return mean - 2 * error


def usual_reach(true: np.ndarray) -> float:
    """How far the last neighbours of a sample are, but for one row in a hundred, which may be an outlier."""
    return float(np.quantile(true[:, -1], 0.99, method="lower"))
