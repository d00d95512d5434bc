"""Iterate over rows in chunks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from actup._typing import Rows


def row_chunks(X: Rows, values: int) -> Iterator[slice]:
    """Slices of the rows of ``X``, dense or CSR, that hold about ``values`` values each, or one row."""
    columns = X.nnz // X.shape[0] if sparse.issparse(X) else X.shape[1]
    step = max(1, values // max(1, columns))
    return (slice(begin, begin + step) for begin in range(0, X.shape[0], step))


def row_magnitudes(X: Rows, values: int) -> np.ndarray:
    """The largest absolute value of each row, computed on chunks of ``values`` values: (n,) float64."""

    def of_chunk(rows: Rows) -> np.ndarray:
        largest = abs(rows.astype(np.float64)).max(axis=1)
        dense: np.ndarray = largest.toarray().ravel() if sparse.issparse(rows) else largest
        return dense

    return np.concatenate([of_chunk(X[chunk]) for chunk in row_chunks(X, values)])
