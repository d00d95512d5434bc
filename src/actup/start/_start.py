"""The start policy: which start a run uses, on every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy.sparse import issparse

from actup._elementary import power
from actup._typing import Array, Rows
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Initialization
from actup.start import _landmarks
from actup.start._coordinates import UninformativeVectors
from actup.start._output_space import to_output_space

if TYPE_CHECKING:
    from actup.backends._base import Backend


def make_start(
    X: Rows | None, graph: Graph, recipe: Recipe, init: Any, seed: int, threads: int, backend: Backend
) -> tuple[Array, str]:
    """The points' first places, and how they were found.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, columns), or None
        The data, where the backend computes; None if only a graph or distances are known.
    graph : Graph
    recipe : Recipe
        Its ``initialization``, ``start_extent``, ``start_size`` and ``n_components``.
    init : array-like of shape (n, n_components), or None
        Places to use instead.
    seed, threads : int
    backend : Backend
        Computes the coordinates.

    Returns
    -------
    Y : array of shape (n, n_components), float32
        Where the backend computes.
    used : str
        "spectral", "pca", "random" or "array"; with a reason if it is not just what the recipe asked for.
    """
    if init is not None:
        return backend.given_start(init, len(graph), recipe, seed)
    kind, reason = recipe.initialization, ""
    Y = None
    if kind is Initialization.PCA and X is None:
        kind, reason = Initialization.SPECTRAL, "there are no rows to take principal components of"
    if kind is Initialization.SPECTRAL:
        dense = None if X is None or issparse(X) else X
        if dense is not None and _landmarks.uses_landmarks(recipe, len(dense)):
            Y, reason = _landmark_start(dense, recipe, seed, threads, backend)
        elif len(graph.indices):
            gives_up = dense is not None and _landmarks.replaces_eigenvectors(recipe, len(dense))
            try:
                Y = backend.spectral_start(graph, recipe.n_components, seed, threads, X, gives_up)
            except UninformativeVectors:
                Y, reason = _landmark_start(dense, recipe, seed, threads, backend)
        else:
            kind, reason = Initialization.PCA, "the graph has no edges"
    if kind is Initialization.PCA:
        if X is None:
            kind = Initialization.RANDOM
        else:
            Y = backend.pca_start(X, recipe.n_components, seed, threads)
    if Y is None:
        Y = backend.random_start(len(graph), recipe.n_components, seed)
    used = f"{kind} ({reason})" if reason else str(kind)
    scaled = backend.scale_start(Y, recipe.start_extent, recipe.start_size, seed)
    return to_output_space(scaled, recipe), used


def _landmark_start(X: Rows, recipe: Recipe, seed: int, threads: int, backend: Backend) -> tuple[Array, str]:
    """Random places around those of the landmarks in a map of their own, and what to say of them."""
    assert isinstance(recipe.metric, str)
    landmarks, labels = backend.find_landmarks(X, recipe.metric, _landmarks.LANDMARKS, seed, threads)
    places, reach = landmark_places(landmarks, recipe, seed, threads, backend)
    Y = backend.scatter_around(places, labels, reach, seed, threads)
    return Y, f"of a map of {len(landmarks)} landmarks"


def landmark_places(
    landmarks: Array, recipe: Recipe, seed: int, threads: int, backend: Backend
) -> tuple[Array, float]:
    """The places of landmarks in a map of their own, and how far around them rows are scattered.

    Parameters
    ----------
    landmarks : array of shape (count, columns)
    recipe : Recipe
        That of the whole map.
    seed, threads : int
    backend : Backend
    """
    small = _landmarks.landmark_recipe(recipe.n_components)
    k = small.neighbors_searched(len(landmarks))
    neighbors = backend.nearest_neighbors(landmarks, k, "euclidean", threads)
    graph = backend.affinity_graph(neighbors, small, threads)
    start, _ = make_start(landmarks, graph, small, None, seed, threads, backend)
    layout = backend.make_layout(graph, start, small, seed, threads)
    layout.run(layout.n_epochs)
    places = layout.embedding()
    width = float((places.max(axis=0) - places.min(axis=0)).max())
    return places, width / float(power(len(landmarks), 1 / recipe.n_components))
