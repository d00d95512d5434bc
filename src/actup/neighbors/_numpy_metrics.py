"""umap-learn's metrics for counts, distributions and the Poincaré disk, in NumPy: exact, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_TINY = 1e-11  # keeps logarithms of absent columns finite, as in umap-learn


def _poincare(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The hyperbolic distance inside the unit ball."""
    from scipy.spatial.distance import cdist  # by differences: products would lose those of near rows

    inside = [1 - np.einsum("ij,ij->i", rows, rows) for rows in (A, X)]
    least = min(part.min() for part in inside)
    if least <= 0:
        raise ValueError(
            f"metric='poincare' needs rows of length below 1, one has {np.sqrt(1 - least):g}: divide X"
        )
    excess = 2 * cdist(A, X, "sqeuclidean") / (inside[0][:, None] * inside[1][None])
    return np.log1p(excess + np.sqrt(excess * (excess + 2)))  # arccosh(1 + excess)


def _symmetric_kl(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The mean of both Kullback-Leibler divergences of the rows as distributions."""
    p, q = ((rows + _TINY) / (rows + _TINY).sum(axis=1, keepdims=True) for rows in (A, X))
    own = [np.einsum("ij,ij->i", rows, np.log(rows)) for rows in (p, q)]
    crossed = p @ np.log(q).T + np.log(p) @ q.T
    return np.maximum(own[0][:, None] + own[1][None] - crossed, 0) / 2


def _ll_dirichlet(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """How unlikely each row of counts is under the Dirichlet posterior of the other; both ways, per count."""
    from scipy.special import betaln

    def self_terms(rows: np.ndarray) -> np.ndarray:
        present = rows > 0.9
        columns = np.where(present, betaln(np.where(present, rows, 1), np.where(present, rows, 1)), 0)
        total = rows.sum(axis=1)
        return columns.sum(axis=1) - betaln(total, total)

    totals, own = X.sum(axis=1), self_terms(X)
    distances = np.empty((len(A), len(X)))
    for row, (counts, total, term) in enumerate(zip(A, A.sum(axis=1), self_terms(A), strict=True)):
        both = (counts * X) > 0.9
        terms = np.where(both, betaln(np.where(both, counts, 1), np.where(both, X, 1)), 0)
        common = terms.sum(axis=1) - betaln(total, totals)
        distances[row] = np.sqrt(np.maximum((common - own) / totals + (common - term) / total, 0))
    return distances


SPECIAL = {"poincare": _poincare, "symmetric_kl": _symmetric_kl, "ll_dirichlet": _ll_dirichlet}


def blocks(X: np.ndarray, metric: str) -> Iterator[np.ndarray]:
    """All distances within X in one of ``SPECIAL``, some rows at a time."""
    X = check_special(X, metric)
    rows = max(1, 2**22 // len(X))
    return (SPECIAL[metric](X[begin : begin + rows], X) for begin in range(0, len(X), rows))


def check_special(X: np.ndarray, metric: str) -> np.ndarray:
    """The rows in full precision, if they are what one of ``SPECIAL`` compares."""
    X = X.astype(np.float64)
    if metric != "poincare" and (X.min() < 0 or X.sum(axis=1).min() <= 0):
        raise ValueError(
            f"metric={metric!r} needs rows of values of at least 0 that are not all 0; the least value is "
            f"{X.min():g}, the least sum of a row {X.sum(axis=1).min():g}"
        )
    return X
