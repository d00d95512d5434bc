"""Gaussian affinities whose widths follow from one or several perplexities."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from actup.compat.opentsne import nearest_neighbors
from actup.compat.opentsne._affinity_base import (
    Affinities,
    Metric,
    check_source,
    joint_probabilities_nn,
    log,
    normalized,
)
from actup.compat.opentsne.utils import Timer
from actup.neighbors._not_rows import with_shape

_NEIGHBORS_PER_PERPLEXITY = 3


class PerplexityBasedNN(Affinities):
    """Gaussian affinities of the nearest neighbours, with one perplexity for all rows.

    Parameters
    ----------
    data : array or sparse matrix of shape (n_samples, n_features), default=None
        The rows; distances if ``metric`` is "precomputed".
    perplexity : float, default=30
        Effective number of neighbours of a row.
    method : str or KNNIndex, default="auto"
        "exact", "annoy", "pynndescent", "hnsw" or "approx"; all but "exact" are ActUp's own search. "auto":
        exact for fewer than 1000 rows.
    metric : str or callable, default="euclidean"
        Distance between rows.
    metric_params : dict, default=None
        Parameters of the metric.
    symmetrize : bool, default=True
        Whether both directions of a pair get their mean.
    n_jobs : int, default=1
        Number of threads.
    random_state : int or RandomState, default=None
        Without effect: the search is deterministic.
    verbose : bool, default=False
        Whether to print what is done.
    k_neighbors : int or "auto", default="auto"
        Number of neighbours; "auto": three times the perplexity.
    knn_kwargs : dict, default=None
        Without effect.
    knn_index : KNNIndex, default=None
        An index in place of ``data``.

    Attributes
    ----------
    P : scipy CSR matrix of shape (n_samples, n_samples)
        The affinities, which sum to 1.
    effective_perplexity_ : float
        The perplexity that was used: lower if there are too few rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.affinity import PerplexityBasedNN
    >>> affinities = PerplexityBasedNN(load_iris().data, perplexity=20)
    >>> round(float(affinities.P.sum()), 6)
    1.0
    >>> affinities.to_new(load_iris().data[:5]).shape
    (5, 150)
    """

    def __init__(
        self,
        data: Any = None,
        perplexity: float = 30,
        method: str | nearest_neighbors.KNNIndex = "auto",
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: bool = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool | int = False,
        k_neighbors: int | str = "auto",
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: nearest_neighbors.KNNIndex | None = None,
    ) -> None:
        super().__init__(verbose)
        data = with_shape(data)
        check_source(data, knn_index)
        if knn_index is None:
            k = self._neighbors_of(perplexity, data.shape[0] - 1, k_neighbors)
        else:
            k = knn_index.k
        effective = self.check_perplexity(perplexity, k)
        if knn_index is None and k > int(_NEIGHBORS_PER_PERPLEXITY * effective):
            log.warning(
                "k_neighbors=%s is more than three times the perplexity, %s: this takes longer than it needs "
                "to",
                k,
                effective,
            )
        self._neighbors, self._distances = self._set_index(
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
        self.perplexity, self.effective_perplexity_ = perplexity, effective
        self.symmetrize, self.n_jobs, self.knn_kwargs = symmetrize, n_jobs, knn_kwargs
        self._compute(self._neighbors.shape[1])

    @staticmethod
    def _neighbors_of(perplexity: float, most: int, k_neighbors: int | str) -> int:
        if isinstance(k_neighbors, str):
            return int(min(most, _NEIGHBORS_PER_PERPLEXITY * perplexity))
        return int(k_neighbors)

    def _compute(self, k: int) -> None:
        with Timer("Calculating affinity matrix...", self.verbose):
            self.P = joint_probabilities_nn(
                self._neighbors[:, :k],
                self._distances[:, :k],
                [self.effective_perplexity_],
                symmetrize=self.symmetrize,
                n_jobs=self.n_jobs,
            )

    def set_perplexity(self, new_perplexity: float) -> None:
        """Compute the affinities anew with another perplexity, from the neighbours that are known.

        Parameters
        ----------
        new_perplexity : float
            At most the number of these neighbours.

        Raises
        ------
        RuntimeError
            If more neighbours would be needed.
        """
        if new_perplexity == self.perplexity:
            return
        known = self._neighbors.shape[1]
        effective = self.check_perplexity(new_perplexity, np.inf)
        if effective > known:
            raise RuntimeError(
                f"perplexity {effective} is more than the {known} neighbours that are known: make a new "
                f"{type(self).__name__}"
            )
        if _NEIGHBORS_PER_PERPLEXITY * effective > known:
            log.warning(
                "perplexity %s is close to the %s neighbours that are known: make a new %s for better "
                "affinities",
                effective,
                known,
                type(self).__name__,
            )
        self.perplexity, self.effective_perplexity_ = new_perplexity, effective
        self._compute(int(_NEIGHBORS_PER_PERPLEXITY * new_perplexity))

    def to_new(
        self,
        data: Any,
        perplexity: float | None = None,
        return_distances: bool = False,
        k_neighbors: int | str = "auto",
    ) -> Any:
        """The affinities of new rows to the rows.

        Parameters
        ----------
        data : array of shape (n_rows, n_features)
            The new rows.
        perplexity : float, default=None
            Effective number of neighbours of a new row; None: that of the rows.
        return_distances : bool, default=False
            Whether to return the neighbours and their distances, too.
        k_neighbors : int or "auto", default="auto"
            Number of neighbours; "auto": three times the perplexity.

        Returns
        -------
        P : scipy CSR matrix of shape (n_rows, n_samples)
            Each row sums to 1.
        indices, distances : ndarray of shape (n_rows, k)
            If ``return_distances``.
        """
        perplexity = self.perplexity if perplexity is None else perplexity
        k = self._neighbors_of(perplexity, self.n_samples, k_neighbors)
        effective = self.check_perplexity(perplexity, k)
        neighbors, distances = self._query(data, k)
        with Timer("Calculating affinity matrix...", self.verbose):
            P = joint_probabilities_nn(
                neighbors,
                distances,
                [effective],
                symmetrize=False,
                normalization="point-wise",
                n_reference_samples=self.n_samples,
                n_jobs=self.n_jobs,
            )
        return (P, neighbors, distances) if return_distances else P

    @staticmethod
    def check_perplexity(perplexity: float, k_neighbors: float) -> float:
        """The perplexity, or a third of the neighbours if it is larger than their number.

        Parameters
        ----------
        perplexity : float
            Greater than 0.
        k_neighbors : float
            Number of neighbours.

        Returns
        -------
        float
        """
        if not 0 < perplexity < np.inf:
            raise ValueError(f"perplexity={perplexity} must be a finite number greater than 0")
        if perplexity <= k_neighbors:
            return perplexity
        lowered = k_neighbors / _NEIGHBORS_PER_PERPLEXITY
        log.warning("perplexity=%s is too high for the data: using %.2f", perplexity, lowered)
        return lowered


class MultiscaleMixture(Affinities):
    """Affinities by a mixture of Gaussians of several perplexities.

    Parameters
    ----------
    data : array or sparse matrix of shape (n_samples, n_features), default=None
        The rows; distances if ``metric`` is "precomputed".
    perplexities : float or sequence of float
        Effective numbers of neighbours. They have to be given.
    method, metric, metric_params, symmetrize, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in ``PerplexityBasedNN``.

    Attributes
    ----------
    P : scipy CSR matrix of shape (n_samples, n_samples)
        The affinities, which sum to 1.
    effective_perplexities_ : list of float
        The perplexities that were used: lowered if there are too few rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.affinity import MultiscaleMixture
    >>> MultiscaleMixture(load_iris().data, perplexities=[10, 40]).effective_perplexities_
    [10, 40]
    """

    def __init__(
        self,
        data: Any = None,
        perplexities: float | Sequence[float] | None = None,
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
        if perplexities is None:
            raise ValueError("perplexities=None: give one or more, e.g. [30, 300]")
        data = with_shape(data)
        check_source(data, knn_index)
        n_samples = data.shape[0] if knn_index is None else knn_index.n_samples
        effective = self.check_perplexities(perplexities, n_samples)
        self._neighbors, self._distances = self._set_index(
            data,
            knn_index,
            _neighbors_of(effective, n_samples),
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        self.perplexities, self.effective_perplexities_ = perplexities, effective
        self.symmetrize, self.n_jobs = symmetrize, n_jobs
        self._compute(self._neighbors.shape[1])

    def _compute(self, k: int) -> None:
        with Timer("Calculating affinity matrix...", self.verbose):
            self.P = self._calculate_P(
                self._neighbors[:, :k],
                self._distances[:, :k],
                self.effective_perplexities_,
                symmetrize=self.symmetrize,
                n_jobs=self.n_jobs,
            )

    @staticmethod
    def _calculate_P(
        neighbors: np.ndarray, distances: np.ndarray, perplexities: Sequence[float], **options: Any
    ) -> csr_matrix:
        return joint_probabilities_nn(neighbors, distances, perplexities, **options)

    def set_perplexities(self, new_perplexities: float | Sequence[float]) -> None:
        """Compute the affinities anew with other perplexities, from the neighbours that are known.

        Parameters
        ----------
        new_perplexities : float or sequence of float
            The largest one is at most the largest before.

        Raises
        ------
        RuntimeError
            If more neighbours would be needed.
        """
        if np.array_equal(self.perplexities, new_perplexities):
            return
        effective = self.check_perplexities(new_perplexities, self.n_samples)
        k, known = _neighbors_of(effective, self.n_samples), self._neighbors.shape[1]
        if k > known:
            raise RuntimeError(
                f"perplexity {max(effective)} needs {k} neighbours, but {known} are known: make a new "
                f"{type(self).__name__}"
            )
        self.perplexities, self.effective_perplexities_ = new_perplexities, effective
        self._compute(k)

    def to_new(
        self, data: Any, perplexities: float | Sequence[float] | None = None, return_distances: bool = False
    ) -> Any:
        """The affinities of new rows to the rows.

        Parameters
        ----------
        data : array of shape (n_rows, n_features)
            The new rows.
        perplexities : float or sequence of float, default=None
            Effective numbers of neighbours of a new row; None: those of the rows.
        return_distances : bool, default=False
            Whether to return the neighbours and their distances, too.

        Returns
        -------
        P : scipy CSR matrix of shape (n_rows, n_samples)
            Each row sums to 1.
        indices, distances : ndarray of shape (n_rows, k)
            If ``return_distances``.
        """
        given = self.perplexities if perplexities is None else perplexities
        effective = self.check_perplexities(given, self.n_samples)
        neighbors, distances = self._query(data, _neighbors_of(effective, self.n_samples))
        with Timer("Calculating affinity matrix...", self.verbose):
            P = self._calculate_P(
                neighbors,
                distances,
                effective,
                symmetrize=False,
                normalization="point-wise",
                n_reference_samples=self.n_samples,
                n_jobs=self.n_jobs,
            )
        return (P, neighbors, distances) if return_distances else P

    def check_perplexities(self, perplexities: float | Sequence[float], n_samples: int) -> list[float]:
        """The perplexities in ascending order, lowered to what the number of rows allows.

        Parameters
        ----------
        perplexities : float or sequence of float
            Greater than 0.
        n_samples : int
            Number of rows.

        Returns
        -------
        list of float
            Without duplicates of the largest possible one.
        """
        given: Any = [perplexities] if isinstance(perplexities, Number) else perplexities
        highest = (n_samples - 1) / _NEIGHBORS_PER_PERPLEXITY
        usable: list[float] = []
        for perplexity in sorted(given):
            if perplexity <= 0:
                raise ValueError(f"perplexity={perplexity} must be greater than 0")
            if perplexity <= highest:
                usable.append(perplexity)
                continue
            log.warning("perplexity=%s is too high for %s rows: using %.2f", perplexity, n_samples, highest)
            if highest not in usable:
                usable.append(highest)
        return usable


def _neighbors_of(perplexities: Sequence[float], n_samples: int) -> int:
    return min(n_samples - 1, int(_NEIGHBORS_PER_PERPLEXITY * max(perplexities)))


class Multiscale(MultiscaleMixture):
    """The mean of the Gaussian affinities of several perplexities.

    The parameters are those of ``MultiscaleMixture``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.affinity import Multiscale
    >>> round(float(Multiscale(load_iris().data, perplexities=[10, 40]).P.sum()), 6)
    1.0
    """

    @staticmethod
    def _calculate_P(
        neighbors: np.ndarray, distances: np.ndarray, perplexities: Sequence[float], **options: Any
    ) -> csr_matrix:
        scales = [joint_probabilities_nn(neighbors, distances, [one], **options) for one in perplexities]
        total = scales[0]
        for scale in scales[1:]:
            total = total + scale
        return normalized(csr_matrix(total), by_row=options.get("normalization") == "point-wise")
