"""The start of very many points: each takes the place of its landmark in a small map of landmarks.

Eigenvectors of a graph of a million points take longer to find than all else, and tell less: neighbours are
so near that the graph hardly knows how the large parts of the data lie. Landmarks, the centres of cells, are
few, and their neighbours are far enough away to know.
"""

from __future__ import annotations

import math

import numpy as np

from actup.backends.cuda.cells import find_centers, nearest_center
from actup.backends.cuda.compile import cupy, load_kernels
from actup.backends.cuda.graph import affinity_graph
from actup.backends.cuda.layout import make_layout
from actup.backends.cuda.neighbors import directions, nearest_neighbors
from actup.cookbook import preset_for
from actup.recipe import Recipe

LANDMARKS = 4096
_SAMPLED = 32  # rows per landmark that they are found from


def landmark_start(X, recipe: Recipe, seed: int, threads: int):
    """Places around those of the landmarks.

    Parameters
    ----------
    X : cupy.ndarray of shape (n, columns), float32
        More than ``LANDMARKS`` rows.
    recipe : Recipe
        Its metric and number of dimensions.
    seed, threads : int

    Returns
    -------
    cupy.ndarray of shape (n, n_components), float32
    """
    angular = recipe.metric in ("cosine", "correlation")
    rows = directions(X, recipe.metric == "correlation") if angular else X
    landmarks = find_centers(rows, LANDMARKS, _SAMPLED)
    places = _map(landmarks, recipe.n_components, seed, threads)
    out = cupy().empty((len(X), recipe.n_components), np.float32)
    spacing = float((places.max(axis=0) - places.min(axis=0)).max()) / LANDMARKS ** (1 / recipe.n_components)
    size = (np.int64(out.size), np.int32(recipe.n_components), np.float32(spacing))
    kernel = load_kernels("cells").get_function("scatter_around")
    arguments = (places, nearest_center(rows, landmarks), *size, np.uint64(seed), out)
    kernel((math.ceil(out.size / 256),), (256,), arguments)
    return out


def landmark_recipe(dimensions: int) -> Recipe:
    """How landmarks are mapped."""
    return preset_for("gdr_umap", dimensions).but(n_components=dimensions)


def _map(rows, dimensions: int, seed: int, threads: int):
    """A map of few rows, on the device."""
    from actup.backends.cuda.start import make_start

    recipe = landmark_recipe(dimensions)
    neighbors = nearest_neighbors(rows, recipe.neighbors_searched(len(rows)), "euclidean", threads)
    graph = affinity_graph(neighbors, recipe, threads)
    start, _ = make_start(rows, graph, recipe, None, seed, threads)
    layout = make_layout(graph, start, recipe, seed, threads)
    layout.run(layout.n_epochs)
    return layout.embedding()
