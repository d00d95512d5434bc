"""Rows that come many times: they are searched as a few, and all others share what those find.

An approximate search spends itself on whatever most rows are. Where nearly all are copies of some, few
clusters would be left to tell the others apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from actup.neighbors._chunks import row_parts

_SAMPLED_ROWS, _SAMPLED_BYTES = 1024, 2048  # enough to meet copies, if most rows are some
_VALUES_AT_ONCE = 2**18
_KEPT = 0.25  # of the rows: where more are left it is not worth a copy of them


@dataclass(frozen=True)
class FewRows:
    """Some of the rows that stand for all.

    Attributes
    ----------
    kept : ndarray of int32
        Ids of the rows that are searched, ascending: the first copies of each row.
    stands_for : ndarray of shape (n,), int32
        For every row the place in ``kept`` of itself or of an equal row. The nearest others of that one are
        those of the row as well, because among them are all copies that could be.
    """

    kept: np.ndarray
    stands_for: np.ndarray


def few_rows(X, k: int) -> FewRows | None:
    """The rows of ``X`` without more than k + 1 copies of each; None unless that leaves out most of them.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous, or canonical CSR matrix
    k : int
        How many neighbours are searched.
    """
    n = X.shape[0]
    sample = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED_ROWS)).astype(np.int64))
    if len(np.unique(_hashes(_middle(X)[sample]))) == len(sample):
        return None  # if most rows were copies, two of these would be equal
    hashes = np.concatenate([_hashes(X[part]) for part in row_parts(X, _VALUES_AT_ONCE)])
    order = np.argsort(hashes, kind="stable")  # copies one after the other, by id
    begins = np.flatnonzero(np.concatenate([[True], np.diff(hashes[order]) != 0]))
    sizes = np.diff(np.append(begins, n))
    rank = np.arange(n) - np.repeat(begins, sizes)
    if np.count_nonzero(rank <= k) > _KEPT * n:
        return None
    if not _all_equal(X, order, np.repeat(order[begins], sizes)):
        return None  # a hash that two rows share; then nothing is left out
    representative = np.empty(n, np.int64)
    representative[order] = order[np.repeat(begins, sizes) + np.minimum(rank, k)]
    kept = np.unique(representative)
    return FewRows(kept.astype(np.int32), np.searchsorted(kept, representative).astype(np.int32))


def _all_equal(X, rows: np.ndarray, others: np.ndarray) -> bool:
    for at in row_parts(X, _VALUES_AT_ONCE):
        part, other = X[rows[at]], X[others[at]]
        unequal = (part != other).nnz if sparse.issparse(X) else np.count_nonzero(part != other)
        if unequal:
            return False
    return True


def _middle(X):
    """Some columns of dense rows: the first and last ones of images are often equal."""
    width = _SAMPLED_BYTES // X.dtype.itemsize
    if sparse.issparse(X) or width >= X.shape[1]:
        return X
    begin = (X.shape[1] - width) // 2
    return X[:, begin : begin + width]


def _hashes(rows) -> np.ndarray:
    """A number for each row, the same for rows of the same bytes: (n,) uint64."""
    if sparse.issparse(rows):
        words = _mixed(rows.data.view(f"u{rows.data.itemsize}").astype(np.uint64))
        words = _mixed(words ^ rows.indices.astype(np.uint64))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    octets = rows.reshape(len(rows), -1).view(np.uint8)
    padded = np.zeros((len(rows), -(-octets.shape[1] // 8) * 8), np.uint8)
    padded[:, : octets.shape[1]] = octets
    words = padded.view(np.uint64)
    places = np.random.default_rng(words.shape[1]).integers(2**63, size=words.shape[1], dtype=np.uint64)
    return _mixed(words ^ places).sum(axis=1, dtype=np.uint64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Spreads every bit of a word over all of it."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return words ^ (words >> np.uint64(32))
