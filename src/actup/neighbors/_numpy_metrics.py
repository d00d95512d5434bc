"""umap-learn's metrics for counts, distributions and the Poincaré disk, computed by NumPy in float64.

Each function gives all distances between the rows of two arrays; ``_metrics.py`` has their records.
"""

from __future__ import annotations

import numpy as np

_LOG_OFFSET = 1e-11  # keeps logarithms of zeros finite, as in umap-learn
_LEAST_COUNT = 0.9  # a value above this is a count, as in umap-learn


def poincare(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The hyperbolic distance inside the unit ball."""
    from scipy.spatial.distance import cdist  # from differences: products lose the digits of near rows

    inside = [1 - np.einsum("ij,ij->i", rows, rows) for rows in (A, B)]
    least = min(part.min() for part in inside)
    if least <= 0:
        raise ValueError(
            f"metric='poincare' needs rows of length below 1, one has {np.sqrt(1 - least):g}: divide X"
        )
    excess = 2 * cdist(A, B, "sqeuclidean") / (inside[0][:, None] * inside[1][None])
    distances: np.ndarray = np.log1p(excess + np.sqrt(excess * (excess + 2)))  # arccosh(1 + excess)
    return distances


def symmetric_kl(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The mean of both Kullback-Leibler divergences of the rows as distributions."""
    p, q = ((rows + _LOG_OFFSET) / (rows + _LOG_OFFSET).sum(axis=1, keepdims=True) for rows in (A, B))
    own = [np.einsum("ij,ij->i", rows, np.log(rows)) for rows in (p, q)]
    crossed = p @ np.log(q).T + np.log(p) @ q.T
    divergence: np.ndarray = np.maximum(own[0][:, None] + own[1][None] - crossed, 0) / 2
    return divergence


def ll_dirichlet(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """How unlikely each row of counts is under the Dirichlet posterior of the other; both ways, per count."""
    from scipy.special import betaln

    def self_terms(rows: np.ndarray) -> np.ndarray:
        present = rows > _LEAST_COUNT
        columns = np.where(present, betaln(np.where(present, rows, 1), np.where(present, rows, 1)), 0)
        total = rows.sum(axis=1)
        terms: np.ndarray = columns.sum(axis=1) - betaln(total, total)
        return terms

    totals, own = B.sum(axis=1), self_terms(B)
    distances = np.empty((len(A), len(B)))
    for row, (counts, total, term) in enumerate(zip(A, A.sum(axis=1), self_terms(A), strict=True)):
        both = (counts * B) > _LEAST_COUNT
        terms = np.where(both, betaln(np.where(both, counts, 1), np.where(both, B, 1)), 0)
        common = terms.sum(axis=1) - betaln(total, totals)
        distances[row] = np.sqrt(np.maximum((common - own) / totals + (common - term) / total, 0))
    return distances
