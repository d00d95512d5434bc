"""row_parts(): rows some at a time, where a copy of all of them would take too much memory."""

from __future__ import annotations

from collections.abc import Iterator

from scipy import sparse


def row_parts(X, values: int) -> Iterator[slice]:
    """Slices of the rows of ``X``, dense or CSR, that hold about so many values each, or one row."""
    columns = X.nnz // X.shape[0] if sparse.issparse(X) else X.shape[1]
    step = max(1, values // max(1, columns))
    return (slice(begin, begin + step) for begin in range(0, X.shape[0], step))
