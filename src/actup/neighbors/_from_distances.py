"""Neighbours from distances that somebody else computes: scikit-learn, a function, or the caller."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from scipy import sparse

from actup.graph._records import Neighbors
from actup.neighbors._chunks import row_parts
from actup.neighbors._comparison import check_weights
from actup.neighbors._numpy_metrics import SPECIAL, blocks, check_special

_QUERIES_AT_ONCE, _DISTANCES_AT_ONCE = 32, 2**20


def check_count(n_neighbors, n_samples: int, itself: bool = True) -> int:
    """``n_neighbors`` if there are so many points; ``itself``: besides the one whose neighbours they are."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, numbers.Integral):
        raise TypeError(f"n_neighbors={n_neighbors!r} must be an integer")
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1")
    if not itself and n_neighbors > n_samples:
        raise ValueError(f"n_neighbors={n_neighbors} is too many: X has {n_samples} rows")
    if itself and n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} samples, got {n_samples}"
        )
    return int(n_neighbors)


def refuse_overflow(neighbors: Neighbors) -> Neighbors:
    if not np.isfinite(neighbors.distances).all():
        raise ValueError(
            "distances between rows of X are too large for float32: divide X by its largest value"
        )
    return neighbors


def check_by_metric(X, metric: str | Callable, parameters: Mapping | None) -> None:
    """Refuse rows and parameters that a metric, other than those of the engine, cannot take."""
    if sparse.issparse(X) and not callable(metric):
        power = f", p={parameters['p']}," if metric == "minkowski" else ""
        raise ValueError(
            f"metric={metric!r}{power} has no form for sparse X: use X.toarray(), or metric='euclidean', "
            "'cosine', 'manhattan' or another one"
        )
    if metric in SPECIAL:
        refuse_parameters(metric, parameters)
    elif metric == "minkowski":
        check_weights(parameters, X.shape[1])
    elif parameters and not callable(metric):
        from sklearn.metrics import pairwise_distances

        try:
            pairwise_distances(X[:1].astype(np.float64), metric=metric, **parameters)
        except TypeError as error:
            raise TypeError(
                f"metric_kwds={dict(parameters)!r} do not suit metric={metric!r}: {error}"
            ) from error


def refuse_parameters(metric: str, parameters: Mapping | None) -> None:
    if parameters:
        raise ValueError(f"metric_kwds={dict(parameters)!r}: metric={metric!r} has no parameters")


def neighbors_by_metric(
    X, n_neighbors: int, metric: str | Callable, parameters: Mapping | None, threads: int
) -> Neighbors:
    """Neighbours in a metric that scikit-learn or a function computes, block of rows by block of rows."""
    from sklearn.metrics import pairwise_distances, pairwise_distances_chunked

    k = check_count(n_neighbors, X.shape[0])
    check_by_metric(X, metric, parameters)
    if metric in SPECIAL:
        return refuse_overflow(_collect(blocks(X, metric), X.shape[0], k))
    if callable(metric):
        X = _in_floats(X)
        rows = max(1, _DISTANCES_AT_ONCE // X.shape[0])
        compare = partial(pairwise_distances, metric=metric, n_jobs=threads, **(parameters or {}))
        # Of X with itself scikit-learn would compute one half only, as if every function were symmetric.
        parts = (compare(X[begin : begin + rows], X) for begin in range(0, X.shape[0], rows))
        return refuse_overflow(_collect(parts, X.shape[0], k))
    X, unit = _near_one(X, metric)
    parts = pairwise_distances_chunked(
        X, metric=metric, n_jobs=threads, working_memory=128, **(parameters or {})
    )  # MiB
    return refuse_overflow(_in_units(_collect(parts, X.shape[0], k), unit))


def neighbors_from_distances(X, n_neighbors: int) -> Neighbors:
    """Neighbours from a square matrix of distances; its diagonal plays no part.

    Of a sparse matrix only the stored entries are known, zeros among them; it needs ``n_neighbors`` of them
    in every row besides the diagonal.
    """
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"metric='precomputed' needs a square matrix of distances, got shape {X.shape}")
    k = check_count(n_neighbors, X.shape[0])
    if sparse.issparse(X):
        return refuse_overflow(_smallest_entries(X, k, without_diagonal=True))
    rows = max(1, _DISTANCES_AT_ONCE // len(X))
    parts = (X[begin : begin + rows].astype(np.float64) for begin in range(0, len(X), rows))
    return refuse_overflow(_collect(parts, len(X), k))


def query_by_metric(
    X, X_new, n_neighbors: int, metric: str | Callable, parameters: Mapping | None, threads: int
) -> Neighbors:
    """The rows of X nearest to those of X_new in a metric that scikit-learn or a function computes.

    Row by row: a matrix product over several rows may round each of them differently. A row that equals its
    nearest one is at distance 0 from it, whatever the rounding, unless a function says otherwise.
    """
    from sklearn.metrics import pairwise_distances

    k = check_count(n_neighbors, X.shape[0], itself=False)
    unit = 1.0
    if metric in SPECIAL:
        X, X_new = (check_special(rows, metric) for rows in (X, X_new))
        distances = SPECIAL[metric]
    else:
        if callable(metric):
            X, X_new = _in_floats(X), _in_floats(X_new)
        X, unit = _near_one(X, metric)
        X_new = X_new if callable(metric) else X_new.astype(np.float64) / unit
        distances = partial(pairwise_distances, metric=metric, **(parameters or {}))

    def some(begin: int) -> Neighbors:
        rows = range(begin, min(begin + _QUERIES_AT_ONCE, X_new.shape[0]))
        return _nearest_columns((distances(X_new[row : row + 1], X) for row in rows), k)

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(some, range(0, X_new.shape[0], _QUERIES_AT_ONCE)))
    found = Neighbors(
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.distances for part in parts]),
        engine="exact",
        recall=1.0,
    )
    if not callable(metric):
        found.distances[(X[found.indices[:, 0]] == X_new).all(axis=1), 0] = 0
    return refuse_overflow(_in_units(found, unit))


def _in_floats(X):
    """Rows for a function of two rows: differences of short integers would wrap around."""
    if X.dtype.kind in "fc" and X.dtype != np.float16:
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def _near_one(X, metric: str | Callable):
    """Rows over a power of two, and that: high powers of values far from 1 leave the range of floats."""
    if callable(metric):
        return X, 1.0
    X = X.astype(np.float64, copy=False)  # scikit-learn would lose digits of others
    if metric != "minkowski":
        return X, 1.0
    unit = 2.0 ** np.ceil(np.log2(np.abs(X).max() or 1.0))
    return X / unit, unit


def _in_units(found: Neighbors, unit: float) -> Neighbors:
    return (
        found if unit == 1 else Neighbors(found.indices, found.distances * unit, found.engine, found.recall)
    )


def query_distances(X_new, n_neighbors: int) -> Neighbors:
    """The nearest columns of every row of a matrix of distances from new rows, dense or sparse."""
    k = check_count(n_neighbors, X_new.shape[1], itself=False)
    if sparse.issparse(X_new):
        return refuse_overflow(_smallest_entries(X_new, k))
    rows = max(1, _DISTANCES_AT_ONCE // X_new.shape[1])
    parts = (X_new[begin : begin + rows].astype(np.float64) for begin in range(0, len(X_new), rows))
    return refuse_overflow(_nearest_columns(parts, k))


def _nearest_columns(blocks: Iterator[np.ndarray], k: int) -> Neighbors:
    """The k smallest of every row, from consecutive blocks of rows of distances."""
    indices, distances = [], []
    for block in blocks:
        _refuse_wrong(block)
        indices.append(_smallest(block, k))
        distances.append(np.take_along_axis(block, indices[-1], axis=1))
    with np.errstate(over="ignore"):
        return Neighbors(np.concatenate(indices), np.concatenate(distances), engine="exact", recall=1.0)


def _smallest_entries(X, k: int, without_diagonal: bool = False) -> Neighbors:
    """The k smallest stored entries of every row, some rows at a time."""
    indices, distances = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float64)
    for part in row_parts(X, _DISTANCES_AT_ONCE):
        some = X[part]
        columns, values, ends = some.indices, some.data, some.indptr
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        if without_diagonal:
            others = rows + part.start != columns
            rows, columns, values = rows[others], columns[others], values[others]
        if values.size and not values.min() >= 0:
            raise ValueError(
                f"distances must be numbers of at least 0, X has {values.min()}: mend or drop it"
            )
        counts = np.bincount(rows, minlength=len(ends) - 1)
        if counts.min() < k:
            raise ValueError(
                f"n_neighbors={k}, but row {part.start + counts.argmin()} of the sparse distances has only "
                f"{counts.min()} entries{' besides the diagonal' if without_diagonal else ''}: store more "
                "distances, e.g. with kneighbors_graph(mode='distance')"
            )
        order = np.lexsort((columns, values, rows))
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        chosen = order[firsts[:, None] + np.arange(k)]
        indices[part], distances[part] = columns[chosen], values[chosen]
    with np.errstate(over="ignore"):
        return Neighbors(indices, distances, engine="given", recall=float("nan"))


def _collect(blocks: Iterator[np.ndarray], n_samples: int, k: int) -> Neighbors:
    """The k nearest others, from consecutive blocks of rows of the distance matrix; overwrites them."""
    indices = np.empty((n_samples, k), np.int32)
    distances = np.empty((n_samples, k), np.float32)
    begin = 0
    for block in blocks:
        rows = slice(begin, begin + len(block))
        block[np.arange(len(block)), np.arange(n_samples)[rows]] = np.inf
        _refuse_wrong(block)
        indices[rows] = _smallest(block, k)
        with np.errstate(over="ignore"):
            distances[rows] = np.take_along_axis(block, indices[rows], axis=1)
        begin += len(block)
    return Neighbors(indices, distances, engine="exact", recall=1.0)


def _refuse_wrong(block: np.ndarray) -> None:
    right = block >= 0
    if not right.all():
        raise ValueError(
            f"distances must be numbers of at least 0, one is {block[~right][0]}: mend the metric or matrix "
            "(metric='nan_euclidean': leave out rows that have no column in common with others)"
        )


def _smallest(block: np.ndarray, k: int) -> np.ndarray:
    """The columns of each row's k smallest values, ascending; ties go to the smaller column."""
    columns = np.sort(np.argpartition(block, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(block, columns, axis=1)
    tied = np.flatnonzero((block <= values.max(axis=1, keepdims=True)).sum(axis=1) > k)
    columns = np.take_along_axis(columns, np.argsort(values, axis=1, kind="stable"), axis=1)
    columns[tied] = np.argsort(block[tied], axis=1, kind="stable")[:, :k]
    return columns
