"""The functions of ``umap.umap_`` that make a graph: neighbours, bandwidths and fuzzy simplicial sets."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, issparse

from actup._csr import read_sparse
from actup._values import as_float, naming_memory, read_count, reject_mask
from actup._warnings import warn_user
from actup.compat.umap._search_index import SearchIndex
from actup.compat.umap.sparse import sparse_named_distances
from actup.compat.umap.utils import fast_knn_indices
from actup.estimators._inputs import RandomState, draw_seed
from actup.graph import _set_operations
from actup.graph._memberships import bandwidths, memberships

# Metrics of sparse rows besides those of ``umap.sparse`` that pynndescent has, and ActUp too.
_OTHER_SPARSE_METRICS = ("l2", "sqeuclidean", "dot")
_SHARE_OF_MANY = 0.1  # of all rows: more disconnected ones than this are "a large number"


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    metric: Any,
    metric_kwds: Mapping[str, Any] | None,
    angular: bool,
    random_state: RandomState,
    low_memory: bool = True,
    use_pynndescent: bool = True,
    n_jobs: int = -1,
    verbose: bool = False,
) -> tuple[np.ndarray, np.ndarray, SearchIndex | None]:
    """The nearest rows of every row, itself first.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns), or (n, n) distances if ``metric`` is "precomputed"
    n_neighbors : int
        The number of neighbours, the row itself included.
    metric, metric_kwds
        As in ``actup.nearest_neighbors``.
    random_state : int, RandomState, Generator or None
    n_jobs : int, default=-1
        Number of threads.
    angular, low_memory, use_pynndescent, verbose
        Without effect.

    Returns
    -------
    knn_indices : ndarray of shape (n, n_neighbors), int32
        -1 at infinite distances, and where X has fewer rows.
    knn_dists : ndarray of shape (n, n_neighbors), float32
    index : SearchIndex or None
        ``index.query(X_new, k)`` searches new rows; None for given distances.

    See Also
    --------
    actup.nearest_neighbors : The same without the row itself, with its recall.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.umap_ import nearest_neighbors
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> indices, distances, index = nearest_neighbors(X, 2, "euclidean", {}, False, 42)
    >>> indices.tolist(), distances.tolist()
    ([[0, 1], [1, 0], [2, 1]], [[0.0, 1.0], [0.0, 1.0], [0.0, 2.0]])
    >>> index.query([[2.9]], 1)[0].tolist()
    [[2]]
    """
    reject_mask(X, "X")
    if isinstance(metric, str) and metric == "precomputed":
        read_count(n_neighbors, "n_neighbors", 1)
        distances = read_sparse(X, "X").toarray() if issparse(X) else np.asarray(X)
        if distances.ndim != 2 or distances.dtype.kind not in "biuf":
            raise ValueError(
                f"X has shape {distances.shape} of {distances.dtype}: metric='precomputed' needs a matrix of "
                "distances"
            )
        indices = fast_knn_indices(distances, n_neighbors)
        nearest = np.take_along_axis(distances, indices, axis=1)
        indices[np.isinf(nearest)] = -1
        return indices, nearest, None
    if issparse(X) and isinstance(metric, str):
        _check_sparse_metric(metric)
    if np.shape(X) == () and not hasattr(X, "__len__"):
        raise ValueError(f"X={reprlib.repr(X)} is no matrix of rows and columns")
    seed = draw_seed(random_state)
    index = SearchIndex(X, n_neighbors, metric, dict(metric_kwds or {}), seed, n_jobs)
    with naming_memory(n_neighbors, "n_neighbors"):
        return *index.neighbor_graph, index


def _check_sparse_metric(metric: str) -> None:
    """Reject metrics in which umap-learn compares no sparse rows, though ActUp may do so."""
    known = (*sparse_named_distances, *_OTHER_SPARSE_METRICS)
    if metric not in known:
        raise ValueError(
            f"metric={metric!r} is not supported for sparse data: use one of {', '.join(known)}, or "
            "actup.nearest_neighbors"
        )


def smooth_knn_dist(
    distances: np.ndarray,
    k: float,
    n_iter: int = 64,
    local_connectivity: float = 1.0,
    bandwidth: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """The bandwidth of every row and the distance up to which its neighbours count in full.

    Parameters
    ----------
    distances : ndarray of shape (n, columns)
        Distances to the nearest rows, ascending; the row itself may be the first.
    k : float
        The number of neighbours whose sum of memberships is log2(k).
    n_iter : int, default=64
        Steps of the search for a bandwidth, at most.
    local_connectivity : float, default=1.0
        The number of neighbours that count in full; between two neighbours if it is fractional.
    bandwidth : float, default=1.0
        Factor of log2(k).

    Returns
    -------
    sigmas, rhos : ndarray of shape (n,), float32

    See Also
    --------
    compute_membership_strengths : Makes memberships of them.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.umap_ import smooth_knn_dist
    >>> sigmas, rhos = smooth_knn_dist(np.array([[0.0, 1.0, 2.0, 3.0]], np.float32), 4.0)
    >>> rhos.tolist()
    [1.0]
    """
    return bandwidths(distances, k, local_connectivity, bandwidth, n_iter)


def compute_membership_strengths(
    knn_indices: np.ndarray,
    knn_dists: np.ndarray,
    sigmas: np.ndarray,
    rhos: np.ndarray,
    return_dists: bool | None = False,
    bipartite: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """How strongly every row counts each of its neighbours, from 0 to 1.

    Parameters
    ----------
    knn_indices : ndarray of shape (n, k), int
        -1 where there is no neighbour.
    knn_dists : ndarray of shape (n, k)
    sigmas, rhos : ndarray of shape (n,)
        As ``smooth_knn_dist`` gives them.
    return_dists : bool, default=False
    bipartite : bool, default=False
        Whether the ids are those of other rows, so that a row may be its own neighbour.

    Returns
    -------
    rows, cols : ndarray of shape (n k,), int32
    vals : ndarray of shape (n k,), float32
    dists : ndarray of shape (n k,), float32, or None
        The distances, if ``return_dists``.

    See Also
    --------
    fuzzy_simplicial_set : Makes a graph of them.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.umap_ import compute_membership_strengths
    >>> ids, distances = np.array([[0, 1]]), np.array([[0.0, 2.0]], np.float32)
    >>> sigmas, rhos = np.ones(1, np.float32), np.full(1, 2.0, np.float32)
    >>> compute_membership_strengths(ids, distances, sigmas, rhos)[2].tolist()
    [0.0, 1.0]
    """
    return memberships(knn_indices, knn_dists, sigmas, rhos, bipartite, bool(return_dists))


def fuzzy_simplicial_set(
    X: Any,
    n_neighbors: int,
    random_state: RandomState,
    metric: Any,
    metric_kwds: Mapping[str, Any] | None = None,
    knn_indices: np.ndarray | None = None,
    knn_dists: np.ndarray | None = None,
    angular: bool = False,
    set_op_mix_ratio: float = 1.0,
    local_connectivity: float = 1.0,
    apply_set_operations: bool = True,
    verbose: bool = False,
    return_dists: bool | None = None,
) -> tuple[Any, ...]:
    """The graph of similarities that UMAP lays out.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, columns)
        With ``knn_indices`` and ``knn_dists``, only its number of rows matters.
    n_neighbors : int
        The number of neighbours, the row itself included.
    random_state, metric, metric_kwds
        As in ``nearest_neighbors``; without effect if neighbours are given.
    knn_indices, knn_dists : ndarray of shape (n, k), default=None
        The neighbours, if they are known; -1: no neighbour.
    set_op_mix_ratio : float, default=1.0
        1: fuzzy union of both directions, 0: their intersection.
    local_connectivity : float, default=1.0
        The number of neighbours that count in full.
    apply_set_operations : bool, default=True
        Whether to join both directions of an edge.
    return_dists : bool, default=None
        If not None, the fourth part is returned.
    angular, verbose
        Without effect.

    Returns
    -------
    graph : scipy sparse matrix of shape (n, n), float32
    sigmas, rhos : ndarray of shape (n,), float32
    dists : scipy sparse matrix or None
        The distances of the edges, the same in both directions; only if ``return_dists`` is not None.

    See Also
    --------
    simplicial_set_embedding : Lays the graph out.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup.compat.umap.umap_ import fuzzy_simplicial_set
    >>> graph, sigmas, rhos = fuzzy_simplicial_set(load_digits().data[:100], 10, 0, "euclidean")
    >>> graph.shape, sigmas.shape, round(float(graph.max()), 3)
    ((100, 100), (100,), 1.0)
    """
    if not 0 <= set_op_mix_ratio <= 1:
        raise ValueError(f"set_op_mix_ratio={set_op_mix_ratio} must be from 0 to 1")
    if knn_indices is None or knn_dists is None:
        knn_indices, knn_dists, _ = nearest_neighbors(
            X, n_neighbors, metric, metric_kwds, angular, random_state, verbose=verbose
        )
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    knn_dists = np.asarray(knn_dists, np.float32)
    k = as_float(n_neighbors, "n_neighbors")
    sigmas, rhos = smooth_knn_dist(knn_dists, k, local_connectivity=local_connectivity)
    rows, columns, values, lengths = compute_membership_strengths(
        knn_indices, knn_dists, sigmas, rhos, return_dists
    )
    if n == 0:
        raise ValueError("X has 0 rows: give at least one")
    if columns.max(initial=0) >= n:
        raise ValueError(
            f"point {columns.max()} is a neighbour, but X has {n} rows: knn_indices has ids below the number "
            "of rows, and metric='precomputed' takes a square matrix"
        )
    kept = values > 0
    graph = csr_matrix((values[kept], (rows[kept], columns[kept])), shape=(n, n))
    if apply_set_operations:
        graph = _set_operations.fuzzy_union(graph, set_op_mix_ratio)
    if return_dists is None:
        return graph, sigmas, rhos
    if lengths is None:
        return graph, sigmas, rhos, None
    distances = coo_matrix((lengths, (rows, columns)), shape=(n, n)).tocsr()
    return graph, sigmas, rhos, distances.maximum(distances.T).todok()


def raise_disconnected_warning(
    edges_removed: int,
    vertices_disconnected: int,
    disconnection_distance: float,
    total_rows: int,
    threshold: float = _SHARE_OF_MANY,
    verbose: bool = False,
) -> None:
    """Warn of rows that have lost all their neighbours.

    Parameters
    ----------
    edges_removed : int
    vertices_disconnected : int
    disconnection_distance : float
    total_rows : int
    threshold : float, default=0.1
        The share of all rows beyond which the warning speaks of a large number.
    verbose : bool, default=False
        Whether to print a line if edges were removed but no row lost all of them.

    Warns
    -----
    UserWarning
        If ``vertices_disconnected`` is not 0.

    Examples
    --------
    >>> from actup.compat.umap.umap_ import raise_disconnected_warning
    >>> raise_disconnected_warning(3, 0, 0.5, 100, verbose=True)
    disconnection_distance=0.5 has removed 3 edges, but every row still has some
    """
    if vertices_disconnected > 0:
        many = vertices_disconnected > threshold * total_rows
        number = "A large number" if many else "A few"
        remedy = "leave them out, or raise disconnection_distance" if many else "this causes no problems"
        warn_user(
            f"{number} of your vertices were disconnected from the manifold: disconnection_distance="
            f"{disconnection_distance} has removed {edges_removed} edges, and {vertices_disconnected} of "
            f"{total_rows} rows have none left; {remedy}. umap.utils.disconnected_vertices() tells which"
        )
    elif verbose and edges_removed > 0:
        print(
            f"disconnection_distance={disconnection_distance} has removed {edges_removed} edges, but every "
            "row still has some"
        )
