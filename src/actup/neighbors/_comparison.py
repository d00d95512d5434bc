"""Resolve a metric and its parameters to what the engine compares.

Some metrics are reduced to others: rows are transformed first ("seuclidean" divides columns by their standard
deviations), or distances are recomputed at the end ("haversine" searches by chords and returns arcs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from actup import _elementary as elementary
from actup._engine import engine
from actup._threads import count_threads
from actup._typing import Rows
from actup._values import as_float, to_floats
from actup._warnings import warn_user
from actup.neighbors._chunks import row_magnitudes
from actup.neighbors._finite_values import value_chunks
from actup.neighbors._metric_parameters import check_parameters
from actup.neighbors._metrics import METRICS, NegativeValues, record_of
from actup.neighbors._mixed_columns import MixedColumns
from actup.neighbors._row_transforms import (
    as_float32,
    centered_sphere,
    column_moments,
    distinct_values,
    double_chunks,
    far_column_center,
    fits_float32,
    great_circle_distances,
    is_exact_shift,
    mean_row,
    number_values,
    project,
    scale_columns,
    unit_sphere,
)

Parameters = Mapping[str, Any]

_MAX_COMPILED_POWER = 4  # of "minkowski"; SciPy computes higher powers
_MAX_FINITE_POWER = 30  # higher powers leave the range of float64
_MAX_POWER_DIGITS = 20  # powers of rows may span this many decimal digits in float32
_CHUNK_VALUES = 2**18
_LATITUDE_ROUNDING = 1e-5  # radians, by which rounding may move a pole
_SMALLEST_VARIANCE = 1e-14  # relative to the mean: a column that varies less is constant up to rounding
# Of a column's variance: if other columns leave less than this share unexplained, it depends on them.
_SMALLEST_INDEPENDENT_SHARE = 1e-12


def is_compiled(metric: str | Callable[..., float], parameters: Parameters | None) -> bool:
    """Whether the engine computes a canonical metric with these parameters."""
    check_parameters(parameters)
    record = record_of(metric)
    if record is None or not record.is_compiled:
        return False
    if metric != "minkowski":
        return True
    _reject_unknown("minkowski", parameters)
    p = _power(**(parameters or {}))
    return p <= _MAX_COMPILED_POWER or math.isinf(p)


def check_weights(parameters: Parameters | None, columns: int) -> np.ndarray | None:
    """The weights of "minkowski", one per column; None if there are none."""
    w = (parameters or {}).get("w")
    if w is None:
        return None
    weights = _vector("w", w, columns)
    if (weights < 0).any():
        raise ValueError(f"metric_kwds w must hold weights of at least 0, got {weights.min()}")
    return weights


def _own_names(metric: str, parameters: Parameters | None) -> dict[str, Any]:
    """The parameters by their own names, where some are given by umap-learn's."""
    check_parameters(parameters)
    given = dict(parameters or {})
    for other, name in METRICS[metric].parameter_aliases:
        if other in given and name in given:
            raise ValueError(f"metric_kwds {other} and {name} are two names of one parameter: give {name}")
        if other in given:
            given[name] = given.pop(other)
    return given


def _reject_unknown(metric: str, parameters: Parameters | None) -> None:
    allowed = METRICS[metric].parameters
    unknown = sorted(set(parameters or {}) - set(allowed))
    if unknown:
        raise ValueError(
            f"metric_kwds has {unknown[0]!r}, but the parameters of metric={metric!r} are: "
            f"{', '.join(allowed) or 'none'}"
        )


def _power(p: Any = 2.0, **_: object) -> float:
    if isinstance(p, bool) or not isinstance(p, Real) or not as_float(p, "metric_kwds p") > 0:
        raise ValueError(f"metric_kwds p={p!r} must be a number above 0")
    if _MAX_FINITE_POWER < float(p) < math.inf:
        raise ValueError(
            f"metric_kwds p={p!r} leaves the range of floats: use p=inf, from which it hardly differs, or at "
            f"most {_MAX_FINITE_POWER}"
        )
    return float(p)


def overflow_reason(metric: str, parameters: Parameters | None, X: Rows) -> str:
    """Why float32 cannot compare X in a compiled metric, so that SciPy must; "" if it can."""
    p = _power(**(parameters or {})) if metric == "minkowski" else 1.0
    if p in (1.0, 2.0) or math.isinf(p):
        return ""
    largest = row_magnitudes(X, _CHUNK_VALUES)
    largest = largest[largest > 0]
    overflows = len(largest) > 0 and p * np.log10(largest.max() / np.median(largest)) > _MAX_POWER_DIGITS
    return f"rows too large, next to others, for powers of p={p:g}" if overflows else ""


@dataclass(frozen=True)
class Comparison:
    """What the engine compares for the rows of one X.

    Attributes
    ----------
    metric : str
        The metric in which the engine compares rows.
    p : float
        The exponent of ``"minkowski"``.
    columns : int or None
        The number of columns that distances count, if empty ones have been left out.
    factors : ndarray of shape (columns,), or None
        What columns are multiplied by first.
    root : ndarray of shape (columns, columns), or None
        A lower triangular matrix that rows are multiplied by first.
    transform : callable or None
        Transforms rows to float32 rows that the engine compares in ``metric``.
    center : ndarray of shape (columns,), or None
        What ``transform`` shifts columns by.
    distances : callable or None
        ``distances(rows, points)`` recomputes the requested distances, from rows (m, columns) to points
        (m, k, columns), both untransformed.
    of_distance : callable or None
        The requested distances from those in ``metric``, which have the same order.
    mixed : MixedColumns or None
        What "gower" compares in each column.
    column_order : ndarray of shape (compared columns,), or None
        In which order the exact search of dense rows sums columns; None: it chooses one by the points.
    """

    metric: str
    p: float = 2.0
    columns: int | None = None
    factors: np.ndarray | None = None
    root: np.ndarray | None = None
    transform: Callable[[Rows], Rows] | None = None
    center: np.ndarray | None = None
    distances: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    of_distance: Callable[[np.ndarray], np.ndarray] | None = None
    mixed: MixedColumns | None = None
    column_order: np.ndarray | None = None

    def with_transform_for(self, X: Rows) -> Comparison:
        """The same comparison for rows that become float32 anyway: ``transform`` applies factors and root.

        It does so in full precision. Where only differences count, columns far from 0 are moved near it.
        """
        if self.transform is not None:
            return self
        if self.root is not None:
            return replace(self, root=None, transform=partial(project, root=self.root, center=mean_row(X)))
        center = None
        if METRICS[self.metric].of_differences and not sparse.issparse(X):
            center = far_column_center(X)
        if self.factors is None and (center is None or not center.any()):
            return self
        transform = partial(scale_columns, factors=self.factors, center=center)
        return replace(self, factors=None, transform=transform, center=center)

    def to_float32(self, rows: Rows, name: str) -> Rows:
        """Transformed rows in float32; values that float32 cannot hold become infinite."""
        if self.transform is None and self.metric == "hamming" and not fits_float32(rows):
            raise ValueError(
                f"{name} has values that float32 changes, and so those of X cannot be told from them under "
                "metric='hamming': give X as float64 with values of that kind, or round them"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            return as_float32(rows) if self.transform is None else self.transform(rows)

    def is_exact(self, rows: Rows) -> bool:
        """Whether ``to_float32`` changes no value but by the shift of its column."""
        if self.transform is None:
            return fits_float32(rows)
        return self.center is not None and is_exact_shift(rows, self.center, self.transform)

    def for_engine(self, metric: str | None = None, largest_squared_norm: float = 0.0) -> engine.RowMetric:
        """The engine's record of the comparison.

        Parameters
        ----------
        metric : str, default=None
            Compare in this metric instead of the comparison's own.
        largest_squared_norm : float, default=0.0
            Of all points; "inner_product" needs it.
        """
        factors = np.asarray([] if self.factors is None else self.factors, np.float64)
        root = np.asarray([] if self.root is None else self.root.ravel(), np.float64)
        kind = engine.Metric[metric or self.metric]
        return engine.RowMetric(kind, self.p, largest_squared_norm, factors, root)


def resolve(metric: str, parameters: Parameters | None, X: Rows) -> Comparison:
    """How the engine compares the rows of X in a compiled metric."""
    given = _own_names(metric, parameters)
    _reject_unknown(metric, given)
    record = METRICS[metric]
    if sparse.issparse(X) and not record.sparse:
        raise ValueError(no_sparse_form(metric))
    match metric:
        case "minkowski":
            return _minkowski(X, **given)
        case "sqeuclidean":
            return Comparison(record.reduced_to, of_distance=np.square)
        case "seuclidean":
            return Comparison(record.reduced_to, factors=_inverse_deviations(X, **given))
        case "mahalanobis":
            return Comparison(record.reduced_to, root=_inverse_covariance_root(X, **given))
        case "hamming":
            numbered = None if fits_float32(X) else partial(number_values, values=distinct_values(X))
            return Comparison(metric, transform=numbered)
        case "gower":
            return Comparison(record.reduced_to, mixed=MixedColumns.of(X, **given))
        case "haversine":
            if X.shape[1] != 2:
                raise ValueError(
                    f"metric='haversine' needs 2 columns, latitude and longitude in radians, not {X.shape[1]}"
                )
            transform = partial(centered_sphere, center=mean_row(X, unit_sphere))
            return Comparison(record.reduced_to, transform=transform, distances=great_circle_distances)
    return Comparison(metric)


def no_sparse_form(metric: str, detail: str = "") -> str:
    """The message for sparse rows in a metric that only compares dense ones."""
    return (
        f"metric={metric!r}{detail} has no form for sparse X: use X.toarray(), or metric='euclidean', "
        "'cosine', 'manhattan' or another one"
    )


def reject_negative(metric: str | Callable[..., float], X: Rows, name: str = "X") -> None:
    """Reject negative values where a compiled metric is not defined for them."""
    record = record_of(metric)
    if record is None or not record.is_compiled or record.negative is NegativeValues.ALLOWED:
        return
    if record.negative is NegativeValues.DENSE_ONLY and not sparse.issparse(X):
        return
    smallest = min((values.min() for values in value_chunks(X) if values.size), default=0)
    if smallest < 0:
        raise ValueError(f"metric={metric!r} needs values of at least 0, {name} has {smallest}")


def warn_of_degrees(metric: str, X: Rows, name: str = "X") -> None:
    """Warn of latitudes that no place has, where a metric reads them in radians."""
    if metric != "haversine" or sparse.issparse(X) or X.shape[1] != 2 or not len(X):
        return
    row = int(np.abs(X[:, 0].astype(np.float64)).argmax())
    if abs(float(X[row, 0])) > math.pi / 2 + _LATITUDE_ROUNDING:
        warn_user(
            f"metric='haversine' reads latitude and longitude in radians, but {name} has latitude "
            f"{X[row, 0]:g} in row {row}, beyond pi / 2: convert degrees with np.radians({name})"
        )


def _minkowski(X: Rows, p: object = 2.0, w: object = None) -> Comparison:
    power = _power(p)
    factors, weights = None, check_weights({"w": w}, X.shape[1])
    if weights is not None:
        present = (weights > 0).astype(np.float64)
        factors = present if math.isinf(power) else elementary.power(weights, 1 / power)
    if math.isinf(power) and sparse.issparse(X):
        return resolve("chebyshev", None, X)
    named = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}
    return Comparison(named.get(power, "minkowski"), power, factors=factors)


def _vector(name: str, values: object, size: int) -> np.ndarray:
    vector = _numbers(name, values)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ValueError(
            f"metric_kwds {name} must be {size} finite numbers, one per column; got shape {vector.shape}"
        )
    return vector


def _numbers(name: str, values: object) -> np.ndarray:
    where = f"metric_kwds {name}"
    return to_floats(values, where, lambda: ValueError(f"{where}={values!r} must be numbers"))


def _square(name: str, values: object, size: int) -> np.ndarray:
    matrix = _numbers(name, values)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ValueError(
            f"metric_kwds {name} must be {size} x {size} finite numbers; got shape {matrix.shape}"
            + ("" if np.isfinite(matrix).all() else " with NaN or infinite values")
        )
    return matrix


def _inverse_deviations(X: Rows, V: object = None) -> np.ndarray:
    """One over the standard deviation of each column; 0 for constant columns, which change no distance."""
    if V is None:
        with np.errstate(over="ignore", invalid="ignore"):
            means = mean_row(X)
            moments = sum(column_moments(chunk, means, 2) for chunk in double_chunks(X))
            variances = np.asarray(moments / max(1, X.shape[0] - 1))
        if not np.isfinite(variances).all():
            column = int(np.isfinite(variances).argmin())
            raise ValueError(
                f"X has values whose variance is too large for metric='seuclidean' (column {column}): divide "
                "X by its largest value"
            )
        constant = variances <= (_SMALLEST_VARIANCE * means) ** 2
        return np.where(constant, 0, 1 / np.sqrt(np.where(constant, 1, variances)))
    variances = _vector("V", V, X.shape[1])
    if (variances <= 0).any():
        raise ValueError(f"metric_kwds V must hold variances above 0, got {variances.min()}")
    inverse: np.ndarray = 1 / np.sqrt(variances)
    return inverse


def _covariance(X: np.ndarray) -> np.ndarray:
    means = mean_row(X)
    products = sum(engine.column_products(chunk - means, count_threads(None)) for chunk in double_chunks(X))
    return np.asarray(products / max(1, len(X) - 1))


def _inverse_covariance_root(X: np.ndarray, V: object = None, VI: object = None) -> np.ndarray:
    """L with L Lᵀ the inverse covariance."""
    columns = X.shape[1]
    if V is not None and VI is not None:
        raise ValueError("metric_kwds has both V and VI, the covariance and its inverse: give one of them")
    if VI is None:
        covariance = _covariance(X) if V is None else _square("V", V, columns)
        if not np.isfinite(covariance).all():
            raise ValueError(
                "metric='mahalanobis': the covariance of X is not finite: divide its columns by their "
                "largest values, which leaves the distances as they are"
            )
        # The rank only decides about the method; NumPy's inverse would differ from processor to processor.
        if np.linalg.matrix_rank(covariance, hermitian=True) == columns:
            VI = engine.inverse_of_symmetric((covariance + covariance.T) / 2, count_threads(None))
        if VI is None and V is None:
            return _pseudo_inverse_root(covariance, len(X))
        if VI is None:
            raise ValueError(
                "metric='mahalanobis': the covariance V has no inverse: give metric_kwds VI, such as "
                "np.linalg.pinv(V) plus a small multiple of the identity"
            )
    inverse = _square("VI", VI, columns)
    root = engine.cholesky_factor((inverse + inverse.T) / 2)
    if root is None:
        raise ValueError("metric='mahalanobis': VI is not positive definite")
    return root


def _pseudo_inverse_root(covariance: np.ndarray, n_rows: int) -> np.ndarray:
    """L for a singular covariance of rows: their distances are those of its pseudo-inverse.

    Differences of rows lie in the span of the covariance. There, all its generalised inverses agree, and one
    of them is the inverse over a largest set of independent columns, with zeros for all others.
    """
    independent = _independent_columns(covariance)
    if len(independent) >= n_rows - 1:
        raise ValueError(
            f"metric='mahalanobis' needs more rows than columns, X has {n_rows} rows and "
            f"{len(covariance)} columns: all rows would be equally far apart; reduce the columns with PCA, "
            "or give metric_kwds VI"
        )
    part = covariance[np.ix_(independent, independent)]
    inverse = engine.inverse_of_symmetric((part + part.T) / 2, count_threads(None))
    part_root = None if inverse is None else engine.cholesky_factor((inverse + inverse.T) / 2)
    if part_root is None:
        raise ValueError("metric='mahalanobis': the covariance of X has no inverse; give metric_kwds VI")
    root = np.zeros(covariance.shape)
    root[np.ix_(independent, independent)] = part_root
    return root


def _independent_columns(covariance: np.ndarray) -> np.ndarray:
    """A largest set of columns of which none depends on the others: the pivots of a Cholesky factor."""
    variances = covariance.diagonal()
    deviations = np.sqrt(np.where(variances > 0, variances, 1))
    correlations = covariance / deviations / deviations[:, None]
    unexplained = (variances > _SMALLEST_INDEPENDENT_SHARE * variances.max()).astype(np.float64)
    factor = np.zeros(covariance.shape)
    chosen: list[int] = []
    while len(chosen) < len(variances) and unexplained.max() > _SMALLEST_INDEPENDENT_SHARE:
        pivot, step = int(unexplained.argmax()), len(chosen)
        explained = (factor[:, :step] * factor[pivot, :step]).sum(axis=1)
        factor[:, step] = (correlations[:, pivot] - explained) / np.sqrt(unexplained[pivot])
        unexplained = unexplained - factor[:, step] ** 2
        chosen.append(pivot)
        unexplained[chosen] = 0
    return np.sort(np.array(chosen, np.int64))
