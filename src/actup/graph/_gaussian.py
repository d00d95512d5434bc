"""Gaussian similarities of a given perplexity in double precision, for callers that want each row's own."""

from __future__ import annotations

import math

import numpy as np

from actup._elementary import exp, log

_MAX_STEPS = 100
_TOLERANCE = 1e-14  # of the entropy
_CHUNK_VALUES = 2**22  # distances processed at a time
_WIDEST = 60.0  # the logarithm of a precision lies within this range around that of the mean distance


def gaussian_precisions(distances: np.ndarray, perplexity: float) -> np.ndarray:
    """The precision tau of each row for which weights exp(-tau d²/2) have a perplexity.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Of each row's neighbours.
    perplexity : float
        A row that cannot have it, because k is too small or distances are equal, comes as near as possible.

    Returns
    -------
    ndarray of shape (n, 1), float64
    """
    rows = max(1, _CHUNK_VALUES // max(1, distances.shape[1]))
    parts = [
        _precisions(np.asarray(distances[first : first + rows], np.float64), math.log(perplexity))
        for first in range(0, len(distances), rows)
    ]
    return np.concatenate(parts) if parts else np.ones((0, 1))


def _precisions(distances: np.ndarray, entropy: float) -> np.ndarray:
    """Newton's method on the logarithm of the precision, kept inside an interval that shrinks."""
    squared = distances * distances
    scale = squared.mean(axis=1, keepdims=True)
    squared = squared - squared.min(axis=1, keepdims=True)  # weights depend on differences alone
    scale[scale == 0] = 1
    squared /= 2 * scale
    at = np.zeros_like(scale)
    low, high = at - _WIDEST, at + _WIDEST
    for _ in range(_MAX_STEPS):
        beta = exp(at)
        weights = exp(-beta * squared)
        total = weights.sum(axis=1, keepdims=True)
        mean = (weights * squared).sum(axis=1, keepdims=True) / total
        excess = log(total) + beta * mean - entropy
        if (np.abs(excess) <= _TOLERANCE).all() or (high - low <= 1e-15 * np.abs(at)).all():
            break
        variance = (weights * squared * squared).sum(axis=1, keepdims=True) / total - mean * mean
        low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
        slope = beta * beta * variance
        with np.errstate(all="ignore"):
            newton = at + excess / slope
        inside = (newton > low) & (newton < high) & (slope > 0)
        at = np.where(inside, newton, (low + high) / 2)
    return np.asarray(exp(at) / scale)


def gaussian_rows(distances: np.ndarray, perplexities: list[float]) -> np.ndarray:
    """Rows of similarities that each sum to 1: a mixture of one Gaussian density per perplexity.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
    perplexities : list of float

    Returns
    -------
    ndarray of shape (n, k), float64
    """
    squared = np.asarray(distances, np.float64) ** 2
    nearest = squared.min(axis=1, keepdims=True)
    taus = [gaussian_precisions(distances, perplexity) for perplexity in perplexities]
    widest = np.min(taus, axis=0)
    mixture = np.zeros_like(squared)
    for tau in taus:
        # Relative to the widest Gaussian at the nearest neighbour, so that not all densities underflow.
        mixture += np.sqrt(tau) * exp(-(tau * (squared - nearest) + (tau - widest) * nearest) / 2)
    return np.asarray(mixture / mixture.sum(axis=1, keepdims=True))
