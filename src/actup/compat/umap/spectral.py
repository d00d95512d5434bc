"""``umap.spectral``: spectral coordinates of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actup._threads import count_threads
from actup.backends import load_backend
from actup.estimators._base import RandomState, _draw_seed
from actup.graph._records import Graph
from actup.neighbors._rows import read_rows

__all__ = ["spectral_layout", "tswspectral_layout"]


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
    metric_kwds, tol, maxiter
        Without effect: the solver stops by itself.

    Returns
    -------
    ndarray of shape (n, dim), float32

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
    seed, threads = _draw_seed(random_state), count_threads(-1)
    return np.asarray(backend.spectral_start(Graph.from_scipy(graph), dim, seed, threads, rows))


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
    return spectral_layout(data, graph, dim, random_state, metric)
