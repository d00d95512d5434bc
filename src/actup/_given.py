"""Given: what a caller knows besides X. Neighbours and graphs are checked, since compiled code reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from actup._device import array_module, to_host
from actup._typing import Array, Rows
from actup._warnings import warn_user
from actup.backends import Backend
from actup.backends._memory._shape import GraphChanges, Lean
from actup.graph._records import Graph, Neighbors
from actup.neighbors._chunks import row_chunks

_CHUNK_IDS = 2**20
_MAX_ASYMMETRY = 1e-5  # of the largest distance: given distances that differ less do so by rounding


@dataclass(frozen=True)
class Given:
    """What the caller gives besides X; None where the pipeline computes it, or does without.

    Attributes
    ----------
    init : array-like of shape (n, n_components) or None
        Where the points start. With ``mobility``, rows of NaN start among their neighbours.
    neighbors : Neighbors or None
    graph : Graph or None
    neighbors_name : str
        What the caller knows the neighbours as, for errors.
    disconnection_distance : float
        Neighbours at this distance or beyond do not count.
    reshape_graph : callable or None
        ``reshape_graph(graph, backend=backend, threads=threads)`` gives the graph that is laid out, e.g. one
        that labels have changed.
    graph_changes : GraphChanges
        What ``reshape_graph`` does, for estimates of memory.
    copies_rows : bool
        Whether X is a copy of some rows of what the caller gave, for estimates of memory.
    left_out : int or None
        How many rows of what the caller gave are not in that copy, for estimates of memory; None: unknown.
    mobility : ndarray of shape (n,) or None
        Factor of each point's steps: 0 keeps it where it starts, 1 lets it move freely.
    keep_radii : bool
        Whether local radii of the data are computed although the recipe does not preserve them.
    keep_neighbors : bool
        Whether the record of the run has the neighbours. They are as large as the graph: if nobody reads
        them, they are freed once the graph is made.
    lean : Lean
        Where the run takes less memory and more time.
    """

    init: Any = None
    neighbors: Neighbors | None = None
    graph: Graph | None = None
    neighbors_name: str = "neighbors"
    disconnection_distance: float = math.inf
    reshape_graph: Callable[..., Graph] | None = None
    graph_changes: GraphChanges = field(default_factory=GraphChanges)
    copies_rows: bool = False
    left_out: int | None = None
    mobility: np.ndarray | None = None
    keep_radii: bool = False
    keep_neighbors: bool = True
    lean: Lean = field(default_factory=Lean)


def count_rows(X: Any, given: Given | None = None) -> int:
    """The number of points; 0 if X has no rows, which its check rejects."""
    given = Given() if given is None else given
    known = next((known for known in (X, given.graph, given.neighbors) if known is not None), ())
    try:
        return int(known.shape[0]) if hasattr(known, "shape") else len(known)
    except (TypeError, IndexError, ValueError):
        return 0


def warn_if_asymmetric(distances: Rows | None) -> None:
    """Warn if two entries of a dense matrix of distances disagree about the same two points."""
    if not isinstance(distances, np.ndarray) or distances.shape[0] != distances.shape[1]:
        return
    largest, place, scale = 0.0, (0, 0), 0.0
    for chunk in row_chunks(distances, _CHUNK_IDS):
        here, there = distances[chunk].astype(np.float64), distances[:, chunk].T
        with np.errstate(invalid="ignore"):  # infinite distances are unknown
            differences = np.where(np.isfinite(here) & np.isfinite(there), np.abs(here - there), 0.0)
        at = int(differences.argmax())
        if differences.flat[at] > largest:
            largest, place = float(differences.flat[at]), divmod(at, distances.shape[1])
            place = place[0] + chunk.start, place[1]
        scale = max(scale, float(here.max(initial=0.0, where=np.isfinite(here))))
    if largest > _MAX_ASYMMETRY * scale:
        row, column = place
        warn_user(
            f"the distances are not symmetric: X[{row}, {column}] is {distances[row, column]:g}, but "
            f"X[{column}, {row}] is {distances[column, row]:g}. A point's neighbours are those of its row; "
            "use (X + X.T) / 2 for one distance of both"
        )


def check_rows_of_neighbors(neighbors: Neighbors, n_samples: int, name: str) -> None:
    """Reject neighbours of another number of samples."""
    n = len(neighbors)
    if n != n_samples:
        raise ValueError(
            f"{name} has {n} rows, but there are {n_samples} samples: give the neighbours of every sample"
        )


def check_neighbors(neighbors: Neighbors, n_samples: int, k: int, backend: Backend, name: str) -> Neighbors:
    """Neighbours given by the caller, cut to k columns; wrong ids would reach compiled code.

    An id of -1 at an infinite distance stands for a neighbour that is missing, as in umap-learn.
    """
    check_rows_of_neighbors(neighbors, n_samples, name)
    columns = neighbors.indices.shape[1]
    indices, distances = neighbors.indices[:, :k], neighbors.distances[:, :k]
    missing = (indices == -1) & array_module(distances).isinf(distances)
    wrong = ((indices < 0) | (indices >= n_samples)) & ~missing
    if bool(wrong.any()):
        raise ValueError(
            f"{name} has ids {indices.min()} to {indices.max()}, but samples are numbered 0 to "
            f"{n_samples - 1}: give ids of neighbours in the same data, not in other data; neighbours that "
            "were not found have id -1 and distance np.inf"
        )
    if columns < k:
        raise ValueError(
            f"{name} has {columns} neighbours of each sample, not counting itself, but at least {k} are "
            "needed: give more, or lower n_neighbors or perplexity"
        )
    if (indices == array_module(indices).arange(n_samples)[:, None]).any():
        raise ValueError(f"{name} names a point as its own neighbour: leave out the first column")
    known = array_module(distances).where(missing, 0, distances) if bool(missing.any()) else distances
    if not backend.has_valid_distances(known):
        values = to_host(known)
        row, column = np.argwhere(~(values >= 0) | np.isinf(values))[0]
        raise ValueError(
            f"{name} has a distance of {values[row, column]} (row {row}): distances must be at least 0, and "
            "neither NaN nor too large for float32"
        )
    _check_order(indices, distances, name)
    return replace(neighbors, indices=indices, distances=distances)


def _check_order(indices: Array, distances: Array, name: str) -> None:
    """Reject lists of neighbours that name a point twice, or not the nearest first."""
    for chunk in row_chunks(indices, _CHUNK_IDS):
        ids, lengths = indices[chunk].copy(), distances[chunk]
        ids.sort(axis=1)
        twice = ((ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] >= 0)).any(axis=1)
        if twice.any():
            row = chunk.start + int(twice.argmax())
            raise ValueError(f"{name} has an id twice in row {row}: give distinct neighbours")
        decreases = (lengths[:, 1:] < lengths[:, :-1]).any(axis=1)
        if decreases.any():
            row = chunk.start + int(decreases.argmax())
            raise ValueError(
                f"{name} has distances that decrease in row {row}: give the nearest first, e.g. sort both "
                "arrays by distance"
            )


def check_graph(graph: Graph, n_samples: int) -> Graph:
    """A graph given by the caller; wrong offsets or ids would reach compiled code."""
    graph.check_structure()
    if len(graph) != n_samples:
        raise ValueError(f"graph has {len(graph)} points, X has {n_samples}")
    if not len(graph.indices):
        raise ValueError("graph has no edges, so there is nothing to lay out")
    if not bool(array_module(graph.weights).isfinite(graph.weights).all()) or graph.weights.min() < 0:
        raise ValueError("graph has weights that are negative, infinite or NaN: leave such edges out")
    return graph
