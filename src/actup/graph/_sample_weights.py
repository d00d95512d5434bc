"""Weights of samples, as factors of a graph's edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from actup._csr import entry_rows
from actup._device import to_host
from actup._errors import WrongType
from actup._values import to_floats
from actup.graph._records import Graph, Neighbors


def apply_sample_weights(graph: Graph, weights: ArrayLike) -> Graph:
    """A graph in which a point of weight w counts like w equal points.

    Repeating row j w_j times does two things to a graph whose rows share out a fixed total similarity, as
    those of t-SNE and UMAP do. Every row i gives its repetitions, together, w_j times the share that the
    single row had, and its other neighbours accordingly less: W_ij becomes W_ij w_j/m_i, where m_i is the
    mean weight of i's neighbours, weighted by W. And row i counts w_i times. The weight of an edge becomes
    the mean of what both of its ends say:

        W_ij w_i w_j (1/m_i + 1/m_j)/2

    Among neighbours of equal weight w this is w W_ij. Weights are relative to their mean, so that equal
    weights change nothing. Points of weight 0 have no edges left. Estimators do not get that far with them:
    they leave such samples out of the run, because they would still take places among neighbours and repel.

    Parameters
    ----------
    graph : Graph
        Symmetric; copied to the host if it lies on a GPU.
    weights : array-like of shape (n,)
        Finite, at least 0, and not all 0.

    Returns
    -------
    Graph
        Symmetric to the bit, without the edges whose weights became 0. The same object if all weights are
        equal.

    Notes
    -----
    Weights of edges then vary as much as the weights of samples do. A layout that drops edges far below the
    largest one (``Recipe.prune``) would drop those of light points: run it with ``prune=False``.
    """
    values = read_sample_weights(weights, len(graph))
    if (values == values[:1]).all():
        return graph
    values = values / values.mean()
    offsets, ids, edges = (to_host(part) for part in (graph.offsets, graph.indices, graph.weights))
    rows = entry_rows(offsets)
    strength = np.bincount(rows, edges, len(graph))
    weighted = np.bincount(rows, edges * values[ids], len(graph))
    inverse_mean = np.divide(strength, weighted, out=np.zeros(len(graph)), where=weighted > 0)
    factors = (values[rows] * values[ids]) * ((inverse_mean[rows] + inverse_mean[ids]) / 2)
    products = (edges * factors).astype(np.float32)
    kept = products > 0
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    return Graph(kept_before[offsets], ids[kept], products[kept])


def add_isolated_points(graph: Graph, ids: np.ndarray, n: int) -> Graph:
    """A graph of ``n`` points: those of ``graph`` have the numbers ``ids``, ascending, others no edges."""
    offsets, indices, weights = (to_host(part) for part in (graph.offsets, graph.indices, graph.weights))
    sizes = np.zeros(n, np.int64)
    sizes[ids] = np.diff(offsets)
    return Graph(np.concatenate([[0], np.cumsum(sizes)]), ids[indices], weights)


def neighbors_among(neighbors: Neighbors, ids: np.ndarray) -> Neighbors:
    """The neighbours of some points among these points, renumbered; lists end with id -1 where some are lost.

    Parameters
    ----------
    neighbors : Neighbors
    ids : ndarray of shape (m,)
        The numbers of the points, ascending.

    Returns
    -------
    Neighbors
        m rows; a missing neighbour has id -1 and an infinite distance.
    """
    numbers = np.full(len(neighbors), -1, np.int32)
    numbers[ids] = np.arange(len(ids))
    indices, distances = to_host(neighbors.indices)[ids], to_host(neighbors.distances)[ids]
    known = (indices >= 0) & (indices < len(numbers))
    renumbered = np.where(known, numbers[np.where(known, indices, 0)], indices)
    distances = np.where(known & (renumbered < 0), np.float32(np.inf), distances)
    order = np.argsort(known & (renumbered < 0), axis=1, kind="stable")  # lost ones last, others in order
    return Neighbors(np.take_along_axis(renumbered, order, 1), np.take_along_axis(distances, order, 1))


def read_sample_weights(weights: ArrayLike, n: int) -> np.ndarray:
    """Weights as float64, checked: one per sample, finite, at least 0, and not all 0."""
    values = to_floats(
        weights,
        "sample_weight",
        lambda: WrongType("sample_weight must be an array of numbers, one per sample"),
    )
    if values.shape != (n,):
        raise ValueError(f"sample_weight has shape {values.shape}, but {n} samples need {(n,)}")
    if not np.isfinite(values).all():
        raise ValueError("sample_weight contains NaN or infinite values: give finite weights")
    if values.min(initial=0) < 0:
        raise ValueError(f"sample_weight contains {values.min():g}: weights must be at least 0")
    if n and not values.any():
        raise ValueError("sample_weight is zero for all samples: give at least one a positive weight")
    return values
