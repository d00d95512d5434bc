"""Affinities without a perplexity: Gaussians of one width, equal weights, and given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from actup._csr import read_sparse
from actup._elementary import exp
from actup._values import as_float
from actup.compat.opentsne import nearest_neighbors
from actup.compat.opentsne._affinity_base import (
    Affinities,
    Metric,
    check_neighbors,
    check_source,
    checked_k,
    comparable_distances,
    mean_of_directions,
    neighbor_matrix,
    normalized,
)
from actup.compat.opentsne.utils import Timer
from actup.neighbors._not_rows import with_shape


class FixedSigmaNN(Affinities):
    """Gaussian affinities of the nearest neighbours, with one width for all rows.

    Parameters
    ----------
    data : array or sparse matrix of shape (n_samples, n_features), default=None
        The rows; distances if ``metric`` is "precomputed".
    sigma : float
        Width of the Gaussians, in the unit of the distances. It has to be given.
    k : int, default=30
        Number of neighbours.
    method, metric, metric_params, symmetrize, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in ``PerplexityBasedNN``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.affinity import FixedSigmaNN
    >>> round(float(FixedSigmaNN(load_iris().data, sigma=1).P.sum()), 6)
    1.0
    """

    def __init__(
        self,
        data: Any = None,
        sigma: float | None = None,
        k: int = 30,
        method: str | nearest_neighbors.KNNIndex = "auto",
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: bool = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool | int = False,
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: nearest_neighbors.KNNIndex | None = None,
    ) -> None:
        super().__init__(verbose)
        if sigma is None:
            raise ValueError("sigma=None: give a typical distance between neighbours")
        data = with_shape(data)
        check_source(data, knn_index)
        if data is not None:
            check_neighbors("k", k, data.shape[0])
        neighbors, distances = self._set_index(
            data,
            knn_index,
            k,
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        self.sigma, self.n_jobs = sigma, n_jobs
        with Timer("Calculating affinity matrix...", verbose):
            P = neighbor_matrix(_fixed_width_rows(distances, sigma), neighbors)
            self.P = normalized(mean_of_directions(P) if symmetrize else P)

    def to_new(
        self, data: Any, k: int | None = None, sigma: float | None = None, return_distances: bool = False
    ) -> Any:
        """The affinities of new rows to the rows.

        Parameters
        ----------
        data : array of shape (n_rows, n_features)
            The new rows.
        k : int, default=None
            Number of neighbours; None: that of the rows.
        sigma : float, default=None
            Width of the Gaussians; None: that of the rows.
        return_distances : bool, default=False
            Whether to return the neighbours and their distances, too.

        Returns
        -------
        P : scipy CSR matrix of shape (n_rows, n_samples)
            Each row sums to 1.
        indices, distances : ndarray of shape (n_rows, k)
            If ``return_distances``.
        """
        neighbors, distances = self._query(data, checked_k(self, k))
        rows = _fixed_width_rows(distances, self.sigma if sigma is None else sigma)
        P = neighbor_matrix(rows, neighbors, self.n_samples)
        return (P, neighbors, distances) if return_distances else P


def _fixed_width_rows(distances: np.ndarray, sigma: float) -> np.ndarray:
    squared = comparable_distances(distances) ** 2
    sigma = as_float(sigma, "sigma")
    weights = exp(-(squared - squared.min(axis=1, keepdims=True)) / (2 * sigma * sigma))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class Uniform(Affinities):
    """The same affinity for all nearest neighbours.

    Parameters
    ----------
    data : array or sparse matrix of shape (n_samples, n_features), default=None
        The rows; distances if ``metric`` is "precomputed".
    k_neighbors : int, default=30
        Number of neighbours.
    symmetrize : {"max", "mean", "none"} or bool, default=True
        "max" and True: pairs in which one is a neighbour of the other all have the same affinity; "mean":
        pairs of mutual neighbours have twice that of others; "none" and False: each row is left as it is.
    method, metric, metric_params, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in ``PerplexityBasedNN``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.affinity import Uniform
    >>> len(np.unique(Uniform(load_iris().data, k_neighbors=5).P.data))
    1
    """

    def __init__(
        self,
        data: Any = None,
        k_neighbors: int = 30,
        method: str | nearest_neighbors.KNNIndex = "auto",
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: bool | str = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool | int = False,
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: nearest_neighbors.KNNIndex | None = None,
    ) -> None:
        super().__init__(verbose)
        data = with_shape(data)
        check_source(data, knn_index)
        kinds = {True: "max", False: "none", "max": "max", "mean": "mean", "none": "none"}
        if symmetrize not in kinds:
            raise ValueError(f"symmetrize={symmetrize!r} is not one of 'max', 'mean', 'none', True, False")
        if data is not None:
            check_neighbors("k_neighbors", k_neighbors, data.shape[0])
        neighbors, distances = self._set_index(
            data,
            knn_index,
            k_neighbors,
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        P = neighbor_matrix(np.ones(np.shape(distances)), neighbors)
        kind = kinds[symmetrize]
        if kind == "max":
            P = csr_matrix((P + P.T > 0).astype(float))
        elif kind == "mean":
            P = mean_of_directions(P)
        self.P = normalized(P)
        self.n_jobs = n_jobs

    def to_new(self, data: Any, k_neighbors: int | None = None, return_distances: bool = False) -> Any:
        """The affinities of new rows to the rows.

        Parameters
        ----------
        data : array of shape (n_rows, n_features)
            The new rows.
        k_neighbors : int, default=None
            Number of neighbours; None: that of the rows.
        return_distances : bool, default=False
            Whether to return the neighbours and their distances, too.

        Returns
        -------
        P : scipy CSR matrix of shape (n_rows, n_samples)
            Each row sums to 1.
        indices, distances : ndarray of shape (n_rows, k)
            If ``return_distances``.
        """
        neighbors, distances = self._query(data, checked_k(self, k_neighbors))
        weights = np.full(distances.shape, 1 / distances.shape[1])
        P = neighbor_matrix(weights, neighbors, self.n_samples)
        return (P, neighbors, distances) if return_distances else P


class PrecomputedAffinities(Affinities):
    """Affinities that are known already.

    Parameters
    ----------
    affinities : array or sparse matrix of shape (n_samples, n_samples)
        The affinities; never changed.
    normalize : bool, default=True
        Whether to divide them by their sum.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.affinity import PrecomputedAffinities
    >>> PrecomputedAffinities(np.array([[0.0, 2.0], [2.0, 0.0]])).P.toarray().tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    def __init__(self, affinities: Any, normalize: bool = True) -> None:
        super().__init__()
        checked = read_sparse(affinities, "affinities") if issparse(affinities) else affinities
        P = csr_matrix(checked, dtype=np.float64)
        self.P = normalized(P) if normalize else P

    def to_new(self, data: Any, return_distances: bool = False) -> Any:
        """Raise RuntimeError: there are no rows to compare new ones with.

        Parameters
        ----------
        data : array
            Not used.
        return_distances : bool, default=False
            Not used.
        """
        raise RuntimeError("precomputed affinities cannot be queried: use affinities that are made from rows")
