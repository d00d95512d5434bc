"""Rows some at a time, where a copy of all of them would take too much memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse


def row_parts(X, values: int) -> Iterator[slice]:
    """Slices of the rows of ``X``, dense or CSR, that hold about so many values each, or one row."""
    columns = X.nnz // X.shape[0] if sparse.issparse(X) else X.shape[1]
    step = max(1, values // max(1, columns))
    return (slice(begin, begin + step) for begin in range(0, X.shape[0], step))


def largest_of_rows(X, values: int) -> np.ndarray:
    """The largest magnitude of each row, found of so many values at a time."""

    def largest(rows) -> np.ndarray:
        found = abs(rows.astype(np.float64)).max(axis=1)
        return found.toarray().ravel() if sparse.issparse(rows) else found

    return np.concatenate([largest(X[part]) for part in row_parts(X, values)])
