"""Workspace: one data set with the neighbours and graphs that its runs share, each computed once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from actup._cached_property import cached_property
from actup._pipeline import Embedding, embed
from actup.backends import load_backend
from actup.datasets import Dataset
from actup.graph import Graph, Neighbors
from actup.neighbors import nearest_neighbors
from actup.recipe import Recipe


class Workspace:
    """A data set with its neighbours and graphs.

    Parameters
    ----------
    dataset : Dataset
    threads : int
    max_neighbors : int, default=0
        The largest number of neighbours that any run will need, so that one search serves all runs.
    """

    def __init__(self, dataset: Dataset, threads: int, max_neighbors: int = 0):
        self.dataset = dataset
        self.threads = threads
        self._max_neighbors = max_neighbors
        self._neighbors: dict[Hashable, Neighbors] = {}
        self._graphs: dict[tuple[Hashable, ...], Graph] = {}

    @cached_property
    def X(self) -> np.ndarray:
        return np.ascontiguousarray(self.dataset.X, np.float32)

    def neighbors(self, recipe: Recipe) -> Neighbors:
        """The neighbours that a recipe needs."""
        k = recipe.neighbors_searched(len(self.dataset))
        found = self._neighbors.get(recipe.metric)
        if found is None or found.indices.shape[1] < k:
            searched = min(max(k, self._max_neighbors), len(self.dataset) - 1)
            found = nearest_neighbors(self.X, searched, metric=recipe.metric, n_jobs=self.threads)
            self._neighbors[recipe.metric] = found
        return replace(found, indices=found.indices[:, :k], distances=found.distances[:, :k])

    def graph(self, recipe: Recipe) -> Graph:
        """The graph of similarities that a recipe asks for."""
        neighbors = self.neighbors(recipe)
        key = (
            neighbors.indices.shape[1],
            recipe.metric,
            recipe.affinity,
            recipe.distance,
            recipe.symmetrization,
            recipe.scales(),
            recipe.sigma,
        )
        if key not in self._graphs:
            self._graphs[key] = load_backend("cpu").affinity_graph(neighbors, recipe, self.threads)
        return self._graphs[key]

    def embed(self, recipe: Recipe, seed: int) -> Embedding:
        """Compute a map from the shared graph; Ctrl-C raises KeyboardInterrupt, so that no result is kept."""
        made = embed(self.X, recipe, graph=self.graph(recipe), seed=seed, threads=self.threads)
        if made.interrupted:
            raise KeyboardInterrupt
        return made
