"""The start of very many points: each takes the place of its landmark in a small map of landmarks.

Eigenvectors of a graph of a million points take longer to find than all else, and tell less: neighbours are
so near that the graph hardly knows how the large parts of the data lie. Landmarks, the centres of cells, are
few, and their neighbours are far enough away to know.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from actup.recipe._presets import preset_for
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Initialization

LANDMARKS = 4096
MANY = 200_000  # points of which more start at landmarks
_METRICS = ("euclidean", "cosine", "correlation", "inner_product", "manhattan", "chebyshev")


def starts_at_landmarks(recipe: Recipe, n: int) -> bool:
    """Whether the rows of X, if they are there, are placed by landmarks."""
    return recipe.initialization is Initialization.SPECTRAL and n > MANY and recipe.metric in _METRICS


def landmark_start(X, recipe: Recipe, seed: int, threads: int, backend: ModuleType, make_start: Callable):
    """Places around those of the landmarks, and how many landmarks there are.

    Parameters
    ----------
    X : array of shape (n, columns), of the backend's kind
        More than ``MANY`` rows.
    recipe : Recipe
        Its metric and number of dimensions.
    seed, threads : int
    backend : module
        Its ``find_landmarks`` and ``scatter_around`` are used, and the stages that map the landmarks.
    make_start : callable
        Gives the start of that map, from (rows, graph, recipe, init, seed, threads).

    Returns
    -------
    Y : array of shape (n, n_components), float32
    count : int
    """
    landmarks, labels = backend.find_landmarks(X, recipe.metric, LANDMARKS, seed, threads)
    small = landmark_recipe(recipe.n_components)
    neighbors = backend.nearest_neighbors(
        landmarks, small.neighbors_searched(len(landmarks)), "euclidean", threads
    )
    graph = backend.affinity_graph(neighbors, small, threads)
    start, _ = make_start(landmarks, graph, small, None, seed, threads)
    layout = backend.make_layout(graph, start, small, seed, threads)
    layout.run(layout.n_epochs)
    places = layout.embedding()
    width = float((places.max(axis=0) - places.min(axis=0)).max())
    reach = width / len(landmarks) ** (1 / recipe.n_components)
    return backend.scatter_around(places, labels, reach, seed, threads), len(landmarks)


def landmark_recipe(dimensions: int) -> Recipe:
    """How landmarks are mapped."""
    return preset_for("gdr_umap", dimensions)
