"""Set operations on graphs of similarities from 0 to 1, as SciPy CSR matrices.

Weights are degrees of membership in a fuzzy set of edges. Every function returns a new float32 matrix with
ascending ids and without zeros, takes time in proportion to the number of edges, and gives the same bits on
every processor: sums and products are done one by one, powers by ``actup._elementary``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from actup._csr import entry_rows, read_sparse
from actup._elementary import power
from actup._engine import engine
from actup._threads import count_threads
from actup._typing import CsrMatrix

# umap-learn's constants: an edge that one graph lacks counts there as half of the graph's smallest weight,
# within these bounds.
_LEAST_MISSING = 1e-8
_MOST_MISSING = 1e-4

# umap-learn's: a row that is reset has as many effective neighbours, whatever the graph's own number.
_RESET_NEIGHBORS = 15
_RESET_STEPS = 32


def canonical(graph: Any, name: str = "graph") -> CsrMatrix:
    """A square sparse matrix as float32 CSR with ascending ids, without duplicates and zeros."""
    matrix = read_sparse(graph, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} has shape {matrix.shape}, but a graph needs a square matrix")
    result = csr_matrix(matrix, dtype=np.float32)
    if not result.data.all():
        result = result.copy()
        result.eliminate_zeros()
    return result


def fuzzy_union(graph: Any, mix_ratio: float = 1.0) -> CsrMatrix:
    """Make a graph symmetric: from the union p + p' - pp' of both directions (1) to the intersection pp' (0).

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Weights from 0 to 1.
    mix_ratio : float, default=1.0
        The share of the union.
    """
    if not 0 <= mix_ratio <= 1:
        raise ValueError(f"mix_ratio={mix_ratio!r} must be from 0 to 1")
    forth = canonical(graph)
    back = forth.T.tocsr()
    both = forth.multiply(back).tocsr()
    mixed = forth + back - both
    if mix_ratio != 1:
        mixed = np.float32(mix_ratio) * mixed + np.float32(1 - mix_ratio) * both
    return canonical(mixed)


def reset_local_connectivity(
    graph: Any, reset_local_metric: bool = False, threads: int | None = None
) -> CsrMatrix:
    """Give every point with edges a neighbour of weight 1 again, then unite both directions.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Weights from 0 to 1.
    reset_local_metric : bool, default=False
        Whether each row is also raised to the power at which it has 15 effective neighbours, that is, a sum
        of log2(15). Graphs that were combined need it, because products make all weights small.
    threads : int or None, default=None
        None: one per core. It changes no bit.
    """
    matrix = canonical(graph)
    sizes = np.diff(matrix.indptr)
    largest = np.ones(len(sizes), np.float32)
    if matrix.nnz:
        largest[sizes > 0] = np.maximum.reduceat(matrix.data, matrix.indptr[:-1][sizes > 0])
    weights = matrix.data / np.repeat(largest, sizes)
    if reset_local_metric:
        offsets, workers = matrix.indptr.astype(np.int64), count_threads(threads, "threads")
        weights = engine.sharpened_rows(offsets, weights, _RESET_NEIGHBORS, _RESET_STEPS, workers)
    return fuzzy_union(csr_matrix((weights, matrix.indices, matrix.indptr), shape=matrix.shape))


def intersect(
    left: Any,
    right: Any,
    mix_weight: float = 0.5,
    right_complement: bool = False,
    *,
    like_umap_learn: bool = False,
) -> CsrMatrix:
    """The edges of two graphs with the product of their weights, as umap-learn's general intersection.

    An edge that a graph lacks counts there as half of the graph's smallest weight, at least 1e-8 and, in the
    right graph, at most 1e-4. The result is not normalised: see ``reset_local_connectivity``.

    Parameters
    ----------
    left, right : sparse matrix of shape (n, n)
        Weights from 0 to 1.
    mix_weight : float, default=0.5
        The influence of ``right``, from 0 (none) to 1 (``right`` alone).
    right_complement : bool, default=False
        Whether the weights of ``right`` count as their complements 1 - p, so that only the edges of ``left``
        remain, weakened where ``right`` has them too: an edge that ``right`` lacks counts there as 1.
    like_umap_learn : bool, default=False
        Whether such an edge counts as umap-learn has it, as nearly 0: then it is weaker than an edge that
        both graphs have.
    """
    if not 0 <= mix_weight <= 1:
        raise ValueError(f"mix_weight={mix_weight!r} must be from 0 to 1")
    one, other = _pair(left, right)
    rows, columns, of_left, of_right = _merged(one, other, keep_right=not right_complement)
    right_data = 1.0 - other.data.astype(np.float64) if right_complement else other.data
    least_left = _missing_weight(one.data)
    least_right = min(_missing_weight(right_data), _MOST_MISSING)
    p = _take(one.data, of_left, least_left)
    q = _take(right_data, of_right, 1.0 if right_complement and not like_umap_learn else least_right)
    if mix_weight < 0.5:
        product = p * _power(q, mix_weight / (1 - mix_weight))
    else:
        product = _power(p, (1 - mix_weight) / mix_weight) * q
    negligible = (p <= least_left) & (q <= least_right)  # as in umap-learn, these keep the sum
    kept = _take(one.data, of_left, 0.0)
    if not right_complement:
        kept = kept + _take(other.data, of_right, 0.0)
    return _matrix(rows, columns, np.where(negligible, kept, product), one.shape)


def unite(left: Any, right: Any) -> CsrMatrix:
    """The edges of two graphs with the fuzzy union of their weights p + q - pq.

    An edge that a graph lacks counts there as half of the graph's smallest weight, at least 1e-8.
    """
    one, other = _pair(left, right)
    rows, columns, of_left, of_right = _merged(one, other)
    p = _take(one.data, of_left, _missing_weight(one.data))
    q = _take(other.data, of_right, _missing_weight(other.data))
    return _matrix(rows, columns, (p + q) - p * q, one.shape)


def _pair(left: Any, right: Any) -> tuple[CsrMatrix, CsrMatrix]:
    one, other = canonical(left, "left graph"), canonical(right, "right graph")
    if one.shape != other.shape:
        raise ValueError(f"graphs of {one.shape[0]} and {other.shape[0]} points cannot be combined")
    return one, other


def _merged(
    one: CsrMatrix, other: CsrMatrix, keep_right: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Row and column of every edge of either graph, and where it stands in each: -1 if it does not."""
    n = one.shape[0]
    keys = [entry_rows(each.indptr) * n + each.indices for each in (one, other)]
    together = keys[0]
    if keep_right:
        together = np.sort(np.concatenate(keys), kind="stable")  # two ascending runs: linear time
        together = together[np.concatenate([[True], together[1:] != together[:-1]])[: len(together)]]
    places = []
    for own in keys:
        at = np.searchsorted(own, together)
        found = at < len(own)
        found[found] = own[at[found]] == together[found]
        places.append(np.where(found, at, -1))
    return together // max(n, 1), together % max(n, 1), places[0], places[1]


def _missing_weight(data: np.ndarray) -> float:
    """What an edge that a graph lacks counts as."""
    return max(float(data.min()) / 2, _LEAST_MISSING) if len(data) else _LEAST_MISSING


def _take(data: np.ndarray, at: np.ndarray, missing: float) -> np.ndarray:
    values = np.full(len(at), missing)
    values[at >= 0] = data[at[at >= 0]]
    return values


def _power(x: np.ndarray, exponent: float) -> np.ndarray:
    return x if exponent == 1 else power(x, exponent)


def _matrix(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> CsrMatrix:
    """The matrix of edges in ascending order, without those whose weights underflow float32."""
    weights = values.astype(np.float32)
    kept = weights > 0
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=shape[0]))])
    return csr_matrix((weights[kept], columns[kept], offsets), shape=shape)
