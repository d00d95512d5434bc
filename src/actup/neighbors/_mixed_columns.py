"""Gower's distance of rows of numbers and categories: what it compares in each column.

A column of numbers contributes the difference over the column's range in X, a column of categories 0 or 1.
The distance is the weighted mean over the columns that both rows have. Without missing values it equals
"manhattan" of scaled numbers and of one column of 0 or 1/2 for each category, which the engine computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from actup._typing import Rows
from actup._values import to_floats
from actup.neighbors._chunks import row_chunks
from actup.neighbors._mixed_rows import is_text

_CHUNK_VALUES = 2**18
_NO_SHARE = 1e-12  # of the weights: below it two rows have no column in common, up to rounding
_MAX_DENSE_WIDTH = 256  # more columns of single categories are kept as a sparse matrix


@dataclass(frozen=True)
class MixedColumns:
    """What Gower's distance reads of the columns of X.

    Attributes
    ----------
    is_category : ndarray of shape (columns,), bool
    weights : ndarray of shape (columns,)
        They add up to 1.
    lows, ranges : ndarray of shape (columns,)
        The least value and the range of each column of numbers; a range of 0 is written as infinity, so that
        a constant column adds nothing.
    means : ndarray of shape (columns,)
        What stands for a missing number when candidates are looked for, scaled like the numbers.
    categories : tuple of ndarray
        The values of each column of categories, ascending; of other columns it is empty.
    """

    is_category: np.ndarray
    weights: np.ndarray
    lows: np.ndarray
    ranges: np.ndarray
    means: np.ndarray
    categories: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, X: np.ndarray, categorical: Any = (), weights: Any = None) -> MixedColumns:
        """The columns of a mixed matrix, as ``read_mixed`` gives it, by the parameters of the metric."""
        count = X.shape[1]
        is_category = np.zeros(count, bool)
        numbers = np.asarray(() if categorical is None else categorical, dtype=object)
        valid = all(isinstance(number, int | np.integer) and 0 <= number < count for number in numbers)
        if numbers.ndim != 1 or not valid:
            raise ValueError(
                f"metric_kwds categorical={categorical!r} must be column numbers from 0 to {count - 1}"
            )
        is_category[numbers.astype(np.int64)] = True
        shares = _check_weights(weights, count)
        lows, ranges, means = np.zeros(count), np.full(count, np.inf), np.zeros(count)
        categories = []
        for column in range(count):
            values = X[:, column]
            values = values[~np.isnan(values)]
            if is_category[column]:
                categories.append(np.unique(values))
                continue
            categories.append(np.empty(0))
            if len(values):
                lows[column], high = values.min(), values.max()
                ranges[column] = (high - lows[column]) or np.inf
                means[column] = ((values - lows[column]) / ranges[column]).mean() * shares[column]
        return cls(is_category, shares, lows, ranges, means, tuple(categories))

    @property
    def width(self) -> int:
        """The number of columns in which "manhattan" compares complete rows."""
        return int(np.count_nonzero(~self.is_category) + sum(map(len, self.categories)) + 1)

    def scaled(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Rows with numbers in units of their column's range, times its weight; categories and NaN stay."""
        numbers = np.where(self.is_category, np.nan, rows)
        text = is_text(numbers).any(axis=0)
        if text.any():
            raise TypeError(
                f"{name} holds text in column {int(text.argmax())}, where the data that it is compared with "
                "hold numbers: convert it"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # NaN of any kind stays NaN
            values = (rows - self.lows) / self.ranges * self.weights
        return np.where(self.is_category, rows, values)

    def to_manhattan(self, scaled: np.ndarray) -> Rows:
        """Scaled rows where "manhattan" compares them, in float32: CSR if there are many categories.

        The last column counts categories that X does not have. Missing numbers are taken as their column's
        mean, and a missing category as halfway between all others.
        """
        is_sparse = self.width > _MAX_DENSE_WIDTH
        make = self._sparse_chunk if is_sparse else self._dense_chunk
        parts = [make(scaled[chunk]) for chunk in row_chunks(scaled, _CHUNK_VALUES)]
        return sparse.vstack(parts, format="csr") if is_sparse else np.concatenate(parts)

    def _dense_chunk(self, scaled: np.ndarray) -> np.ndarray:
        result = np.zeros((len(scaled), self.width), np.float32)
        with np.errstate(over="ignore"):  # infinite distances are rejected
            for at, (rows, positions, values) in self._entries(scaled):
                result[rows, at + positions] = values
        result[:, -1] = self._unknown(scaled)
        return result

    def _sparse_chunk(self, scaled: np.ndarray) -> Any:
        entries = [(rows, at + positions, values) for at, (rows, positions, values) in self._entries(scaled)]
        entries.append((np.arange(len(scaled)), np.full(len(scaled), self.width - 1), self._unknown(scaled)))
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
        matrix = sparse.csr_matrix((values, (rows, columns)), (len(scaled), self.width), dtype=np.float32)
        matrix.eliminate_zeros()
        return matrix

    def _entries(self, scaled: np.ndarray) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """For each column: where it begins, and the rows, positions and values of what is not 0."""
        at = 0
        every = np.arange(len(scaled))
        for column, categories in enumerate(self.categories):
            values, weight = scaled[:, column], self.weights[column]
            if not self.is_category[column]:
                numbers = np.where(np.isnan(values), self.means[column], values)
                yield at, (every, np.zeros(len(scaled), np.int64), numbers)
                at += 1
                continue
            if len(categories):
                positions = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
                known = np.flatnonzero(categories[positions] == values)
                yield at, (known, positions[known], np.full(len(known), weight / 2))
            at += len(categories)

    def _unknown(self, scaled: np.ndarray) -> np.ndarray:
        """Half the weight of the columns in which each row has a category that X does not have."""
        result = np.zeros(len(scaled))
        for column in np.flatnonzero(self.is_category):
            values = scaled[:, column]
            unknown = ~np.isin(values, self.categories[column]) & ~np.isnan(values)
            result += np.where(unknown, self.weights[column] / 2, 0)
        return result

    def all_distances(self, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        """All distances between scaled rows and points, in float64: (rows, points)."""
        shape = len(rows), len(points)
        total, lacking, part = np.zeros(shape), np.zeros(shape), np.empty(shape)
        for column, weight in enumerate(self.weights):
            here, there = rows[:, column], np.ascontiguousarray(points[:, column])
            self._compare(column, here[:, None], there, part)
            gaps_here, gaps_there = np.isnan(here), np.isnan(there)
            part[gaps_here] = 0
            lacking[gaps_here] += weight
            if gaps_there.any():
                part[:, gaps_there] = 0
                lacking[np.ix_(~gaps_here, gaps_there)] += weight
            total += part
        return _mean(total, lacking)

    def candidate_distances(self, rows: np.ndarray, points: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Distances between scaled rows and some of the points, by their ids, in float64."""
        total, lacking = np.zeros(candidates.shape), np.zeros(candidates.shape)
        part = np.empty(candidates.shape)
        for column, weight in enumerate(self.weights):
            here, there = rows[:, column, None], points[:, column][candidates]
            self._compare(column, here, there, part)
            gaps = np.isnan(here) | np.isnan(there)
            if gaps.any():
                np.copyto(part, 0, where=gaps)
                lacking += weight * gaps
            total += part
        return _mean(total, lacking)

    def _compare(self, column: int, here: np.ndarray, there: np.ndarray, out: np.ndarray) -> None:
        """What a column adds to the distances, if no value is missing."""
        if self.is_category[column]:
            np.multiply(here != there, self.weights[column], out=out)
        else:
            np.abs(np.subtract(here, there, out=out), out=out)


def _mean(total: np.ndarray, lacking: np.ndarray) -> np.ndarray:
    """Sums over the share of the weights that they are of; 1 where two rows have no column in common."""
    shared = 1 - lacking
    none = shared <= _NO_SHARE
    shared[none] = 1
    total /= shared
    total[none] = 1
    return total


def _check_weights(weights: Any, count: int) -> np.ndarray:
    where = "metric_kwds weights"
    given = np.ones(count) if weights is None else weights
    values = to_floats(given, where, lambda: ValueError(f"{where}={weights!r} must be numbers"))
    if (
        isinstance(weights, Mapping)
        or values.shape != (count,)
        or not (values >= 0).all()
        or not np.isfinite(values).all()
    ):
        raise ValueError(
            f"metric_kwds weights must be {count} numbers of at least 0, one per column; got {weights!r}"
        )
    total = values.sum()
    if not total > 0:
        raise ValueError("metric_kwds weights are all 0: give at least one column a weight above 0")
    return np.asarray(values / total)
