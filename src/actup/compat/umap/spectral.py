"""``umap.spectral``: spectral coordinates of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actup._threads import count_threads
from actup._typing import CsrMatrix
from actup._warnings import warn_user
from actup.backends import load_backend
from actup.estimators._inputs import RandomState, draw_seed
from actup.graph._records import Graph
from actup.neighbors._rows import read_rows

__all__ = ["component_layout", "multi_component_layout", "spectral_layout", "tswspectral_layout"]

_LINKAGES: dict[str, Callable[..., Any]] = {"average": np.mean, "complete": np.max, "single": np.min}


def component_layout(
    data: Any,
    n_components: int,
    component_labels: np.ndarray,
    dim: int,
    random_state: RandomState,
    metric: str | Callable[..., float] = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
) -> np.ndarray:
    """Places for the components of a graph, by spectral coordinates of their distances.

    Parameters
    ----------
    data : array-like of shape (n, features) or None
        Rows, whose means stand for the components; (n, n) distances if ``metric`` is "precomputed".
    n_components : int
        The number of components.
    component_labels : ndarray of shape (n,), int
        The component of every row, from 0.
    dim : int
    random_state : int, RandomState or None
    metric : str or callable, default="euclidean"
        Distance between the means of components.
    metric_kwds : dict, default=None
        Parameters of the metric; for given distances, "linkage": "average" (default), "complete" or "single".

    Returns
    -------
    ndarray of shape (n_components, dim)
        The largest absolute coordinate is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.spectral import component_layout
    >>> X = np.repeat(np.arange(6.0), 3)[:, None]
    >>> component_layout(X, 6, np.repeat(np.arange(6), 3), 2, 0).shape
    (6, 2)
    """
    from sklearn.manifold import SpectralEmbedding

    if data is None:
        return np.random.default_rng(draw_seed(random_state)).random((n_components, dim))
    distances = _component_distances(
        data, n_components, np.asarray(component_labels), metric, metric_kwds or {}
    )
    scale = np.median(distances[distances > 0]) if (distances > 0).any() else 1.0
    affinities = np.exp(-((distances / scale) ** 2))
    seed = draw_seed(random_state) % 2**32
    embedding = SpectralEmbedding(dim, affinity="precomputed", random_state=seed).fit_transform(affinities)
    return np.asarray(embedding / max(np.abs(embedding).max(), np.finfo(float).tiny))


def _component_distances(
    data: Any, count: int, labels: np.ndarray, metric: Any, metric_kwds: Mapping[str, Any]
) -> np.ndarray:
    """All distances between components."""
    from sklearn.metrics import pairwise_distances

    from actup.compat.umap.distances import SPECIAL_METRICS, pairwise_special_metric

    members = [np.flatnonzero(labels == label) for label in range(count)]
    if metric == "precomputed":
        linkage = metric_kwds.get("linkage", "average")
        if linkage not in _LINKAGES:
            raise ValueError(f"linkage={linkage!r} must be one of {', '.join(map(repr, _LINKAGES))}")
        rows = np.asarray(data)
        found = [[_LINKAGES[linkage](rows[np.ix_(one, other)]) for other in members] for one in members]
        distances = np.array(found, np.float64)
        np.fill_diagonal(distances, 0)
        return distances
    means = np.stack([np.asarray(data[rows].mean(axis=0)).ravel() for rows in members])
    if metric in SPECIAL_METRICS:
        return pairwise_special_metric(means, metric=metric, kwds=metric_kwds)
    return np.asarray(pairwise_distances(means, metric=metric, **metric_kwds))


def multi_component_layout(
    data: Any,
    graph: Any,
    n_components: int,
    component_labels: np.ndarray,
    dim: int,
    random_state: RandomState,
    metric: str | Callable[..., float] = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
    init: str = "random",
    tol: float = 0.0,
    maxiter: int = 0,
) -> np.ndarray:
    """The same as ``spectral_layout``, which finds the components by itself.

    Parameters
    ----------
    data, graph, dim, random_state, metric, metric_kwds, tol, maxiter
        As in ``spectral_layout``.
    n_components, component_labels, init
        Without effect.

    Returns
    -------
    ndarray of shape (n, dim), float32

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import block_diag
    >>> from actup.compat.umap.spectral import multi_component_layout
    >>> graph = block_diag([1 - np.eye(9), 1 - np.eye(9)])
    >>> multi_component_layout(None, graph, 2, np.repeat([0, 1], 9), 2, 0).shape
    (18, 2)
    """
    return spectral_layout(data, graph, dim, random_state, metric, tol=tol)


def spectral_layout(
    data: Any,
    graph: Any,
    dim: int,
    random_state: RandomState,
    metric: str | Callable[..., float] = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
    tol: float = 0.0,
    maxiter: int = 0,
) -> np.ndarray:
    """The leading eigenvectors of the random walk on a graph, component by component.

    Parameters
    ----------
    data : array-like of shape (n, features) or None
        The rows, by which the components of a disconnected graph are placed.
    graph : sparse matrix of shape (n, n)
        Symmetric.
    dim : int
    random_state : int, RandomState, Generator or None
    metric : str or callable, default="euclidean"
        Only "precomputed" matters: ``data`` are then no rows.
    tol : float, default=0.0
        If greater than 0, eigenvectors with a larger residual cause a warning; only for connected graphs.
    metric_kwds, maxiter
        Without effect: the solver stops by itself.

    Returns
    -------
    ndarray of shape (n, dim), float32

    Warns
    -----
    UserWarning
        If the residual of an eigenvector is larger than ``tol``.

    See Also
    --------
    tswspectral_layout : The same.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags
    >>> from actup.compat.umap.spectral import spectral_layout
    >>> path = diags([np.ones(29), np.ones(29)], [-1, 1])
    >>> order = spectral_layout(None, path, 1, 0)[:, 0].argsort().tolist()
    >>> order in ([*range(30)], [*range(29, -1, -1)])
    True
    """
    rows = None if data is None or metric == "precomputed" else read_rows(data, "euclidean")
    backend = load_backend("cpu")
    seed, threads = draw_seed(random_state), count_threads(-1)
    links = Graph.from_scipy(graph)
    if not len(links):
        raise ValueError("graph has no points")
    coordinates = np.asarray(backend.spectral_start(links, dim, seed, threads, rows))
    if tol > 0:
        _warn_if_inexact(links.to_scipy(), coordinates, tol)
    return coordinates


def _warn_if_inexact(graph: CsrMatrix, coordinates: np.ndarray, tol: float) -> None:
    """Warn if coordinates are no eigenvectors of the random walk on a connected graph, up to ``tol``."""
    from scipy.sparse.csgraph import connected_components

    if connected_components(graph, directed=False, return_labels=False) > 1:
        return
    degrees = np.asarray(graph.sum(axis=1), np.float64).reshape(-1, 1)
    vectors = coordinates - (degrees * coordinates).sum(axis=0) / degrees.sum()
    lengths = (degrees * vectors**2).sum(axis=0)
    walked = (graph @ vectors) / degrees
    eigenvalues = (degrees * vectors * walked).sum(axis=0) / np.where(lengths > 0, lengths, 1.0)
    remainders = (degrees * (walked - eigenvalues * vectors) ** 2).sum(axis=0)
    residual = float(np.sqrt(remainders / np.where(lengths > 0, lengths, 1.0)).max())
    if residual > tol:
        warn_user(
            f"the spectral coordinates did not converge to tol={tol:g}: the largest residual of an "
            f"eigenvector is {residual:.1e}. They are float32, which holds about seven digits"
        )


def tswspectral_layout(
    data: Any,
    graph: Any,
    dim: int,
    random_state: RandomState,
    metric: str | Callable[..., float] = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
    method: str | None = None,
    tol: float = 0.0,
    maxiter: int = 0,
) -> np.ndarray:
    """The same as ``spectral_layout``: ActUp's solver needs no warm start.

    Parameters
    ----------
    data, graph, dim, random_state, metric, metric_kwds, tol, maxiter
        As in ``spectral_layout``.
    method : str, default=None
        Without effect.

    Returns
    -------
    ndarray of shape (n, dim), float32

    See Also
    --------
    spectral_layout : The same.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags
    >>> from actup.compat.umap.spectral import tswspectral_layout
    >>> tswspectral_layout(None, diags([np.ones(29), np.ones(29)], [-1, 1]), 2, 0).shape
    (30, 2)
    """
    return spectral_layout(data, graph, dim, random_state, metric, tol=tol)
