"""Workspace: one data set with everything that its runs share, each computed once."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from actup._pipeline import Embedding, embed
from actup.backends import load_backend
from actup.datasets import Dataset
from actup.graph._records import Graph, Neighbors
from actup.neighbors._api import nearest_neighbors
from actup.recipe._recipe import Recipe


class Workspace:
    """A data set, its neighbours and its graphs.

    Parameters
    ----------
    dataset : Dataset
    threads : int
    most_neighbors : int
        The largest number of neighbours any run will ask for, so that they are searched once.
    """

    def __init__(self, dataset: Dataset, threads: int, most_neighbors: int = 0):
        self.dataset = dataset
        self.threads = threads
        self._most = most_neighbors
        self._neighbors: dict[str, Neighbors] = {}
        self._graphs: dict[tuple, Graph] = {}

    @cached_property
    def X(self) -> np.ndarray:
        return np.ascontiguousarray(self.dataset.X, np.float32)

    def neighbors(self, recipe: Recipe) -> Neighbors:
        """The neighbours a recipe needs."""
        k = recipe.neighbors_searched(len(self.dataset))
        found = self._neighbors.get(recipe.metric)
        if found is None or found.indices.shape[1] < k:
            wanted = min(max(k, self._most), len(self.dataset) - 1)
            found = nearest_neighbors(self.X, wanted, metric=recipe.metric, n_jobs=self.threads)
            self._neighbors[recipe.metric] = found
        return replace(found, indices=found.indices[:, :k], distances=found.distances[:, :k])

    def graph(self, recipe: Recipe) -> Graph:
        """The similarities a recipe asks for."""
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
        """A map, from the shared graph."""
        return embed(self.X, recipe, graph=self.graph(recipe), seed=seed, threads=self.threads)
