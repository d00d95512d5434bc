"""New rows on a finished map: their neighbours among the training data, then a place for each."""

from __future__ import annotations

from dataclasses import replace

from scipy.sparse import issparse

from actup.backends import load_backend
from actup.graph._records import Neighbors, array_module, on_gpu
from actup.neighbors._api import NeighborIndex
from actup.neighbors._from_distances import query_distances
from actup.recipe._recipe import Recipe
from actup.transform._placement import make_placement, neighbors_needed, row_recipe


def place_new_rows(
    training: TrainingRows, X_new, embedding, recipe: Recipe, seed: int, threads: int, backend: str
):
    """The places of new rows on the map of the training data.

    Parameters
    ----------
    training : TrainingRows
    X_new : array or CSR matrix of shape (m, features)
        Checked; where the backend computes.
    embedding : array of shape (n, n_components)
        The map of the training data.
    recipe : Recipe
        What made it.
    seed, threads : int
    backend : str

    Returns
    -------
    array of shape (m, n_components), float32
        Where the backend computes.
    """
    engine = load_backend(backend)
    embedding = _as(embedding, backend)
    rows, n = row_recipe(recipe), len(training)
    found = training.neighbors(X_new, neighbors_needed(rows, n), threads, backend)
    places = embedding[found.indices[:, 0]]
    new = array_module(places).flatnonzero(found.distances[:, 0] != 0)
    if len(new):
        lists = Neighbors(found.indices[new], _not_negative(found.distances[new]))
        places[new] = engine.place_rows(lists, embedding, rows, make_placement(recipe, n, seed), threads)
    return places


def _not_negative(distances):
    """Inner products of rows longer than all training data make negative distances: the least becomes 0."""
    return distances - array_module(distances).minimum(distances[:, :1], 0)


def _as(array, backend: str):
    """The array where the backend computes."""
    if backend == "cuda":
        from actup.backends._cuda.arrays import to_device

        return to_device(array, None)
    if on_gpu(array):
        from actup.backends._cuda.arrays import to_host

        return to_host(array)
    return array


class TrainingRows:
    """The data of a fit, kept as they are, to be searched for the neighbours of other rows.

    What the search needs is made when it is first used, and is not part of a pickle.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, features), or (n, n) distances
        Checked. Not copied: do not change them while new rows are to be placed.
    recipe : Recipe
        Its ``metric`` and ``metric_kwds``.
    """

    def __init__(self, rows, recipe: Recipe):
        self._count = rows.shape[0]
        self._metric = recipe.metric
        self._parameters = dict(recipe.metric_kwds)
        self._rows = None if recipe.metric == "precomputed" else rows
        self._index: NeighborIndex | None = None

    def __len__(self) -> int:
        return self._count

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_index": None}

    def neighbors(self, X_new, k: int, threads: int, backend: str) -> Neighbors:
        """The k training rows nearest to every new row, nearest first, where the backend computes."""
        found = None
        query = getattr(load_backend(backend), "query_neighbors", None)
        if query is not None and not self._parameters and self._metric != "precomputed":
            found = query(self._rows, X_new, k, self._metric)
        if found is None:
            found = self._on_host(_as(X_new, "cpu"), k, threads)
        return replace(found, indices=_as(found.indices, backend), distances=_as(found.distances, backend))

    def _on_host(self, X_new, k: int, threads: int) -> Neighbors:
        if self._metric == "precomputed":
            return query_distances(X_new, k)
        rows = _as(self._rows, "cpu")
        if issparse(rows) != issparse(X_new):
            kinds = ["sparse" if issparse(part) else "dense" for part in (rows, X_new)]
            raise TypeError(f"X is {kinds[1]}, but the training data are {kinds[0]}: give both as one kind")
        if self._index is None:
            self._index = NeighborIndex(
                rows, metric=self._metric, metric_kwds=self._parameters, n_jobs=threads
            )
        return self._index.query(X_new, k)
