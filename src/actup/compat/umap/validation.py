"""``umap.validation``: the trustworthiness of a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from actup._csr import read_sparse

__all__ = ["trustworthiness_vector"]

_CHUNK_VALUES = 2**22  # distances compared at a time


def trustworthiness_vector(source: Any, embedding: Any, max_k: int, metric: Any = "euclidean") -> np.ndarray:
    """The trustworthiness of a map for 1 to ``max_k`` neighbours.

    Parameters
    ----------
    source : array-like or sparse matrix of shape (n, features)
        The data.
    embedding : array-like of shape (n, n_components)
        Its map; neighbours on it are Euclidean.
    max_k : int
        The largest number of neighbours, less than n / 2.
    metric : str or callable, default="euclidean"
        Distance between rows of ``source``: a name of ``sklearn.metrics.pairwise_distances`` or a function.

    Returns
    -------
    ndarray of shape (max_k + 1,), float64
        At index k what ``sklearn.manifold.trustworthiness`` gives for ``n_neighbors=k``; 1 at index 0.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.validation import trustworthiness_vector
    >>> X = np.arange(10.0)[:, None]
    >>> trustworthiness_vector(X, X, 3).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    from sklearn.metrics import pairwise_distances

    from actup.neighbors._api import nearest_neighbors
    from actup.neighbors._pairwise_search import on_private_rows

    source = read_sparse(source, "source") if sparse.issparse(source) else np.asarray(source)
    n = source.shape[0]
    if not 1 <= max_k < n / 2:
        raise ValueError(f"max_k={max_k} must be at least 1 and less than half of the {n} rows")
    compare = on_private_rows(metric, source, source) if callable(metric) else metric
    on_map = nearest_neighbors(embedding, max_k, algorithm="exact").indices
    penalties = np.zeros(max_k + 1)
    for begin in range(0, n, max(1, _CHUNK_VALUES // n)):
        rows = np.arange(begin, min(n, begin + max(1, _CHUNK_VALUES // n)))
        distances = pairwise_distances(source[rows], source, metric=compare)
        distances[np.arange(len(rows)), rows] = -np.inf  # a row is the first of its own neighbours
        ranks = np.empty(distances.shape, np.int64)
        np.put_along_axis(ranks, np.argsort(distances, axis=1, kind="stable"), np.arange(n)[None], axis=1)
        found = np.take_along_axis(ranks, on_map[rows], axis=1)
        penalties += _penalties(found, max_k)
    return _from_penalties(penalties, n)


def trustworthiness_vector_bulk(
    indices_source: np.ndarray, indices_embedded: np.ndarray, max_k: int
) -> np.ndarray:
    """The trustworthiness of a map for 1 to ``max_k`` neighbours, of neighbours in order of distance.

    Parameters
    ----------
    indices_source : ndarray of shape (n, n), int
        All rows in order of their distance in the data, the row itself first.
    indices_embedded : ndarray of shape (n, at least max_k), int
        The nearest rows on the map, without the row itself.
    max_k : int

    Returns
    -------
    ndarray of shape (max_k + 1,), float64
        0 at index 0, as in umap-learn.
    """
    order = np.asarray(indices_source)
    n = len(order)
    ranks = np.empty((n, n), np.int64)
    np.put_along_axis(ranks, order, np.arange(n)[None], axis=1)
    found = np.take_along_axis(ranks, np.asarray(indices_embedded)[:, :max_k], axis=1)
    result = _from_penalties(_penalties(found, max_k), n)
    result[0] = 0.0
    return result


def make_trustworthiness_calculator(metric: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of (source, indices_embedded, max_k), for a function that compares two rows of the source.

    It returns what ``trustworthiness_vector`` does; ``indices_embedded`` are the nearest rows on the map.
    """

    def calculate(source: Any, indices_embedded: np.ndarray, max_k: int) -> np.ndarray:
        from sklearn.metrics import pairwise_distances

        from actup.neighbors._pairwise_search import on_private_rows

        rows = np.asarray(source)
        distances = pairwise_distances(rows, metric=on_private_rows(metric, rows, rows))
        result = trustworthiness_vector_bulk(np.argsort(distances, axis=1), indices_embedded, max_k)
        result[0] = 1.0
        return result

    return calculate


def _penalties(ranks: np.ndarray, max_k: int) -> np.ndarray:
    """By how much the ranks of 1 to ``max_k`` neighbours exceed their number, summed: (max_k + 1,)."""
    sums = [0.0] + [float(np.maximum(ranks[:, :k] - k, 0).sum()) for k in range(1, max_k + 1)]
    return np.array(sums)


def _from_penalties(penalties: np.ndarray, n: int) -> np.ndarray:
    """Trustworthiness: 1 at index 0."""
    sizes = np.arange(1, len(penalties))
    result = np.ones(len(penalties))
    result[1:] = 1 - penalties[1:] * 2 / (n * sizes * (2 * n - 3 * sizes - 1))
    return result
