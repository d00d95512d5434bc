"""``umap.validation``: the trustworthiness of a map."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

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

    source = source.tocsr() if sparse.issparse(source) else np.asarray(source)
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
        for k in range(1, max_k + 1):
            penalties[k] += np.maximum(found[:, :k] - k, 0).sum()
    sizes = np.arange(1, max_k + 1)
    result = np.ones(max_k + 1)
    result[1:] = 1 - penalties[1:] * 2 / (n * sizes * (2 * n - 3 * sizes - 1))
    return result
