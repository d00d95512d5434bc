"""Neighbors and Graph: the two records that travel between the stages, and their invariants.

GraphParts is a graph that does not fit into memory: its rows are read part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from actup._csr import check_compressed, read_sparse
from actup._device import on_gpu, to_host
from actup._errors import WrongType
from actup._typing import Array, CsrMatrix
from actup._values import as_float, reject_mask

_MIN_ID, _MAX_ID = np.iinfo(np.int32).min, np.iinfo(np.int32).max


def _contiguous(array: Array, dtype: type[np.generic]) -> Array:
    """The array in C order and of a type; an array on a GPU is returned as it is, its backend makes it so."""
    # What is too large for the type becomes infinite, and both that and NaN of any kind are rejected by name.
    with np.errstate(over="ignore", invalid="ignore"):
        return array if on_gpu(array) else np.ascontiguousarray(array, dtype)


def _whole_numbers(array: Array, dtype: type[np.signedinteger[Any]], name: str) -> Array:
    """Offsets or ids as ``_contiguous`` gives them; numbers that the type would change are rejected."""
    array = array if on_gpu(array) else np.asarray(array)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise WrongType(f"graph has {name} ({array.dtype}) of shape {array.shape}: give one list of numbers")
    with np.errstate(invalid="ignore"):
        whole = _contiguous(array, dtype)
    if array.dtype != whole.dtype and not bool((array == whole).all()):
        raise ValueError(f"graph has {name} ({array.dtype}) that are not whole numbers of {np.dtype(dtype)}")
    return whole


@dataclass(frozen=True)
class Neighbors:
    """The nearest other points of every point, nearest first; a point is never its own neighbour.

    Attributes
    ----------
    indices : ndarray of shape (n, k), int32
    distances : ndarray of shape (n, k), float32
    method : str
        How they were found: "exact", "cluster" (approximate, through clusters of codes), "proxy"
        (approximate, candidates from a neighbouring space), "cells" (approximate, on a GPU) or "given".
    recall : float
        Share of true neighbours found, measured on a sample; 1.0 for an exact search, NaN for given
        neighbours.

    See Also
    --------
    actup.nearest_neighbors : Searches them.

    Examples
    --------
    >>> import numpy as np
    >>> from actup import Neighbors
    >>> neighbors = Neighbors(np.array([[1], [0], [1]]), np.array([[1.0], [1.0], [2.0]]))
    >>> len(neighbors), neighbors.method
    (3, 'given')
    """

    indices: np.ndarray
    distances: np.ndarray
    method: str = "given"
    recall: float = float("nan")

    def __post_init__(self) -> None:
        _check_lists(self.indices, self.distances, ("indices", "distances"))
        object.__setattr__(self, "indices", _contiguous(self.indices, np.int32))
        object.__setattr__(self, "distances", _contiguous(self.distances, np.float32))

    def __len__(self) -> int:
        return int(self.indices.shape[0])

    @property
    def engine(self) -> str:
        """The former name of ``method``."""
        return self.method

    @classmethod
    def from_lists(cls, indices: Any, distances: Any) -> Neighbors:
        """Neighbours from the lists of other libraries, which may name each point as its own neighbour.

        Parameters
        ----------
        indices : array-like of shape (n, k), whole numbers
        distances : array-like of shape (n, k)

        Returns
        -------
        Neighbors
            As given if no row names itself. If any does, each loses its own id, or its last entry where it
            does not name itself (duplicates of a point may have taken its place), and k - 1 columns are left.

        Raises
        ------
        TypeError
            If an array is masked, ids are not whole numbers, or distances are not real numbers.
        ValueError
            If the arrays have different shapes, or ids need more than 32 bits.
        """
        return read_lists(indices, distances, ("indices", "distances"))


def read_lists(indices: Any, distances: Any, names: tuple[str, str]) -> Neighbors:
    """As ``Neighbors.from_lists``, with errors that call the two arrays by these names."""
    indices, distances = _as_array(indices, names[0]), _as_array(distances, names[1])
    _check_lists(indices, distances, names)
    ids = np.arange(len(indices))
    if (indices == ids[:, None]).any():
        indices, distances = without_self(indices, distances, ids)
    return Neighbors(indices, distances)


def _as_array(part: Any, name: str) -> np.ndarray:
    try:
        return np.asanyarray(part)  # a masked array stays one, and is rejected
    except ValueError:  # rows of several lengths
        raise ValueError(f"{name} must be an array of shape (n, k), with k entries in every row") from None


def _check_lists(indices: Array, distances: Array, names: tuple[str, str]) -> None:
    """Reject arrays that cannot be lists of neighbours; of arrays on a GPU, only the shape is checked."""
    ids_name, distances_name = names
    for part, name in zip((indices, distances), names, strict=True):
        reject_mask(part, name)
    for part, name in zip((indices, distances), names, strict=True):
        if not hasattr(part, "ndim"):
            raise TypeError(f"{name} is a {type(part).__name__}, but must be an array of shape (n, k)")
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            f"{ids_name} of shape {tuple(indices.shape)} and {distances_name} of shape "
            f"{tuple(distances.shape)} must be two arrays of one shape (n, k)"
        )
    if on_gpu(indices) or on_gpu(distances) or not indices.size:
        return
    if indices.dtype.kind not in "iu":
        swapped = f" (are {ids_name} and {distances_name} swapped?)" if distances.dtype.kind in "iu" else ""
        raise TypeError(
            f"{ids_name} holds {indices.dtype}, but ids of neighbours must be whole numbers{swapped}: "
            "convert them with .astype(int)"
        )
    if distances.dtype.kind not in "biuf":
        raise TypeError(
            f"{distances_name} holds {distances.dtype}, but distances must be real numbers: give them as "
            "float32 or float64"
        )
    if indices.dtype == np.int32:
        return
    low, high = indices.min(), indices.max()
    if low < _MIN_ID or high > _MAX_ID:
        raise ValueError(
            f"{ids_name} has ids {low} to {high}, which need more than 32 bits: ids are rows of X, numbered "
            "from 0"
        )


def without_self(
    indices: np.ndarray, distances: np.ndarray, ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lists of neighbours without the row's own id; a row that does not name itself loses its last entry."""
    own = indices == ids[:, None]
    last = np.zeros_like(own)
    last[:, -1] = True
    dropped = np.where(own.any(axis=1, keepdims=True), own & (own.cumsum(axis=1) == 1), last)
    shape = (len(indices), indices.shape[1] - 1)
    return indices[~dropped].reshape(shape), distances[~dropped].reshape(shape)


@dataclass(frozen=True)
class Graph:
    """A symmetric graph in compressed rows: no self loops, ids ascending within a row, weights positive.

    Attributes
    ----------
    offsets : ndarray of shape (n + 1,), int64
    indices : ndarray of shape (edges,), int32
    weights : ndarray of shape (edges,), float32

    See Also
    --------
    actup.embed : Makes a graph from neighbours, or a map from a given graph.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from actup import Graph
    >>> graph = Graph.from_scipy(csr_matrix(np.array([[0, 1.0], [1.0, 0]])))
    >>> len(graph), graph.indices.tolist()
    (2, [1, 0])
    """

    offsets: np.ndarray
    indices: np.ndarray
    weights: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", _whole_numbers(self.offsets, np.int64, "offsets"))
        object.__setattr__(self, "indices", _whole_numbers(self.indices, np.int32, "indices"))
        object.__setattr__(self, "weights", _contiguous(self.weights, np.float32))

    def __len__(self) -> int:
        return max(0, len(self.offsets) - 1)

    @property
    def nbytes(self) -> int:
        """The memory of the three arrays."""
        return int(self.offsets.nbytes + self.indices.nbytes + self.weights.nbytes)

    def check_structure(self) -> None:
        """Reject offsets and ids that compiled code would read out of bounds with."""
        if self.weights.ndim != 1:
            raise ValueError(f"graph has weights of shape {self.weights.shape}: give one list of numbers")
        if not len(self.offsets):
            raise ValueError("graph has no offsets: give one more than there are points")
        n, weights = len(self), self.weights
        check_compressed(self.offsets, self.indices, len(weights), (n, n), "graph", "point neighbour")

    def pruned(self, weakest: float) -> Graph:
        """The graph without the edges weaker than ``weakest`` times the largest weight."""
        if isinstance(weakest, bool) or not isinstance(weakest, Real):
            raise WrongType(f"weakest={weakest!r} must be a number")
        share = np.float32(as_float(weakest, "weakest"))
        keep = self.weights / (self.weights.max(initial=0) or np.float32(1)) >= share
        kept_before = np.concatenate([[0], np.cumsum(keep)])
        return Graph(kept_before[self.offsets], self.indices[keep], self.weights[keep])

    def to_scipy(self) -> CsrMatrix:
        """The graph as a ``scipy.sparse.csr_matrix``; copied from the GPU if it lies there."""
        from scipy.sparse import csr_matrix

        arrays = tuple(map(to_host, (self.weights, self.indices, self.offsets)))
        return csr_matrix(arrays, shape=(len(self), len(self)))

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """A graph from any symmetric sparse matrix; the diagonal is dropped."""
        from scipy.sparse import csr_matrix, issparse

        if not issparse(matrix) and (np.ndim(matrix) != 2 or np.asarray(matrix).dtype.kind not in "biuf"):
            raise WrongType(f"graph is a {type(matrix).__name__}, but must be a square matrix of numbers")
        matrix = read_sparse(matrix, "graph") if issparse(matrix) else matrix
        # What is too large for float32 becomes infinite; that and NaN of any kind are rejected by name.
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = csr_matrix(matrix, dtype=np.float32, copy=True)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"a graph needs a square matrix, got shape {matrix.shape}")
        matrix.setdiag(0)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        if not np.isfinite(matrix.data).all():
            raise ValueError("graph has weights that are infinite or NaN: leave such edges out")
        if abs(matrix - matrix.T).nnz and abs(matrix - matrix.T).max() > 1e-6 * matrix.max():
            raise ValueError("a graph needs a symmetric matrix; use (A + A.T) / 2 or A.maximum(A.T)")
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(f"a graph needs weights of at least 0, got {matrix.data.min()}")
        return cls(matrix.indptr, matrix.indices, matrix.data)


@dataclass(frozen=True)
class GraphParts:
    """A symmetric graph whose rows are read part by part, so that they are never all in memory.

    Attributes
    ----------
    n : int
        Number of points.
    edges : int
        Number of edges, both directions counted.
    read : callable
        Returns an iterator over the parts in the order of the rows: offsets (int64, from 0), indices (int32)
        and weights (float32) of consecutive rows, as in ``Graph``. It may be called several times, and gives
        the same parts each time.
    """

    n: int
    edges: int
    read: Callable[[], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]

    def __len__(self) -> int:
        return self.n

    def joined(self) -> Graph:
        """The whole graph in memory."""
        offsets = np.zeros(self.n + 1, np.int64)
        indices, weights = np.empty(self.edges, np.int32), np.empty(self.edges, np.float32)
        row = edge = 0
        for part_offsets, part_indices, part_weights in self.read():
            rows, edges = len(part_offsets) - 1, len(part_indices)
            if row + rows > self.n or edge + edges > self.edges or len(part_weights) != edges:
                raise ValueError(self._misfit())
            offsets[row + 1 : row + rows + 1] = part_offsets[1:] + edge
            indices[edge : edge + edges], weights[edge : edge + edges] = part_indices, part_weights
            row, edge = row + rows, edge + edges
        if (row, edge) != (self.n, self.edges):
            raise ValueError(self._misfit())
        graph = Graph(offsets, indices, weights)
        graph.check_structure()
        return graph

    def _misfit(self) -> str:
        return (
            f"parts of the graph must have {self.n} rows and {self.edges} edges together: give all rows, in "
            "order, with an id for every weight"
        )


def whole_graph(graph: Graph | GraphParts) -> Graph:
    """The graph in memory."""
    return graph.joined() if isinstance(graph, GraphParts) else graph
