"""``umap.utils``: small helpers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from actup._csr import read_sparse
from actup._typing import CsrMatrix

__all__ = ["average_nn_distance", "csr_unique", "disconnected_vertices", "fast_knn_indices", "submatrix"]

_32_BITS = 0xFFFFFFFF


def fast_knn_indices(X: np.ndarray, n_neighbors: int) -> np.ndarray:
    """The columns of the smallest values of every row, smallest first.

    Parameters
    ----------
    X : ndarray of shape (n, m)
    n_neighbors : int

    Returns
    -------
    ndarray of shape (n, n_neighbors), int32

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.utils import fast_knn_indices
    >>> fast_knn_indices(np.array([[0.0, 2.0, 1.0]]), 2).tolist()
    [[0, 2]]
    """
    return np.argsort(X, axis=1, kind="stable")[:, :n_neighbors].astype(np.int32)


def submatrix(dmat: np.ndarray, indices_col: np.ndarray, n_neighbors: int) -> np.ndarray:
    """The values of a matrix in some columns, other ones in every row.

    Parameters
    ----------
    dmat : ndarray of shape (n, m)
    indices_col : ndarray of shape (n, k), int
    n_neighbors : int
        How many columns of ``indices_col`` to use.

    Returns
    -------
    ndarray of shape (n, n_neighbors)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.utils import submatrix
    >>> submatrix(np.array([[0.0, 2.0, 1.0]]), np.array([[2, 0]]), 2).tolist()
    [[1.0, 0.0]]
    """
    return np.take_along_axis(dmat, indices_col[:, :n_neighbors], axis=1)


def csr_unique(
    matrix: CsrMatrix, return_index: bool = True, return_inverse: bool = True, return_counts: bool = True
) -> tuple[np.ndarray, ...]:
    """Which rows of a sparse matrix are distinct, as ``numpy.unique`` says it without the rows themselves.

    Parameters
    ----------
    matrix : CSR matrix of shape (n, columns)
    return_index, return_inverse, return_counts : bool, default=True
        Which of the three arrays to return.

    Returns
    -------
    tuple of ndarray
        The first row of every kind, the kind of every row, the number of rows of every kind.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.utils import csr_unique
    >>> index, inverse, counts = csr_unique(csr_matrix([[1.0, 0], [0, 2.0], [1.0, 0]]))
    >>> counts[inverse].tolist()
    [2, 1, 2]
    """
    rows = read_sparse(matrix, "matrix").copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    keys = np.empty(rows.shape[0], object)
    for row, (begin, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        keys[row] = (*rows.indices[begin:end].tolist(), *rows.data[begin:end].tolist())
    _, index, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    wanted = ((return_index, index), (return_inverse, inverse.ravel()), (return_counts, counts))
    return tuple(array for is_wanted, array in wanted if is_wanted)


def disconnected_vertices(model: Any) -> np.ndarray:
    """Which rows of a fitted model have no neighbour in its graph.

    Parameters
    ----------
    model : UMAP

    Returns
    -------
    ndarray of shape (n_samples,), bool

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup.compat.umap import UMAP
    >>> from actup.compat.umap.utils import disconnected_vertices
    >>> model = UMAP(n_epochs=0, random_state=0).fit(load_digits().data[:100])
    >>> bool(disconnected_vertices(model).any())
    False
    """
    check_is_fitted(model)
    has_no_edge = np.asarray(model.graph_.sum(axis=1)).ravel() == 0
    inverse = getattr(model, "_unique_inverse_", None) if getattr(model, "unique", False) else None
    if inverse is None or len(has_no_edge) == len(model.embedding_):
        return np.asarray(has_no_edge)
    return np.asarray(has_no_edge[inverse])


def average_nn_distance(dist_matrix: CsrMatrix) -> np.ndarray:
    """The mean of the stored values of every row, such as distances to neighbours.

    Parameters
    ----------
    dist_matrix : sparse matrix of shape (n, m)

    Returns
    -------
    ndarray of shape (n,)
        NaN for a row without values.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.utils import average_nn_distance
    >>> average_nn_distance(csr_matrix([[0, 1.0, 2.0], [3.0, 0, 0]])).tolist()
    [1.5, 3.0]
    """
    matrix = read_sparse(dist_matrix, "dist_matrix").copy()
    matrix.eliminate_zeros()
    counts = np.diff(matrix.indptr)
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))


def ts() -> str:
    """The time of day, as umap-learn prints it."""
    return time.ctime(time.time())


def norm(vec: np.ndarray) -> float:
    """The Euclidean length of a vector."""
    return float(np.sqrt((np.asarray(vec) ** 2).sum()))


def tau_rand_int(state: np.ndarray) -> int:
    """The next 32 random bits of a Tausworthe generator, as a signed integer; the state is advanced."""
    # (bits kept, their shift, the shifts that mix the others in) of the three registers
    for register, (mask, left, mix_left, mix_right) in enumerate(
        ((0xFFFFFFFE, 12, 13, 19), (0xFFFFFFF8, 4, 2, 25), (0xFFFFFFF0, 17, 3, 11))
    ):
        value = int(state[register])
        kept = ((value & mask) << left) & _32_BITS
        state[register] = kept ^ ((((value << mix_left) & _32_BITS) ^ value) >> mix_right)
    bits = (int(state[0]) ^ int(state[1]) ^ int(state[2])) & _32_BITS
    return bits - 2**32 if bits >= 2**31 else bits


def tau_rand(state: np.ndarray) -> float:
    """A random number from 0 to 1; the state is advanced."""
    return abs(tau_rand_int(state) / 0x7FFFFFFF)
