"""What all affinities share: their base class, the index of their rows and the matrix of their weights."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags

from actup.compat.opentsne import nearest_neighbors
from actup.graph._gaussian import gaussian_rows

log = logging.getLogger("actup.compat.opentsne.affinity")  # the module that programs know
Metric = str | Callable[..., float]
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


def check_source(data: Any, knn_index: Any) -> None:
    """Reject neither or both of the two."""
    if data is None and knn_index is None:
        raise ValueError("data and knn_index are both None: give one of them")
    if data is not None and knn_index is not None:
        raise ValueError("data and knn_index were both given: give one of them")
    shape: tuple[int, ...] = getattr(data, "shape", ())
    if len(shape) == 2 and shape[0] < 2:
        raise ValueError(f"data has {shape[0]} rows: affinities need at least 2")


def check_neighbors(name: str, k: int, rows: int) -> None:
    """Reject a number of neighbours that rows do not have."""
    if not 1 <= k < rows:
        raise ValueError(f"{name}={k} must be at least 1, and less than the number of rows, {rows}")


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


def neighbor_matrix(weights: np.ndarray, neighbors: np.ndarray, columns: int | None = None) -> csr_matrix:
    """Rows of weights of neighbours as a matrix; ``columns=None``: as many as rows."""
    n, k = weights.shape
    offsets = np.arange(0, n * k + 1, k)
    shape = (n, n if columns is None else columns)
    return csr_matrix((weights.ravel(), np.asarray(neighbors).ravel(), offsets), shape=shape)


def comparable_distances(distances: np.ndarray) -> np.ndarray:
    """Distances as float64, with 0 in rows that are infinitely far from all others: none is nearer."""
    distances = np.asarray(distances, np.float64)
    return np.where(np.isinf(distances).all(axis=1, keepdims=True), 0.0, distances)


def mean_of_directions(P: csr_matrix) -> csr_matrix:
    return csr_matrix((P + P.T) / 2)


def normalized(P: csr_matrix, *, by_row: bool = False) -> csr_matrix:
    if by_row:
        return csr_matrix(diags(np.asarray(1 / P.sum(axis=1)).ravel()) @ P)
    return csr_matrix(P / P.sum())


def checked_k(affinities: Affinities, k: int | None) -> int:
    """The number of neighbours of new rows."""
    assert affinities.knn_index is not None
    if k is None:
        return int(affinities.knn_index.k)
    check_neighbors("k", k, affinities.n_samples)
    return k


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
    rows = gaussian_rows(comparable_distances(distances), [float(perplexity) for perplexity in perplexities])
    P = neighbor_matrix(rows, neighbors, n_reference_samples)
    if symmetrize:
        P = mean_of_directions(P)
    return normalized(P, by_row=normalization == "point-wise")
