"""Affinities: the similarities of rows that an embedding is made from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags

from actup._elementary import exp
from actup.compat.opentsne import nearest_neighbors
from actup.compat.opentsne.utils import Timer
from actup.graph._gaussian import gaussian_rows

__all__ = [
    "Affinities",
    "FixedSigmaNN",
    "Multiscale",
    "MultiscaleMixture",
    "PerplexityBasedNN",
    "PrecomputedAffinities",
    "Uniform",
    "get_knn_index",
    "joint_probabilities_nn",
]

log = logging.getLogger(__name__)

Metric = str | Callable[..., float]
_NEIGHBORS_PER_PERPLEXITY = 3
_MAX_EXACT_ROWS = 1000  # fewer rows are compared exactly by method "auto"


class Affinities:
    """The base of all affinities; an own one needs the attribute ``P`` and, for new rows, ``to_new``.

    Parameters
    ----------
    verbose : bool, default=False
        Whether to print what is done.

    Attributes
    ----------
    P : scipy CSR matrix of shape (n_samples, n_samples)
        The affinities, which sum to 1.
    n_samples : int
        Number of rows.
    knn_index : KNNIndex
        The index that new rows are looked up in.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.opentsne.affinity import Affinities
    >>> class Ring(Affinities):
    ...     def __init__(self, n):
    ...         super().__init__()
    ...         steps = np.roll(np.eye(n), 1, axis=1)
    ...         self.P = csr_matrix((steps + steps.T) / (2 * n))
    >>> Ring(5).P.sum()
    np.float64(1.0)
    """

    knn_index: nearest_neighbors.KNNIndex | None = None

    def __init__(self, verbose: bool | int = False) -> None:
        self.P: Any = None
        self.verbose = verbose

    def to_new(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """The affinities of new rows to the rows.

        Parameters
        ----------
        data : array of shape (n_rows, n_features)
            The new rows.
        *args, **kwargs
            ``return_distances``: whether to return the neighbours and their distances, too; and what else the
            affinities need.

        Returns
        -------
        P : scipy CSR matrix of shape (n_rows, n_samples)
            Each row sums to 1.
        indices, distances : ndarray of shape (n_rows, k)
            If ``return_distances``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no affinities of new rows")

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        if self.knn_index is None:
            raise RuntimeError(f"{type(self).__name__} has no knn_index")
        return int(self.knn_index.n_samples)

    def _set_index(self, data: Any, knn_index: Any, k: int, **search: Any) -> tuple[np.ndarray, np.ndarray]:
        """Keep or make the index of the rows, and find all neighbours."""
        if knn_index is not None:
            log.info("KNN index provided. Ignoring KNN-related parameters.")
            self.knn_index = knn_index
        else:
            self.knn_index = get_knn_index(data, k=k, **search)
        indices, distances = self.knn_index.build()
        return indices, distances

    def _query(self, data: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        assert self.knn_index is not None
        return self.knn_index.query(data, k)


def _check_source(data: Any, knn_index: Any) -> None:
    if data is None and knn_index is None:
        raise ValueError("data and knn_index are both None: give one of them")
    if data is not None and knn_index is not None:
        raise ValueError("data and knn_index were both given: give one of them")


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
        _check_source(data, knn_index)
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
            return min(most, int(_NEIGHBORS_PER_PERPLEXITY * perplexity))
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
        if perplexity <= 0:
            raise ValueError(f"perplexity={perplexity} must be greater than 0")
        if perplexity <= k_neighbors:
            return perplexity
        lowered = k_neighbors / _NEIGHBORS_PER_PERPLEXITY
        log.warning("perplexity=%s is too high for the data: using %.2f", perplexity, lowered)
        return lowered


def get_knn_index(
    data: Any,
    method: str | nearest_neighbors.KNNIndex,
    k: int,
    metric: Metric,
    metric_params: dict[str, Any] | None = None,
    n_jobs: int = 1,
    random_state: Any = None,
    verbose: bool | int = False,
    knn_kwargs: dict[str, Any] | None = None,
) -> nearest_neighbors.KNNIndex:
    """Make the index of a method's name.

    Parameters
    ----------
    data : array or sparse matrix of shape (n_samples, n_features)
        The rows; distances if ``metric`` is "precomputed".
    method : str or KNNIndex
        "exact", "auto", "approx", "annoy", "pynndescent" or "hnsw"; an index is returned as it is.
    k : int
        Number of neighbours.
    metric, metric_params, n_jobs, random_state, verbose, knn_kwargs
        Parameters of ``KNNIndex``.

    Returns
    -------
    KNNIndex

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.affinity import get_knn_index
    >>> type(get_knn_index(np.eye(5), "auto", 2, "euclidean")).__name__
    'Sklearn'
    """
    if isinstance(metric, str) and metric == "precomputed":
        return nearest_neighbors.PrecomputedDistanceMatrix(data, k=k)
    if isinstance(method, nearest_neighbors.KNNIndex):
        return method
    approximate = nearest_neighbors.Annoy
    kinds: dict[str, Callable[..., nearest_neighbors.KNNIndex]] = {
        "exact": nearest_neighbors.Sklearn,
        "auto": nearest_neighbors.Sklearn if data.shape[0] < _MAX_EXACT_ROWS else approximate,
        "approx": approximate,
        "annoy": nearest_neighbors.Annoy,
        "pynndescent": nearest_neighbors.NNDescent,
        "hnsw": nearest_neighbors.HNSW,
    }
    if method not in kinds:
        raise ValueError(f"method={method!r} is not one of {', '.join(map(repr, kinds))}, nor a KNNIndex")
    return kinds[method](
        data=data,
        k=k,
        metric=metric,
        metric_params=metric_params,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
        knn_kwargs=knn_kwargs,
    )


def joint_probabilities_nn(
    neighbors: np.ndarray,
    distances: np.ndarray,
    perplexities: Sequence[float],
    symmetrize: bool = True,
    normalization: str = "pair-wise",
    n_reference_samples: int | None = None,
    n_jobs: int = 1,
) -> csr_matrix:
    """Gaussian affinities of known neighbours.

    Parameters
    ----------
    neighbors, distances : ndarray of shape (n_samples, k)
        The nearest neighbours of each row.
    perplexities : sequence of float
        One Gaussian of each perplexity is part of a row's mixture.
    symmetrize : bool, default=True
        Whether both directions of a pair get their mean.
    normalization : {"pair-wise", "point-wise"}, default="pair-wise"
        Whether the matrix sums to 1, or each of its rows.
    n_reference_samples : int, default=None
        Number of columns; None: that of rows.
    n_jobs : int, default=1
        Without effect.

    Returns
    -------
    scipy CSR matrix of shape (n_samples, n_reference_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.affinity import joint_probabilities_nn
    >>> neighbors = np.array([[1, 2], [0, 2], [1, 0]])
    >>> P = joint_probabilities_nn(neighbors, np.ones((3, 2)), [1.5])
    >>> P.toarray().round(3).tolist()
    [[0.0, 0.167, 0.167], [0.167, 0.0, 0.167], [0.167, 0.167, 0.0]]
    """
    if normalization not in ("pair-wise", "point-wise"):
        raise ValueError(f"normalization={normalization!r} is not 'pair-wise' or 'point-wise'")
    rows = gaussian_rows(distances, [float(perplexity) for perplexity in perplexities])
    P = _matrix(rows, neighbors, n_reference_samples)
    if symmetrize:
        P = _mean_of_directions(P)
    return _normalized(P, by_row=normalization == "point-wise")


def _matrix(weights: np.ndarray, neighbors: np.ndarray, columns: int | None = None) -> csr_matrix:
    """Rows of weights of neighbours as a matrix; ``columns=None``: as many as rows."""
    n, k = weights.shape
    offsets = np.arange(0, n * k + 1, k)
    shape = (n, n if columns is None else columns)
    return csr_matrix((weights.ravel(), np.asarray(neighbors).ravel(), offsets), shape=shape)


def _mean_of_directions(P: csr_matrix) -> csr_matrix:
    return csr_matrix((P + P.T) / 2)


def _normalized(P: csr_matrix, *, by_row: bool = False) -> csr_matrix:
    if by_row:
        return csr_matrix(diags(np.asarray(1 / P.sum(axis=1)).ravel()) @ P)
    return csr_matrix(P / P.sum())


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
        _check_source(data, knn_index)
        if data is not None and k >= data.shape[0]:
            raise ValueError(f"k={k} must be less than the number of rows, {data.shape[0]}")
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
            P = _matrix(_fixed_width_rows(distances, sigma), neighbors)
            self.P = _normalized(_mean_of_directions(P) if symmetrize else P)

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
        neighbors, distances = self._query(data, _checked_k(self, k))
        rows = _fixed_width_rows(distances, self.sigma if sigma is None else sigma)
        P = _matrix(rows, neighbors, self.n_samples)
        return (P, neighbors, distances) if return_distances else P


def _fixed_width_rows(distances: np.ndarray, sigma: float) -> np.ndarray:
    squared = np.asarray(distances, np.float64) ** 2
    weights = exp(-(squared - squared.min(axis=1, keepdims=True)) / (2 * sigma * sigma))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _checked_k(affinities: Affinities, k: int | None) -> int:
    """The number of neighbours of new rows."""
    assert affinities.knn_index is not None
    if k is None:
        return int(affinities.knn_index.k)
    if k >= affinities.n_samples:
        raise ValueError(f"k={k} must be less than the number of rows, {affinities.n_samples}")
    return k


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
        _check_source(data, knn_index)
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
        return _normalized(csr_matrix(total), by_row=options.get("normalization") == "point-wise")


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
        _check_source(data, knn_index)
        kinds = {True: "max", False: "none", "max": "max", "mean": "mean", "none": "none"}
        if symmetrize not in kinds:
            raise ValueError(f"symmetrize={symmetrize!r} is not one of 'max', 'mean', 'none', True, False")
        if data is not None and k_neighbors >= data.shape[0]:
            raise ValueError(
                f"k_neighbors={k_neighbors} must be less than the number of rows, {data.shape[0]}"
            )
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
        P = _matrix(np.ones(np.shape(distances)), neighbors)
        kind = kinds[symmetrize]
        if kind == "max":
            P = csr_matrix((P + P.T > 0).astype(float))
        elif kind == "mean":
            P = _mean_of_directions(P)
        self.P = _normalized(P)
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
        neighbors, distances = self._query(data, _checked_k(self, k_neighbors))
        weights = np.full(distances.shape, 1 / distances.shape[1])
        P = _matrix(weights, neighbors, self.n_samples)
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
        P = csr_matrix(affinities, dtype=np.float64)
        self.P = _normalized(P) if normalize else P

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
