"""Functions of ``umap.umap_`` with which umap-learn begins a transform: first places, points around."""

from __future__ import annotations

from typing import Any

import numpy as np


def init_transform(indices: np.ndarray, weights: np.ndarray, embedding: np.ndarray) -> np.ndarray:
    """Places of new points: sums of the places of their neighbours, (n, k) ids, times (n, k) weights."""
    places = np.asarray(weights)[:, :, None] * np.asarray(embedding)[indices]
    return np.asarray(places.sum(axis=1), np.float32)


def init_update(current_init: np.ndarray, n_original_samples: int, indices: np.ndarray) -> None:
    """Set, in place, the places of points that are new: the means of their neighbours that are not.

    A new point without any such neighbour keeps its place.
    """
    for row in range(n_original_samples, len(indices)):
        known = indices[row][indices[row] < n_original_samples]
        if len(known):
            current_init[row] = current_init[known].mean(axis=0)


def breadth_first_search(adjmat: Any, start: int, min_vertices: int) -> np.ndarray:
    """The vertices around one of them, nearest first: whole levels, until there are enough.

    Parameters
    ----------
    adjmat : CSR matrix of shape (n, n)
    start : int
    min_vertices : int
        Once more vertices than this are explored, no vertices of the farthest level are added.

    Returns
    -------
    ndarray of int
    """
    explored: list[int] = []
    levels, queue = {start: 0}, [start]
    last_level = None
    for vertex in queue:  # grows in the loop
        explored.append(vertex)
        if last_level is None and len(explored) > min_vertices:
            last_level = max(levels.values())
        if last_level is None or levels[vertex] + 1 < last_level:
            for neighbor in adjmat.indices[adjmat.indptr[vertex] : adjmat.indptr[vertex + 1]]:
                if int(neighbor) not in levels:
                    levels[int(neighbor)] = levels[vertex] + 1
                    queue.append(int(neighbor))
    return np.array(explored)
