"""Neighbours from blocks of a distance matrix, dense or sparse, that somebody else computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from actup._csr import entry_rows
from actup._typing import CsrMatrix, Rows
from actup._warnings import warn_user
from actup.graph._records import Neighbors
from actup.neighbors._chunks import row_chunks
from actup.neighbors._finite_values import are_all_finite

_CHUNK_DISTANCES = 2**20
_ONE_TOLERANCE = (
    1e-5  # weights computed in float32 are this close to 1, to their sum and to their mirror image
)
_MIN_ROWS_WITH_ONE = 0.75  # share; every row of UMAP's weights has a 1, unless points were left out later
_MAX_ONES = 0.5  # share; of UMAP's weights few are 1, of distances without scale (steps, disjoint sets) many

_MAX_NONZERO = 0.5  # share; a dense matrix with fewer values that are not 0 may be a graph


def reject_overflow(neighbors: Neighbors, threads: int = 1) -> Neighbors:
    """Reject distances that float32 cannot hold."""
    if not are_all_finite(neighbors.distances, threads):
        raise ValueError(
            "distances between rows of X are too large for float32: divide X by its largest value"
        )
    return neighbors


def neighbors_from_distances(X: Rows, k: int) -> Neighbors:
    """The k nearest others from a square matrix of distances; its diagonal plays no part.

    Of a sparse matrix only the stored entries are known, zeros among them; every row needs k of them besides
    the diagonal. Warns of what can only be similarities.
    """
    _warn_if_similarities(X)
    if sparse.issparse(X):
        return reject_overflow(_smallest_entries(X, k, without_diagonal=True))
    return reject_overflow(nearest_others(_row_blocks(X), len(X), k))


def _warn_if_similarities(X: Rows) -> None:
    reason = _similarities_reason(X)
    if reason is not None:
        warn_user(
            f"X looks like similarities ({reason}), but metric='precomputed' reads it as distances, the "
            "smallest as the nearest: make a map of similarities with actup.embed(None, 'umap', graph=X), or "
            "give distances, such as scanpy's obsp['distances']"
        )


def _similarities_reason(X: Rows) -> str | None:
    """What shows that a square matrix holds similarities, or None.

    Only what distances practically never have counts, so that many kinds of similarities go unnoticed.
    """
    diagonal = X.diagonal()
    if len(diagonal) > 1 and diagonal.min() > 1 - _ONE_TOLERANCE and X.max() <= 1 + _ONE_TOLERANCE:
        return "its diagonal is 1, and no value is larger"
    if not sparse.issparse(X) and np.count_nonzero(X) <= _MAX_NONZERO * X.size:
        X = sparse.csr_matrix(X)  # the zeros of graphs stand for "not connected"; distances have few
    if not sparse.issparse(X) or X.nnz == 0 or not X.data.min() >= 0 or X.data.max() > 1 + _ONE_TOLERANCE:
        return None
    if diagonal.any():
        return None
    is_one = X.data >= 1 - _ONE_TOLERANCE
    rows = entry_rows(X.indptr)
    rows_with_one = len(np.unique(rows[is_one]))
    if rows_with_one >= _MIN_ROWS_WITH_ONE * X.shape[0] and is_one.mean() <= _MAX_ONES and _is_symmetric(X):
        return "it is symmetric, no value is above 1, and the largest of most rows is 1, as in UMAP's weights"
    total = X.data.sum(dtype=np.float64)
    for usual in (1, X.shape[0]):  # ActUp's affinities add up to the number of points
        if abs(total - usual) <= _ONE_TOLERANCE * usual and _is_symmetric(X):
            return f"it is symmetric and its sum is {usual}, as in t-SNE's affinities"
    return None


def _is_symmetric(X: CsrMatrix) -> bool:
    return bool(abs(X - X.T).max() <= _ONE_TOLERANCE * X.data.max())


def query_distances(distances: Rows, k: int) -> Neighbors:
    """The k nearest columns of every row of a matrix of distances, dense or sparse."""
    if sparse.issparse(distances):
        return reject_overflow(_smallest_entries(distances, k))
    return reject_overflow(nearest_columns(_row_blocks(distances), k))


def _row_blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    rows = max(1, _CHUNK_DISTANCES // X.shape[1])
    return (X[begin : begin + rows].astype(np.float64) for begin in range(0, len(X), rows))


def nearest_columns(blocks: Iterator[np.ndarray], k: int) -> Neighbors:
    """The k smallest distances of every row, from consecutive blocks of rows."""
    indices, distances = [], []
    for block in blocks:
        _reject_invalid(block)
        indices.append(_smallest(block, k))
        distances.append(np.take_along_axis(block, indices[-1], axis=1))
    with np.errstate(over="ignore"):
        return Neighbors(np.concatenate(indices), np.concatenate(distances), method="exact", recall=1.0)


def nearest_others(blocks: Iterator[np.ndarray], n_samples: int, k: int) -> Neighbors:
    """The k nearest others of every row, from row blocks of a square matrix, which are overwritten."""
    indices = np.empty((n_samples, k), np.int32)
    distances = np.empty((n_samples, k), np.float32)
    begin = 0
    for block in blocks:
        rows = slice(begin, begin + len(block))
        block[np.arange(len(block)), np.arange(n_samples)[rows]] = np.inf
        _reject_invalid(block)
        indices[rows] = _smallest(block, k)
        with np.errstate(over="ignore"):
            distances[rows] = np.take_along_axis(block, indices[rows], axis=1)
        begin += len(block)
    return Neighbors(indices, distances, method="exact", recall=1.0)


class NearestLists:
    """The k nearest others of every point among the pairs seen so far; ties go to the smaller id.

    Parameters
    ----------
    n_samples : int
    k : int
    """

    def __init__(self, n_samples: int, k: int):
        self._indices = np.full((n_samples, k), -1, np.int32)
        self._distances = np.full((n_samples, k), np.inf)

    def add(self, first: int, ids: np.ndarray, block: np.ndarray) -> None:
        """Take in the distances of consecutive points to others.

        Parameters
        ----------
        first : int
            The first of the points.
        ids : ndarray of shape (m,)
            The others, ascending, all larger than the others that these points have met before.
        block : ndarray of shape (points, m)
        """
        _reject_invalid(block)
        k = self._indices.shape[1]
        farthest = self._distances[first : first + len(block), -1]
        rows = np.flatnonzero(block.min(axis=1, initial=np.inf) < farthest)
        if not len(rows):
            return
        columns = _smallest(block[rows], min(k, len(ids)))
        found = np.take_along_axis(block[rows], columns, axis=1)
        distances = np.concatenate([self._distances[first + rows], found], axis=1)
        indices = np.concatenate([self._indices[first + rows], ids[columns]], axis=1)
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        self._distances[first + rows] = np.take_along_axis(distances, order, axis=1)
        self._indices[first + rows] = np.take_along_axis(indices, order, axis=1)

    def neighbors(self) -> Neighbors:
        """The lists; infinite distances stand for neighbours that no pair had."""
        with np.errstate(over="ignore"):
            return Neighbors(self._indices, self._distances, method="exact", recall=1.0)


def _smallest_entries(X: CsrMatrix, k: int, without_diagonal: bool = False) -> Neighbors:
    """The k smallest stored entries of every row."""
    indices, distances = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float64)
    for chunk in row_chunks(X, _CHUNK_DISTANCES):
        part = X[chunk]
        columns, values, ends = part.indices, part.data, part.indptr
        rows = entry_rows(part.indptr)
        if without_diagonal:
            others = rows + chunk.start != columns
            rows, columns, values = rows[others], columns[others], values[others]
        if values.size and not values.min() >= 0:
            raise ValueError(
                f"distances must be numbers of at least 0, X has {values.min()}: mend or drop it"
            )
        counts = np.bincount(rows, minlength=len(ends) - 1)
        if counts.min() < k:
            raise ValueError(
                f"row {chunk.start + counts.argmin()} of the sparse distances has only {counts.min()} "
                f"entries{' besides the diagonal' if without_diagonal else ''}, but {k} are needed: "
                "store more distances, e.g. with kneighbors_graph(mode='distance'), or lower n_neighbors"
            )
        order = np.lexsort((columns, values, rows))
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        chosen = order[firsts[:, None] + np.arange(k)]
        indices[chunk], distances[chunk] = columns[chosen], values[chosen]
    with np.errstate(over="ignore"):
        return Neighbors(indices, distances, method="given", recall=float("nan"))


def _reject_invalid(block: np.ndarray) -> None:
    """Reject negative and NaN distances."""
    valid = block >= 0
    if not valid.all():
        raise ValueError(
            f"All distances must be numbers of at least 0, one is {block[~valid][0]}: mend the metric given "
            "or the matrix (metric='nan_euclidean': leave out rows that have no column in common with others)"
        )


def _smallest(block: np.ndarray, k: int) -> np.ndarray:
    """The columns of each row's k smallest values, ascending; ties go to the smaller column."""
    columns: Any = np.sort(np.argpartition(block, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(block, columns, axis=1)
    tied = np.flatnonzero((block <= values.max(axis=1, keepdims=True)).sum(axis=1) > k)
    columns = np.take_along_axis(columns, np.argsort(values, axis=1, kind="stable"), axis=1)
    columns[tied] = np.argsort(block[tied], axis=1, kind="stable")[:, :k]
    result: np.ndarray = columns
    return result
