"""Indices of nearest neighbours. All of them are served by ActUp's search, whatever their names say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from actup.compat.opentsne.utils import Timer
from actup.neighbors import NeighborIndex
from actup.neighbors import nearest_neighbors as search
from actup.neighbors._metrics import METRICS, canonical_metric

__all__ = [
    "HNSW",
    "Annoy",
    "KNNIndex",
    "NNDescent",
    "PrecomputedDistanceMatrix",
    "PrecomputedNeighbors",
    "Sklearn",
]

# Names of openTSNE that ActUp does not know.
_ALIASES = {"p": "minkowski", "ip": "inner_product", "true_angular": "cosine"}
_EXTRA_NEIGHBORS = 4  # compared in double precision besides those that were asked for


class KNNIndex:
    """An index of rows that finds the nearest of them; the classes below differ in name only.

    Parameters
    ----------
    data : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    k : int
        Neighbours that ``build`` finds of each row.
    metric : str or callable, default="euclidean"
        A metric of ``actup.nearest_neighbors``.
    metric_params : dict, default=None
        Parameters of the metric.
    n_jobs : int, default=1
        Number of threads; it never changes the result.
    random_state : int or RandomState, default=None
        Without effect: the search is deterministic.
    verbose : bool, default=False
        Whether to print what is done.
    knn_kwargs : dict, default=None
        Without effect: options of the libraries that openTSNE uses.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    index : NeighborIndex or None
        Made by ``build``.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import KNNIndex
    >>> index = KNNIndex(np.array([[0.0], [1.0], [3.0]]), k=1)
    >>> indices, distances = index.build()
    >>> indices.tolist(), distances.tolist()
    ([[1], [0], [1]], [[1.0], [1.0], [2.0]])
    >>> index.query(np.array([[2.9]]), 1)[0].tolist()
    [[2]]
    """

    VALID_METRICS: ClassVar[list[str]] = list(METRICS)
    _algorithm = "auto"

    def __init__(
        self,
        data: Any,
        k: int,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool | int = False,
        knn_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.data = data
        self.n_samples = data.shape[0]
        self.k = k
        self.metric = self.check_metric(metric)
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.knn_kwargs = knn_kwargs
        self.index: NeighborIndex | None = None

    def check_metric(self, metric: Any) -> Any:
        """Reject unknown metrics with ValueError.

        Parameters
        ----------
        metric : str or callable
            A metric.

        Returns
        -------
        str or callable
            The same.
        """
        canonical_metric(_known_name(metric))
        return metric

    def build(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest other rows of every row.

        Returns
        -------
        indices : ndarray of shape (n_samples, k)
        distances : ndarray of shape (n_samples, k), float64
        """
        with Timer(f"Finding {self.k} nearest neighbors using {self.metric} distance...", self.verbose):
            self.index = self._make_index()
            wanted = min(self._searched(self.k), self.n_samples - 1)
            found = self.index._search.neighbors(wanted)
            return self._finish(self.data, found.indices, found.distances, self.k)

    def query(self, query: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the rows nearest to new rows.

        Parameters
        ----------
        query : array or sparse matrix of shape (n_rows, n_features)
            New rows.
        k : int
            Neighbours of each.

        Returns
        -------
        indices : ndarray of shape (n_rows, k)
        distances : ndarray of shape (n_rows, k), float64
        """
        with Timer(f"Finding {k} nearest neighbors in existing embedding...", self.verbose):
            self.index = self._make_index() if self.index is None else self.index
            found = self.index.query(query, min(self._searched(k), self.n_samples))
            return self._finish(query, found.indices, found.distances, k)

    def _make_index(self) -> NeighborIndex:
        return NeighborIndex(
            self.data,
            metric=_known_name(self.metric),
            metric_kwds=self.metric_params,
            algorithm=self._algorithm,
            n_jobs=self.n_jobs,
        )

    def _searched(self, k: int) -> int:
        return k

    def _finish(
        self, rows: Any, indices: np.ndarray, distances: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        return indices[:, :k].astype(np.int64), distances[:, :k].astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "index": None}  # made again where it is needed


class Sklearn(KNNIndex):
    """An index that compares all rows, with distances in double precision.

    The parameters are those of ``KNNIndex``.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import Sklearn
    >>> Sklearn(np.array([[0.0], [1.0], [3.0]]), k=1).build()[0].tolist()
    [[1], [0], [1]]
    """

    _algorithm = "exact"

    def _searched(self, k: int) -> int:
        return k + _EXTRA_NEIGHBORS

    def _finish(
        self, rows: Any, indices: np.ndarray, distances: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        compare = self._double_precision_metric()
        if issparse(rows) != issparse(self.data):
            kinds = ["dense", "sparse"]
            raise TypeError(
                f"the new rows are {kinds[issparse(rows)]}, but data were {kinds[issparse(self.data)]}: give "
                "both alike"
            )
        if compare is None or issparse(rows):
            return super()._finish(rows, indices, distances, k)
        rows, data = np.asarray(rows, np.float64), np.asarray(self.data, np.float64)
        precise = np.stack([compare(row[None], data[ids])[0] for row, ids in zip(rows, indices, strict=True)])
        precise = np.where(np.isnan(precise), distances, precise)  # SciPy's cosine of a row of zeros
        order = np.argsort(precise, axis=1, kind="stable")[:, :k]
        sorted_ids = np.take_along_axis(indices, order, axis=1).astype(np.int64)
        return sorted_ids, np.take_along_axis(precise, order, axis=1)

    def _double_precision_metric(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
        """SciPy's distances, where they mean the same and need no parameters."""
        from scipy.spatial.distance import cdist

        name = canonical_metric(_known_name(self.metric))
        names = {"manhattan": "cityblock"}
        same = ("euclidean", "manhattan", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")
        if self.metric_params or not isinstance(name, str) or name not in same:
            return None
        return lambda rows, data: np.asarray(cdist(rows, data, names.get(name, name)))


class Annoy(KNNIndex):
    """ActUp's own search, under the name of openTSNE's default.

    The parameters are those of ``KNNIndex``.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import Annoy
    >>> Annoy(np.array([[0.0], [1.0], [3.0]]), k=1).build()[0].tolist()
    [[1], [0], [1]]
    """


class NNDescent(KNNIndex):
    """ActUp's own search; PyNNDescent is not needed.

    The parameters are those of ``KNNIndex``.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import NNDescent
    >>> NNDescent(np.array([[0.0], [1.0], [3.0]]), k=1).build()[0].tolist()
    [[1], [0], [1]]
    """


class HNSW(KNNIndex):
    """ActUp's own search; hnswlib is not needed.

    The parameters are those of ``KNNIndex``.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import HNSW
    >>> HNSW(np.array([[0.0], [1.0], [3.0]]), k=1).build()[0].tolist()
    [[1], [0], [1]]
    """


class PrecomputedDistanceMatrix(KNNIndex):
    """Neighbours from a matrix of distances.

    Parameters
    ----------
    distance_matrix : array or sparse matrix of shape (n_samples, n_samples)
        Distances of at least 0.
    k : int
        Neighbours of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import PrecomputedDistanceMatrix
    >>> D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> PrecomputedDistanceMatrix(D, k=1).build()[0].tolist()
    [[1], [0], [1]]
    """

    def __init__(self, distance_matrix: Any, k: int) -> None:
        found = search(distance_matrix, k, metric="precomputed")
        indices, distances = found.indices.astype(np.int64), found.distances.astype(np.float64)
        if not issparse(distance_matrix):
            distances = np.take_along_axis(np.asarray(distance_matrix, np.float64), indices, axis=1)
            order = np.argsort(distances, axis=1, kind="stable")
            indices = np.take_along_axis(indices, order, axis=1)
            distances = np.take_along_axis(distances, order, axis=1)
        self.indices, self.distances = indices, distances
        self.n_samples, self.k = distance_matrix.shape[0], k

    def build(self) -> tuple[np.ndarray, np.ndarray]:
        """The nearest others of every row.

        Returns
        -------
        indices, distances : ndarray of shape (n_samples, k)
        """
        return self.indices, self.distances

    def query(self, query: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of the rows to new rows.

        Parameters
        ----------
        query : array of shape (n_rows, n_samples)
            Distances from each new row to each row.
        k : int
            Neighbours of each new row.

        Returns
        -------
        indices, distances : ndarray of shape (n_rows, k)
        """
        query = np.asarray(query, np.float64)
        indices = np.argsort(query, axis=1, kind="stable")[:, :k]
        return indices, np.take_along_axis(query, indices, axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)


class PrecomputedNeighbors(KNNIndex):
    """Neighbours that are known already.

    Parameters
    ----------
    neighbors : ndarray of shape (n_samples, k)
        Of each row, without the row itself.
    distances : ndarray of shape (n_samples, k)
        To these neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.nearest_neighbors import PrecomputedNeighbors
    >>> index = PrecomputedNeighbors(np.array([[1], [0]]), np.array([[0.5], [0.5]]))
    >>> index.n_samples, index.k
    (2, 1)
    """

    def __init__(self, neighbors: np.ndarray, distances: np.ndarray) -> None:
        self.indices, self.distances = neighbors, distances
        self.n_samples, self.k = neighbors.shape

    def build(self) -> tuple[np.ndarray, np.ndarray]:
        """The neighbours as they were given.

        Returns
        -------
        indices, distances : ndarray of shape (n_samples, k)
        """
        return self.indices, self.distances

    def query(self, *args: Any, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Raise RuntimeError: there are no rows to compare new ones with.

        Parameters
        ----------
        *args, **kwargs
            Not used.
        """
        raise RuntimeError("precomputed neighbours cannot be queried: give an index of the rows instead")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _known_name(metric: Any) -> Any:
    return _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
