"""Spectral coordinates of the oracle: a dense eigendecomposition."""

from __future__ import annotations

import numpy as np

from actup.graph._records import Graph


def spectral_coordinates(graph: Graph, dimensions: int, seed: int = 0, threads: int = 1) -> np.ndarray:
    """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one, D^1/2 1, as columns of unit length.

    Points without edges are at 0. The entry of largest magnitude is positive in every column. Columns beyond
    the n - 1 that exist are 0.

    Parameters
    ----------
    graph : Graph
    dimensions : int
    seed, threads : int
        Ignored: nothing is random, and the oracle runs on one thread.

    Returns
    -------
    ndarray of shape (n, dimensions), float64
    """
    n = len(graph)
    W = graph.to_scipy().toarray().astype(np.float64)
    D = W.sum(axis=1)
    scale = np.where(D > 0, 1 / np.sqrt(np.where(D > 0, D, 1)), 0)
    B = scale[:, None] * W * scale
    trivial = np.sqrt(D / max(D.sum(), 1e-300))
    deflated = B - 2 * np.outer(trivial, trivial)  # moves the trivial eigenvalue from 1 to -1, the lowest
    deflated[D == 0, D == 0] = -2  # moves those of points without edges below that
    _, vectors = np.linalg.eigh(deflated)
    found = min(dimensions, n - 1, max(np.count_nonzero(D) - 1, 0))
    coordinates = np.zeros((n, dimensions))
    coordinates[:, :found] = vectors[:, ::-1][:, :found]
    largest = np.abs(coordinates).argmax(axis=0)
    return coordinates * np.where(coordinates[largest, range(dimensions)] < 0, -1, 1)
