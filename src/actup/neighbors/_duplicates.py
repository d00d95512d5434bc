"""Deduplicate rows before an approximate search: duplicates share the neighbours of their representative.

An approximate search puts most clusters where most rows are. Where nearly all rows are duplicates of a
few, hardly any clusters would be left to tell the others apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from actup._typing import Rows
from actup.neighbors._chunks import row_chunks

_SAMPLE_ROWS = 1024  # enough to meet two duplicates, if most rows are duplicates
_SAMPLE_BYTES = 2048  # of each sampled row
_CHUNK_VALUES = 2**18
_MAX_KEPT_SHARE = 0.25  # if more rows than this remain, a search of all rows does as well


@dataclass(frozen=True)
class Deduplicated:
    """The rows that are searched, and which of them stands for each row.

    Attributes
    ----------
    kept : ndarray of int32
        Ids of the rows that are searched, ascending: the first k + 1 duplicates of each row.
    representative : ndarray of shape (n,), int32
        For every row the position in ``kept`` of itself or of a duplicate. Both have the same neighbours,
        because enough duplicates are kept to fill a list of k.
    """

    kept: np.ndarray
    representative: np.ndarray


def deduplicate(X: Rows, k: int) -> Deduplicated | None:
    """Drop all but k + 1 duplicates of each row of ``X``; None if too few rows would be dropped.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous, or canonical CSR matrix
    k : int
        The number of neighbours to search.
    """
    n = X.shape[0]
    sample = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE_ROWS)).astype(np.int64))
    if len(np.unique(_row_hashes(_middle_columns(X)[sample]))) == len(sample):
        return None  # if most rows were duplicates, two of the sample would be equal
    hashes = np.concatenate([_row_hashes(X[chunk]) for chunk in row_chunks(X, _CHUNK_VALUES)])
    order = np.argsort(hashes, kind="stable")  # duplicates side by side, by id
    begins = np.flatnonzero(np.concatenate([[True], np.diff(hashes[order]) != 0]))
    sizes = np.diff(np.append(begins, n))
    rank = np.arange(n) - np.repeat(begins, sizes)
    if np.count_nonzero(rank <= k) > _MAX_KEPT_SHARE * n:
        return None
    if not _all_equal(X, order, np.repeat(order[begins], sizes)):
        return None  # two different rows share a hash
    representative = np.empty(n, np.int64)
    representative[order] = order[np.repeat(begins, sizes) + np.minimum(rank, k)]
    kept = np.unique(representative)
    return Deduplicated(kept.astype(np.int32), np.searchsorted(kept, representative).astype(np.int32))


def _all_equal(X: Rows, rows: np.ndarray, others: np.ndarray) -> bool:
    for chunk in row_chunks(X, _CHUNK_VALUES):
        part, other = X[rows[chunk]], X[others[chunk]]
        unequal = (part != other).nnz if sparse.issparse(X) else np.count_nonzero(part != other)
        if unequal:
            return False
    return True


def _middle_columns(X: Rows) -> Rows:
    """The middle columns of dense rows: the first and last columns of images are often equal."""
    width = _SAMPLE_BYTES // X.dtype.itemsize
    if sparse.issparse(X) or width >= X.shape[1]:
        return X
    begin = (X.shape[1] - width) // 2
    return X[:, begin : begin + width]


def _row_hashes(rows: Rows) -> np.ndarray:
    """A hash of the bytes of each row: (n,) uint64."""
    hashes: np.ndarray
    if sparse.issparse(rows):
        words = _mix_bits(rows.data.view(f"u{rows.data.itemsize}").astype(np.uint64))
        words = _mix_bits(words ^ rows.indices.astype(np.uint64))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        hashes = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
        return hashes
    octets = np.ascontiguousarray(rows.reshape(len(rows), -1)).view(np.uint8)
    padded = np.zeros((len(rows), -(-octets.shape[1] // 8) * 8), np.uint8)
    padded[:, : octets.shape[1]] = octets
    words = padded.view(np.uint64)
    salts = np.random.default_rng(words.shape[1]).integers(2**63, size=words.shape[1], dtype=np.uint64)
    hashes = _mix_bits(words ^ salts).sum(axis=1, dtype=np.uint64)
    return hashes


def _mix_bits(words: np.ndarray) -> np.ndarray:
    """Spread every bit of each 64-bit word over the whole word."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed: np.ndarray = words ^ (words >> np.uint64(32))
    return mixed


def distinct_rows(X: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The first of all equal rows, and which of them each row equals.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous, or canonical CSR matrix

    Returns
    -------
    kept : ndarray of int64
        Ids of rows of which no two are equal, ascending.
    inverse : ndarray of shape (n,), int64
        The position in ``kept`` of the row that equals each row.
    """
    hashes = _hashes_of_equal_values(X)
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.concatenate([[True], np.diff(hashes[order]) != 0]))
    first = np.empty(len(order), np.int64)
    first[order] = np.repeat(order[begins], np.diff(np.append(begins, len(order))))
    if not _all_equal(X, np.arange(len(first)), first):  # two different rows share a hash
        rows = X.toarray() if sparse.issparse(X) else X
        _, kept, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        first = kept[inverse.ravel()]
    kept = np.unique(first)
    return kept, np.searchsorted(kept, first)


def count_duplicates(X: Any) -> int | None:
    """How many rows equal an earlier one, judged by hashes of X as a caller gives it.

    None if X is no array of numbers or CSR matrix, or if memory runs out.
    """
    is_csr = sparse.issparse(X) and X.format == "csr"
    if not is_csr and not (isinstance(X, np.ndarray) and X.ndim == 2):
        return None
    if X.dtype.kind not in "biuf" or X.dtype.itemsize > 8 or 0 in X.shape:
        return None
    try:
        hashes = _hashes_of_equal_values(X)
        return len(hashes) - len(np.unique(hashes))
    except MemoryError:
        return None


def _hashes_of_equal_values(X: Rows) -> np.ndarray:
    """Hashes of rows that are the same for -0 and 0: (n,) uint64."""
    parts = (X[chunk] for chunk in row_chunks(X, _CHUNK_VALUES))
    return np.concatenate([_row_hashes(rows + 0 if X.dtype.kind == "f" else rows) for rows in parts])


class RowLookup:
    """Finds rows among stored ones by their values: -0 equals 0, and NaN equals NaN.

    Parameters
    ----------
    rows : ndarray of shape (n, columns), C-contiguous, or canonical CSR matrix
    """

    def __init__(self, rows: Rows):
        self._rows = rows
        hashes = _value_hashes(rows)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def first_equal(self, rows: Rows) -> np.ndarray:
        """The number of the first stored row that equals each row; -1 where there is none.

        Parameters
        ----------
        rows : ndarray or CSR matrix of shape (m, columns)
            Of the kind of the stored rows: dense, or CSR.

        Returns
        -------
        ndarray of shape (m,), int64
        """
        with np.errstate(over="ignore", invalid="ignore"):  # a value that changes equals no stored one
            hashes = _value_hashes(rows.astype(self._rows.dtype, copy=False))
        candidates = self._order[np.minimum(np.searchsorted(self._hashes, hashes), len(self._order) - 1)]
        chunks = row_chunks(rows, _CHUNK_VALUES)
        equal = [equal_rows(rows[chunk], self._rows[candidates[chunk]]) for chunk in chunks]
        return np.where(np.concatenate(equal), candidates, -1)


def _value_hashes(rows: Rows) -> np.ndarray:
    """A hash of each row that equal rows share."""

    def canonical(values: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(values), np.nan, values + 0).astype(values.dtype)

    hashes = []
    for chunk in row_chunks(rows, _CHUNK_VALUES):
        part = rows[chunk]
        if part.dtype.kind == "f" and sparse.issparse(part):
            part = type(part)((canonical(part.data), part.indices, part.indptr), shape=part.shape)
        elif part.dtype.kind == "f":
            part = canonical(part)
        hashes.append(_row_hashes(part))
    return np.concatenate(hashes)


def equal_rows(rows: Rows, others: Rows) -> np.ndarray:
    """Which rows have the same values as those of the same number among others, NaN included: (n,) bool."""
    unequal = rows != others
    if sparse.issparse(rows):
        return np.asarray(np.diff(unequal.tocsr().indptr) == 0)
    return np.asarray(~(unequal & ~((rows != rows) & (others != others))).any(axis=1))
