"""Warn of columns that a map would show little else than: row numbers, and columns in other units."""

from __future__ import annotations

import numpy as np

from actup._cli.chosen import Chosen
from actup._cli.reporting import complain
from actup._cli.unusable_columns import as_option

_LARGEST_SHARE = 0.9  # of the total variance, in one column
_MIN_ROWS = 10  # fewer may ascend by chance
_MIN_COLUMNS = 2
_VALUES_LOOKED_AT = 4_000_000  # in evenly spaced rows
# Metrics in which a column counts by the size of its numbers.
_METRICS_OF_UNITS = (
    "euclidean", "l2", "sqeuclidean", "nan_euclidean", "manhattan", "l1", "cityblock", "chebyshev",
    "minkowski", "cosine",
)  # fmt: skip


def warn_of_dominant_columns(chosen: Chosen, metric: str) -> None:
    """Print a line for the first column that counts the rows, or else for one with most of the variance."""
    X = chosen.X
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "iuf" or metric not in _METRICS_OF_UNITS:
        return
    if len(X) < _MIN_ROWS or X.shape[1] < _MIN_COLUMNS:
        return
    count = max(_MIN_ROWS, _VALUES_LOOKED_AT // X.shape[1])
    looked_at = np.asarray(X[:: -(-len(X) // count)], np.float64)
    for column in np.flatnonzero((np.diff(looked_at, axis=0) > 0).all(axis=0)):
        if _counts_rows(X[:, column]):
            name = chosen.names[column]
            complain(
                f"warning: column {name!r} numbers the rows, and the map shows it like any other: leave it "
                f"out with {as_option('--exclude', [name])}"
            )
            return
    variances = np.zeros(X.shape[1])
    known = ~np.isnan(looked_at).all(axis=0)
    variances[known] = np.nanvar(looked_at[:, known], axis=0)
    largest = int(variances.argmax())
    share = variances[largest] / max(variances.sum(), np.finfo(float).tiny)
    if share > _LARGEST_SHARE:
        name = chosen.names[largest]
        complain(
            f"warning: column {name!r} has {100 * share:.0f} % of the total variance, and the map shows "
            f"little else: give --scale standard, or leave it out with {as_option('--exclude', [name])}"
        )


def _counts_rows(values: np.ndarray) -> bool:
    """Whether values are whole numbers that ascend from row to row."""
    return bool((np.diff(values) > 0).all() and (values == np.round(values)).all())
