"""umap-learn's metrics for counts, distributions, ranks, angles and packed bits, by NumPy in float64.

Each function gives all distances between the rows of two arrays; ``_metrics.py`` has their records.
"""

from __future__ import annotations

import numpy as np

_LOG_OFFSET = 1e-11  # keeps logarithms of zeros finite, as in umap-learn
_FLOAT32_EPSILON = float(np.finfo(np.float32).eps)  # the same offset in pynndescent
_LEAST_ANGLE = np.radians(10)  # added to the angles of "tsss", so that equal directions differ by length
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


def jensen_shannon(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The mean divergence of two rows, as distributions, from their mean."""
    p, q = (
        (rows + _FLOAT32_EPSILON) / (rows + _FLOAT32_EPSILON).sum(axis=1, keepdims=True) for rows in (A, B)
    )
    own = [np.einsum("ij,ij->i", rows, np.log(rows)) for rows in (p, q)]
    distances = np.empty((len(A), len(B)))
    for row, distribution in enumerate(p):
        mean = (distribution + q) / 2
        distances[row] = (own[0][row] + own[1]) / 2 - np.einsum("ij,ij->i", mean, np.log(mean))
    return np.maximum(distances, 0)


def wasserstein_1d(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The work of moving one histogram over bins in a row to the other, one bin apart being 1."""
    from scipy.spatial.distance import cdist

    distances: np.ndarray = cdist(_cumulated(A), _cumulated(B), "cityblock")
    return distances


def circular_kantorovich(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The work of moving one histogram over bins in a circle to the other."""
    points = _cumulated(B)
    distances = np.empty((len(A), len(B)))
    for row, cumulated in enumerate(_cumulated(A)):
        flow = cumulated - points
        distances[row] = np.abs(flow - np.median(flow, axis=1, keepdims=True)).sum(axis=1)
    return distances


def _cumulated(rows: np.ndarray) -> np.ndarray:
    cumulated: np.ndarray = np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1)
    return cumulated


def spearmanr(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """One minus the correlation of the ranks of the values within each row."""
    from scipy.stats import rankdata

    a, b = (
        ranks - ranks.mean(axis=1, keepdims=True) for ranks in (rankdata(rows, axis=1) for rows in (A, B))
    )
    return _chords(a, b) ** 2 / 2


def true_angular(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The angle between two rows over pi: 0 for the same direction, 1 for opposite ones."""
    return _angles(A, B) / np.pi


def tsss(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The area of the triangle of two rows times that of the sector between them."""
    from scipy.spatial.distance import cdist

    theta = _angles(A, B) + _LEAST_ANGLE
    # What is too large becomes infinite or NaN, which is rejected by name.
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = np.linalg.norm(A, axis=1)[:, None], np.linalg.norm(B, axis=1)[None]
        triangle = a * b * np.abs(np.sin(theta)) / 2  # the sine is negative beyond 180 degrees
        sector = (cdist(A, B) + np.abs(a - b)) ** 2 * theta / 2
        areas: np.ndarray = triangle * sector
    return areas


def _angles(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The angles between rows in radians."""
    angles: np.ndarray = 2 * np.arcsin(np.minimum(_chords(A, B) / 2, 1))
    return angles


def _chords(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The distances of the rows as unit vectors: as differences, which keep the digits of near rows.

    Rows of zeros are at distance 0 from each other, and at a right angle to all others.
    """
    from scipy.spatial.distance import cdist

    scaled = [_scaled_rows(rows) for rows in (A, B)]
    lengths = [np.linalg.norm(rows, axis=1) for rows in scaled]
    a, b = (rows / np.where(norm > 0, norm, 1)[:, None] for rows, norm in zip(scaled, lengths, strict=True))
    one_is_zero = (lengths[0] == 0)[:, None] != (lengths[1] == 0)[None]
    chords: np.ndarray = np.where(one_is_zero, np.sqrt(2), cdist(a, b))
    return chords


def _scaled_rows(rows: np.ndarray) -> np.ndarray:
    """Rows times powers of two, which keep all digits, such that squares lie within range."""
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0))[1]
    return np.asarray(np.ldexp(rows, -exponents[:, None]))


def bit_hamming(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The number of bits that differ between two rows of bytes."""
    a, b = _bits(A, "bit_hamming"), _bits(B, "bit_hamming")
    differing: np.ndarray = a.sum(axis=1)[:, None] + b.sum(axis=1)[None] - 2 * (a @ b.T)
    return differing


def bit_jaccard(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """One minus the share of common bits among those that are set in one of two rows of bytes."""
    a, b = _bits(A, "bit_jaccard"), _bits(B, "bit_jaccard")
    common = a @ b.T
    either = a.sum(axis=1)[:, None] + b.sum(axis=1)[None] - common
    return np.where(either > 0, 1 - common / np.maximum(either, 1), 0)


def _bits(rows: np.ndarray, metric: str) -> np.ndarray:
    """The bits of rows of bytes, as numbers."""
    with np.errstate(invalid="ignore"):
        octets = rows.astype(np.uint8)
    if not np.array_equal(octets, rows):
        raise ValueError(
            f"metric={metric!r} compares the bits of bytes, whole numbers from 0 to 255, but X has values "
            f"from {rows.min():g} to {rows.max():g}: pack Boolean columns with np.packbits(X, axis=1)"
        )
    return np.unpackbits(octets, axis=1).astype(np.float64)
