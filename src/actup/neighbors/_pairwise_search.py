"""Exact search in metrics that the engine does not compute: those of NumPy, scikit-learn, or a function."""

from __future__ import annotations

import math
import reprlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from actup._errors import WrongType
from actup._reporting import announced_if_long, report
from actup._threads import map_in_threads
from actup._typing import Rows
from actup.graph._records import Neighbors
from actup.neighbors._comparison import Parameters, check_weights, no_sparse_form
from actup.neighbors._distance_lists import NearestLists, nearest_columns, nearest_others, reject_overflow
from actup.neighbors._metrics import Metric, NegativeValues, record_of

# Distances are computed in tiles, each in one thread. A tile takes less than about 0.1 s, so that Ctrl-C and
# the progress bar do not wait longer. Its size never depends on the clock where that could change a bit.
_MAX_EXPONENT = 1023  # of powers of two that float64 holds
_TILE_VALUES = 2**21  # pairs of rows times columns
_BLOCK_DISTANCES = 2**22  # of one row of tiles, which are in memory at once
_FUNCTION_TILE_SECONDS = 0.05  # tiles of a Python function, whose distances do not depend on the tile
_MAX_FUNCTION_TILE_PAIRS = 2**16
_SYMMETRY_SAMPLE = 5  # rows whose pairs are compared both ways, to see whether a function is symmetric
_MAX_ASYMMETRY = 1e-6  # of a distance: two ways that differ less do so by rounding

Distances = Callable[..., np.ndarray]


class PairwiseSearch:
    """Search points by comparing all of them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, columns)
    metric : str or callable
        A canonical metric that the engine does not compute.
    parameters : mapping or None
    threads : int
    """

    def __init__(
        self, X: Rows, metric: str | Callable[..., float], parameters: Parameters | None, threads: int
    ):
        self._metric = metric
        self._parameters = dict(parameters or {})
        self._threads = threads
        self._record = record_of(metric)
        if self._record is not None and self._record.numpy is None:
            self._record = None  # SciPy computes high powers of "minkowski"
        self._check(X)
        self._X = X

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest other points of every point."""
        X, _, unit, compare = self._inputs(self._X)
        n = X.shape[0]
        with announced_if_long(comparing_all(n, n, self._metric), remedies(self._metric)):
            if callable(self._metric) and _is_symmetric(compare, X):
                found = self._each_pair_once(compare, X, k)
            else:
                found = nearest_others(self._blocks(compare, X, X), n, k)
        return reject_overflow(_scale_distances(found, unit))

    def _each_pair_once(self, compare: Distances, X: Rows, k: int) -> Neighbors:
        """The k nearest others of every point by a symmetric function, which is called once for each pair."""
        n, tile = X.shape[0], _function_tile(compare, X, X)
        lists = NearestLists(n, k)
        for begin, block in _upper_blocks(compare, X, tile[0] * tile[1], self._threads):
            end = begin + len(block)
            block[np.arange(len(block)), np.arange(len(block))] = np.inf  # not its own neighbour
            lists.add(begin, np.arange(begin, n), block)
            if end < n:
                lists.add(end, np.arange(begin, end), block[:, len(block) :].T)
        return lists.neighbors()

    def query(self, rows: Rows, k: int) -> Neighbors:
        """The k nearest points of every row.

        Rows are compared one by one, because a matrix product over several rows may round each of them
        differently. A row that equals its nearest point is at distance 0 from it, whatever the rounding,
        unless a function says otherwise.
        """
        X, queries, unit, compare = self._inputs(rows)

        def compare_singly(rows: Rows, points: Rows) -> np.ndarray:
            return np.concatenate([compare(rows[row : row + 1], points) for row in range(rows.shape[0])])

        what = comparing_all(queries.shape[0], X.shape[0], self._metric)
        with announced_if_long(what, remedies(self._metric, is_query=True)):
            found = nearest_columns(self._blocks(compare_singly, queries, X), k)
        if not callable(self._metric):
            found.distances[(X[found.indices[:, 0]] == queries).all(axis=1), 0] = 0
        return reject_overflow(_scale_distances(found, unit))

    def _inputs(self, rows: Rows) -> tuple[Rows, Rows, float, Distances]:
        """Points, the rows to compare with them, their unit, and the function that compares them."""
        if self._record is not None:
            assert self._record.numpy is not None
            X = check_values(self._X, self._record)
            return X, X if rows is self._X else check_values(rows, self._record), 1.0, self._record.numpy
        if callable(self._metric):
            X, queries = _float_rows(self._X), _float_rows(rows)
            function = on_private_rows(self._metric, queries, X)
            # Rows are checked already, and the caller may have allowed missing values.
            compare = partial(self._distance_function(), metric=function, ensure_all_finite=False)
            return X, queries, 1.0, compare
        X, unit = _scaled_near_one(self._X, self._metric)
        return X, X if rows is self._X else rows.astype(np.float64) / unit, unit, self._distance_function()

    def _blocks(self, compare: Distances, rows: Rows, X: Rows) -> Iterator[np.ndarray]:
        """All distances of consecutive rows to X, in blocks of rows; the tiles of a block run in threads."""
        if callable(self._metric):
            tile_rows, tile_points = _function_tile(compare, rows, X)
        else:
            cost = 1.0 if self._record is None else self._record.cost
            tile_rows, tile_points = tile_size(X.shape[0], X.shape[1], cost)
        return distance_blocks(compare, rows, X, (tile_rows, tile_points), self._threads)

    def _distance_function(self) -> Distances:
        """scikit-learn's function."""
        from sklearn.metrics import pairwise_distances

        compare = partial(pairwise_distances, metric=self._metric, **self._parameters)
        return compare if callable(self._metric) else partial(_without_warnings, compare)

    def _check(self, X: Rows) -> None:
        """Reject rows and parameters that the metric cannot take."""
        if sparse.issparse(X) and isinstance(self._metric, str):
            detail = f", p={self._parameters['p']}," if self._metric == "minkowski" else ""
            raise ValueError(no_sparse_form(self._metric, detail))
        if self._record is not None:
            reject_parameters(self._record.name, self._parameters)
        elif self._metric == "minkowski":
            check_weights(self._parameters, X.shape[1])
        elif self._parameters and not callable(self._metric):
            try:
                self._distance_function()(X[:1].astype(np.float64))
            except TypeError as error:
                raise TypeError(
                    f"metric_kwds={reprlib.repr(self._parameters)} do not suit metric={self._metric!r}: "
                    f"{error}"
                ) from error


def distance_blocks(
    compare: Distances, rows: Rows, X: Rows, tile: tuple[int, int], threads: int
) -> Iterator[np.ndarray]:
    """All distances of consecutive rows to X, in blocks of rows; the tiles of a block run in threads."""
    tile_rows, tile_points = tile
    total = rows.shape[0] * X.shape[0]
    done = 0
    for begin in range(0, rows.shape[0], tile_rows):
        part = rows[begin : begin + tile_rows]
        block = np.empty((part.shape[0], X.shape[0]))
        tiles = [slice(first, first + tile_points) for first in range(0, X.shape[0], tile_points)]

        def distances_of(points: slice, part: Rows = part) -> np.ndarray:
            return compare(part, X[points])

        for tile_slice, distances in zip(tiles, map_in_threads(distances_of, tiles, threads), strict=True):
            block[:, tile_slice] = distances
            done += distances.size
            report(done / total)
        yield block


def _upper_blocks(
    compare: Distances, X: Rows, tile_pairs: int, threads: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The distances of consecutive rows of X to themselves and all later rows, with their first row.

    scikit-learn compares rows with themselves once for each pair. The tiles of a block run in threads.
    """
    n = X.shape[0]
    rows = max(1, min(math.isqrt(tile_pairs), _BLOCK_DISTANCES // n))
    width = tile_pairs // rows
    done, total = 0, n * (n + 1) // 2
    for begin in range(0, n, rows):
        part = X[begin : begin + rows]
        height = part.shape[0]
        block = np.empty((height, n - begin))
        starts = range(height, n - begin, width)
        tiles = [slice(0, height), *(slice(first, first + width) for first in starts)]

        def distances_of(tile: slice, part: Rows = part, begin: int = begin) -> np.ndarray:
            points = part if tile.start == 0 else X[begin + tile.start : begin + tile.stop]
            return compare(part, points)

        for tile, distances in zip(tiles, map_in_threads(distances_of, tiles, threads), strict=True):
            block[:, tile] = distances
            done += height * (height + 1) // 2 if tile.start == 0 else distances.size
            report(done / total)
        yield begin, block


def _is_symmetric(compare: Distances, X: Rows) -> bool:
    """Whether a function gives the pairs of a few rows the same distance both ways."""
    ids = np.unique(np.arange(_SYMMETRY_SAMPLE) * (X.shape[0] - 1) // (_SYMMETRY_SAMPLE - 1))
    sample = X[ids]
    distances = compare(sample, sample.copy())  # scikit-learn would compare an array with itself one way only
    return np.allclose(distances, distances.T, rtol=_MAX_ASYMMETRY, atol=0, equal_nan=True)


def on_private_rows(metric: Callable[..., float], rows: Rows, points: Rows) -> Callable[..., float]:
    """A function of two rows that gets its own copies of them: whatever it writes changes no other distance.

    Its errors carry a note with its name and the numbers of the two rows.
    """

    def pair(row: Any, point: Any) -> str:
        return f"row {_number_of(row, rows)} and row {_number_of(point, points)} of the data"

    def compare(row: Any, point: Any, **parameters: Any) -> float:
        name = getattr(metric, "__name__", repr(metric))
        try:
            distance = metric(row.copy(), point.copy(), **parameters)
        except Exception as error:
            error.add_note(f"raised by metric={name} for {pair(row, point)}")
            raise
        if isinstance(distance, float):  # NumPy's float64 is one
            return distance
        value = np.asarray(distance)
        if value.size != 1 or value.dtype.kind not in "biuf":
            got = f"an array of shape {value.shape}" if value.ndim else f"a {type(distance).__name__}"
            raise WrongType(
                f"metric={name} returned {got} for {pair(row, point)}: a metric returns one number, the "
                "distance between two rows"
            )
        return float(value.item())

    return compare


def _number_of(row: Any, rows: Rows) -> int | str:
    """The number of the first row that equals this one."""
    if sparse.issparse(rows):
        return "?"
    equal = ((rows == row) | (np.isnan(rows) & np.isnan(row))).all(axis=1)
    return int(equal.argmax()) if equal.any() else "?"


def reject_parameters(metric: str, parameters: Parameters | None) -> None:
    """Reject parameters of a metric that has none."""
    if parameters:
        names = ", ".join(map(repr, parameters))
        raise ValueError(f"metric_kwds: metric={metric!r} has no parameters, got {names}: leave them out")


def check_values(X: np.ndarray, metric: Metric) -> np.ndarray:
    """The rows in float64, if their values suit a metric that NumPy computes."""
    X = X.astype(np.float64)
    if metric.negative is NegativeValues.REJECTED and (X.min() < 0 or X.sum(axis=1).min() <= 0):
        raise ValueError(
            f"metric={metric.name!r} needs rows of values of at least 0 that are not all 0; the least value "
            f"is {X.min():g}, the least sum of a row {X.sum(axis=1).min():g}"
        )
    return X


def comparing_all(rows: int, points: int, metric: str | Callable[..., float]) -> str:
    """The search of all pairs, as the subject of a sentence."""
    name = getattr(metric, "__name__", metric) if callable(metric) else metric
    return f"comparing {rows:,} rows with {points:,} rows, one by one, with metric={name!r}"


def remedies(metric: str | Callable[..., float], is_query: bool = False) -> str:
    """What takes less time than comparing all pairs in a metric, as a sentence."""
    others = "fewer rows" if is_query else "neighbours from elsewhere (precomputed_knn), or fewer rows"
    if callable(metric):
        return f"One of the named metrics, which are compiled, {others} take less time"
    return f"Another metric, such as 'euclidean' or 'cosine', {others} take less time"


def tile_size(n_points: int, columns: int, cost: float) -> tuple[int, int]:
    """Rows and points of a tile; about as many of each, because some metrics prepare both."""
    pairs = max(1, int(_TILE_VALUES / (cost * max(1, columns))))
    rows = max(1, min(math.isqrt(pairs), _BLOCK_DISTANCES // n_points))
    return rows, max(1, pairs // rows)


def _without_warnings(compare: Distances, *rows: Rows) -> np.ndarray:
    """Distances, of which those that overflow are rejected by name later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return compare(*rows)


def _function_tile(compare: Distances, rows: Rows, X: Rows) -> tuple[int, int]:
    """Rows and points of a tile for a Python function, by the time that it takes for a few pairs."""
    begin = time.perf_counter()
    pairs = compare(rows[:1], X[:8]).size
    affordable = int(pairs * _FUNCTION_TILE_SECONDS / max(time.perf_counter() - begin, 1e-9))
    affordable = min(max(affordable, 1), _MAX_FUNCTION_TILE_PAIRS)
    points = min(affordable, X.shape[0])
    return max(1, affordable // points), points


def _float_rows(X: Rows) -> Rows:
    """Rows for a function of two rows: differences of short integers would wrap around."""
    if X.dtype.kind in "fc" and X.dtype != np.float16:
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def _scaled_near_one(X: np.ndarray, metric: str) -> tuple[np.ndarray, float]:
    """Rows in float64 over a power of two, and that power: high powers of large values would overflow."""
    X = X.astype(np.float64, copy=False)  # scikit-learn would lose digits of other types
    if metric != "minkowski":
        return X, 1.0
    unit = float(2.0 ** min(_MAX_EXPONENT, np.ceil(np.log2(np.abs(X).max() or 1.0))))
    return X / unit, unit


def _scale_distances(found: Neighbors, unit: float) -> Neighbors:
    if unit == 1:
        return found
    with np.errstate(over="ignore"):  # too large becomes infinite, which is rejected by name
        distances = (found.distances.astype(np.float64) * unit).astype(np.float32)
    return Neighbors(found.indices, distances, found.method, found.recall)
