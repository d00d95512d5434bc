"""Plain, slow computations that the quality measures are tested against."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist

from actup.graph._records import Graph

N = 240


def random_graph(rng, n, density=0.05):
    A = scipy.sparse.random(n, n, density, random_state=3, dtype=np.float32).tolil()
    A[0, n - 1] = 0.7
    return Graph.from_scipy((A + A.T) / 2)


def ranks(points, metric="euclidean"):
    """ranks[i, j]: 1 for the nearest other point, by distance and then by index; 0 for the point itself."""
    D = cdist(points, points, metric)
    np.fill_diagonal(D, -1)
    order = np.argsort(D, axis=1, kind="stable")
    return np.argsort(order, axis=1)
