"""Edit distances of many pairs of strings at once."""

from __future__ import annotations

import numpy as np

_CHUNK_PAIRS = 65_536  # of strings, that are compared at a time


def edit_distances(texts: list[str], left: np.ndarray, right: np.ndarray, most: int) -> np.ndarray:
    """How many insertions, deletions and replacements turn one text into another; ``most`` if more.

    Parameters
    ----------
    texts : list of str
    left, right : ndarray of shape (pairs,)
        Positions in ``texts``.
    most : int
        Distances are counted up to here, in time proportional to it.

    Returns
    -------
    ndarray of shape (pairs,), int64
    """
    lengths = np.array([len(text) for text in texts], np.int64)
    letters = np.zeros((len(texts), int(lengths.max(initial=0))), np.int32)
    for row, text in enumerate(texts):
        letters[row, : len(text)] = [ord(letter) for letter in text]
    result = np.empty(len(left), np.int64)
    for begin in range(0, len(left), _CHUNK_PAIRS):
        chunk = slice(begin, begin + _CHUNK_PAIRS)
        a, b = left[chunk], right[chunk]
        result[chunk] = _edit_distances(letters[a], lengths[a], letters[b], lengths[b], most)
    return result


def _edit_distances(
    a: np.ndarray, a_lengths: np.ndarray, b: np.ndarray, b_lengths: np.ndarray, most: int
) -> np.ndarray:
    """The distances of texts in padded rows of letters, from the cells within ``most`` of the diagonal."""
    pairs, width = a.shape
    beyond = most + 1
    # before[:, j]: the distance between the first i letters of a and the first j of b; it grows with |i - j|.
    before = np.minimum(np.arange(width + 1), beyond) * np.ones((pairs, 1), np.int64)
    result = np.where(a_lengths == 0, np.minimum(b_lengths, most), most)
    for i in range(1, int(a_lengths.max(initial=0)) + 1):
        row = np.full_like(before, beyond)
        row[:, 0] = min(i, beyond)
        for j in range(max(1, i - most), min(width, i + most) + 1):
            replaced = before[:, j - 1] + (a[:, i - 1] != b[:, j - 1])
            row[:, j] = np.minimum(replaced, np.minimum(before[:, j], row[:, j - 1]) + 1)
        ends = np.flatnonzero(a_lengths == i)
        result[ends] = np.minimum(row[ends, b_lengths[ends]], most)
        before = row
    return result
