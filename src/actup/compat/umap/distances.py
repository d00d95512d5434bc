"""``umap.distances``: distances between two vectors, and the same with their gradients, by name.

Searches and layouts do not call these functions: they are for programs that do. A distance is ``f(x, y,
*parameters)``; a distance with its gradient returns ``(distance, gradient by x)``. No argument is changed.
Functions that numba compiles may call those of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actup.compat.umap._compiled import offer_to_numba
from actup.compat.umap._count_distances import approx_log_Gamma as approx_log_Gamma
from actup.compat.umap._count_distances import ll_dirichlet
from actup.compat.umap._count_distances import log_beta as log_beta
from actup.compat.umap._count_distances import log_single_beta as log_single_beta
from actup.compat.umap._label_distances import (
    categorical_distance,
    count_distance,
    hierarchical_categorical_distance,
    levenshtein,
    ordinal_distance,
)
from actup.compat.umap._label_distances import get_discrete_params as get_discrete_params
from actup.compat.umap._label_distances import levenshtein_myers_ascii as levenshtein_myers_ascii
from actup.compat.umap._presence_distances import (
    dice,
    hamming,
    jaccard,
    kulsinski,
    matching,
    rogers_tanimoto,
    russellrao,
    sokal_michener,
    sokal_sneath,
    yule,
)
from actup.compat.umap._vector_distances import (
    WithGradient,
    bray_curtis,
    bray_curtis_grad,
    canberra,
    canberra_grad,
    chebyshev,
    chebyshev_grad,
    correlation,
    correlation_grad,
    cosine,
    cosine_grad,
    diagonal_gaussian_energy_grad,
    euclidean,
    euclidean_grad,
    gaussian_energy_grad,
    haversine,
    haversine_grad,
    hellinger,
    hellinger_grad,
    hyperboloid_grad,
    mahalanobis,
    mahalanobis_grad,
    manhattan,
    manhattan_grad,
    minkowski,
    minkowski_grad,
    poincare,
    softmax_hellinger,
    softmax_hellinger_grad,
    spherical_gaussian_energy_grad,
    standardised_euclidean,
    standardised_euclidean_grad,
    symmetric_kl,
    symmetric_kl_grad,
    weighted_minkowski,
    weighted_minkowski_grad,
)
from actup.compat.umap._vector_distances import mahalanobis_f64 as mahalanobis_f64
from actup.compat.umap._vector_distances import sign as sign
from actup.compat.umap._vector_distances import sinkhorn_distance as sinkhorn_distance
from actup.compat.umap._vector_distances import softmax as softmax
from actup.compat.umap._vector_distances import spherical_gaussian_grad as spherical_gaussian_grad

__all__ = [
    "DISCRETE_METRICS",
    "SPECIAL_METRICS",
    "named_distances",
    "named_distances_with_gradients",
    "pairwise_special_metric",
]


def parallel_special_metric(X: Any, Y: Any = None, metric: Callable[..., float] = hellinger) -> np.ndarray:
    """All distances between the rows of two arrays by a function."""
    return pairwise_special_metric(X, Y, metric)


def chunked_parallel_special_metric(
    X: Any, Y: Any = None, metric: Callable[..., float] = hellinger, chunk_size: int = 16
) -> np.ndarray:
    """As ``parallel_special_metric``, in float32."""
    return pairwise_special_metric(X, Y, metric).astype(np.float32)


def pairwise_special_metric(
    X: Any,
    Y: Any = None,
    metric: str | Callable[..., float] = "hellinger",
    kwds: Mapping[str, Any] | None = None,
    ensure_all_finite: bool = True,
) -> np.ndarray:
    """All distances between the rows of two arrays.

    Parameters
    ----------
    X : ndarray of shape (n, columns)
    Y : ndarray of shape (m, columns), default=None
        None: the rows of X.
    metric : str or callable, default="hellinger"
        A name of ``named_distances``, or a function of two rows.
    kwds : dict, default=None
        Further arguments of a function, in their order.
    ensure_all_finite : bool, default=True
        Whether to reject NaN and infinite values.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.distances import pairwise_special_metric
    >>> pairwise_special_metric(np.eye(2)).round(3).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    X, Y = np.asarray(X), np.asarray(X if Y is None else Y)
    if ensure_all_finite and not (np.isfinite(X).all() and np.isfinite(Y).all()):
        raise ValueError("X contains NaN or infinite values: leave such rows out, or ensure_all_finite=False")
    distance = metric if callable(metric) else named_distances[metric]
    arguments = tuple((kwds or {}).values())
    # A function may write to its arguments: it gets its own copies for every pair.
    distances = [[distance(x.copy(), y.copy(), *arguments) for y in Y] for x in X]
    return np.array(distances, np.float64).reshape(len(X), len(Y))


def _with_aliases(table: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    return {name: function for names, function in table.items() for name in names}


named_distances: dict[str, Callable[..., float]] = _with_aliases(
    {
        ("euclidean", "l2"): euclidean,
        ("manhattan", "taxicab", "l1"): manhattan,
        ("chebyshev", "linfinity", "linfty", "linf"): chebyshev,
        ("minkowski",): minkowski,
        ("poincare",): poincare,
        ("seuclidean", "standardised_euclidean"): standardised_euclidean,
        ("wminkowski", "weighted_minkowski"): weighted_minkowski,
        ("mahalanobis",): mahalanobis,
        ("canberra",): canberra,
        ("cosine",): cosine,
        ("correlation",): correlation,
        ("hellinger",): hellinger,
        ("softmax_hellinger",): softmax_hellinger,
        ("haversine",): haversine,
        ("braycurtis",): bray_curtis,
        ("ll_dirichlet",): ll_dirichlet,
        ("symmetric_kl",): symmetric_kl,
        ("hamming",): hamming,
        ("jaccard",): jaccard,
        ("dice",): dice,
        ("matching",): matching,
        ("kulsinski",): kulsinski,
        ("rogerstanimoto",): rogers_tanimoto,
        ("russellrao",): russellrao,
        ("sokalsneath",): sokal_sneath,
        ("sokalmichener",): sokal_michener,
        ("yule",): yule,
        ("categorical",): categorical_distance,
        ("ordinal",): ordinal_distance,
        ("hierarchical_categorical",): hierarchical_categorical_distance,
        ("count",): count_distance,
        ("string", "myers"): levenshtein,
    }
)
named_distances_with_gradients: dict[str, Callable[..., WithGradient]] = _with_aliases(
    {
        ("euclidean", "l2"): euclidean_grad,
        ("manhattan", "taxicab", "l1"): manhattan_grad,
        ("chebyshev", "linfinity", "linfty", "linf"): chebyshev_grad,
        ("minkowski",): minkowski_grad,
        ("seuclidean", "standardised_euclidean"): standardised_euclidean_grad,
        ("wminkowski", "weighted_minkowski"): weighted_minkowski_grad,
        ("mahalanobis",): mahalanobis_grad,
        ("canberra",): canberra_grad,
        ("cosine",): cosine_grad,
        ("correlation",): correlation_grad,
        ("hellinger",): hellinger_grad,
        ("softmax_hellinger",): softmax_hellinger_grad,
        ("haversine",): haversine_grad,
        ("braycurtis",): bray_curtis_grad,
        ("symmetric_kl",): symmetric_kl_grad,
        ("spherical_gaussian_energy",): spherical_gaussian_energy_grad,
        ("diagonal_gaussian_energy",): diagonal_gaussian_energy_grad,
        ("gaussian_energy",): gaussian_energy_grad,
        ("hyperboloid",): hyperboloid_grad,
    }
)

# Targets that are no vectors.
DISCRETE_METRICS = ("categorical", "hierarchical_categorical", "ordinal", "count", "string", "myers")
# What scikit-learn does not compute.
SPECIAL_METRICS = (
    "hellinger",
    "ll_dirichlet",
    "symmetric_kl",
    "poincare",
    hellinger,
    ll_dirichlet,
    symmetric_kl,
    poincare,
)

offer_to_numba()
