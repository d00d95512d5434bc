"""SearchIndex: the third part of what ``umap.umap_.nearest_neighbors`` returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from actup.neighbors._api import NeighborIndex, nearest_neighbors


class SearchIndex:
    """Rows that can be searched, with the names that programs use of pynndescent's ``NNDescent``.

    Neighbours are searched when they are first read. What was built for searching is not part of a pickle.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n, columns)
    n_neighbors : int
        The number of neighbours in ``neighbor_graph``, the row itself included.
    metric, metric_kwds
        As in ``actup.nearest_neighbors``.
    seed : int
    n_jobs : int
    """

    def __init__(
        self, data: Any, n_neighbors: int, metric: Any, metric_kwds: dict[str, Any], seed: int, n_jobs: int
    ):
        self._raw_data = data
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_kwds = metric_kwds
        self.n_jobs = n_jobs
        self._seed = seed
        self._graph: tuple[np.ndarray, np.ndarray] | None = None
        self._index: NeighborIndex | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_index": None}

    @property
    def _angular_trees(self) -> bool:
        """Whether pynndescent would divide the rows by angles."""
        return self.metric in ("cosine", "correlation", "dice", "jaccard", "hellinger")

    @property
    def neighbor_graph(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and distances of every row's neighbours, (n, n_neighbors) each; first the row itself."""
        if self._graph is None:
            n = int(self._raw_data.shape[0]) if hasattr(self._raw_data, "shape") else len(self._raw_data)
            others = min(self.n_neighbors, n) - 1
            own = np.arange(n, dtype=np.int32)[:, None]
            if others:
                found = nearest_neighbors(self._raw_data, others, **self._options())
                parts = [own, found.indices], [np.zeros((n, 1), np.float32), found.distances]
            else:
                parts = [own], [np.zeros((n, 1), np.float32)]
            indices, distances = map(np.hstack, parts)
            missing = ((0, 0), (0, self.n_neighbors - indices.shape[1]))
            self._graph = (
                np.pad(indices, missing, constant_values=-1),
                np.pad(distances, missing, constant_values=np.inf),
            )
        return self._graph

    def prepare(self) -> None:
        """Build the index now instead of in the first query."""
        if self._index is None:
            self._index = NeighborIndex(self._raw_data, **self._options())

    def query(self, query_data: Any, k: int = 10, epsilon: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
        """Ids and distances of the k rows nearest to every new row; ``epsilon`` has no effect."""
        self.prepare()
        assert self._index is not None
        found = self._index.query(query_data, k)
        return found.indices, found.distances

    def update(self, xs_fresh: Any = None, xs_updated: Any = None, updated_indices: Any = None) -> None:
        """Replace and append rows."""
        data: Any = self._raw_data
        if xs_updated is not None:
            data = data.tolil(copy=True) if sparse.issparse(data) else np.array(data)
            data[np.asarray(updated_indices)] = xs_updated
            data = data.tocsr() if sparse.issparse(data) else data
        if xs_fresh is not None:
            stack = sparse.vstack if sparse.issparse(data) else np.vstack
            data = stack([data, xs_fresh])
        self._raw_data = data.tocsr() if sparse.issparse(data) else data
        self._graph = self._index = None

    def _options(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "metric_kwds": self.metric_kwds,
            "random_state": self._seed,
            "n_jobs": self.n_jobs,
        }
