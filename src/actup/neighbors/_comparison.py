"""What near means: a metric's name and parameters become what the engine compares.

Some metrics are others in disguise: rows are moved first (``seuclidean`` divides columns), or distances are
computed anew at the end (``haversine`` measures chords in space, then arcs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

import numpy as np
from scipy import sparse

from actup.neighbors._chunks import largest_of_rows
from actup.neighbors._numpy_metrics import SPECIAL
from actup.neighbors._row_transforms import (
    Rows,
    arcs,
    are_floats,
    around_on_sphere,
    different_values,
    far_center,
    mean_row,
    numbered,
    on_sphere,
    parts,
    scaled,
    sums_around,
    turned,
)

# Other names, as SciPy, scikit-learn, umap-learn and pynndescent know them.
_SYNONYMS = {
    "l2": "euclidean",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "taxicab": "manhattan",
    "linf": "chebyshev",
    "linfty": "chebyshev",
    "linfinity": "chebyshev",
    "infinity": "chebyshev",
    "dot": "inner_product",
    "standardised_euclidean": "seuclidean",
    "wminkowski": "minkowski",
    "weighted_minkowski": "minkowski",
}

# The parameters of the metrics that have some, besides those of a callable or of scikit-learn's metrics.
_PARAMETERS = {"minkowski": {"p", "w"}, "seuclidean": {"V"}, "mahalanobis": {"V", "VI"}}
DISGUISED = ("seuclidean", "mahalanobis", "haversine")
PRESENCE = (
    "jaccard", "dice", "matching", "kulsinski", "rogerstanimoto", "russellrao", "sokalmichener",
    "sokalsneath", "yule",
)  # fmt: skip
_COLUMNS = (
    "euclidean", "manhattan", "chebyshev", "cosine", "correlation", "hellinger", "softmax_hellinger",
    "inner_product", "minkowski", "canberra", "hamming", "braycurtis",
)  # fmt: skip
COMPILED = (*_COLUMNS, *PRESENCE, *DISGUISED)
_COMPILED_POWER, _HIGHEST_POWER = 4, 30  # of "minkowski"; those between are left to SciPy
_VALUES_AT_ONCE = 2**18
_OF_DIFFERENCES = ("euclidean", "manhattan", "chebyshev", "minkowski")
_NOT_SPARSE = ("chebyshev", "mahalanobis", "haversine", "softmax_hellinger")


def canonical(metric: str | Callable) -> str | Callable:
    """The one name of a metric that has several."""
    return _SYNONYMS.get(metric, metric) if isinstance(metric, str) else metric


def check_metric(metric: object) -> str | Callable:
    """The canonical metric; refuses what nobody computes."""
    if callable(metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(f"metric={metric!r} must be a name or a function of two rows")
    name = canonical(metric)
    if name in COMPILED or name == "precomputed" or name in SPECIAL or name in _metrics_of_scikit_learn():
        return name
    raise ValueError(
        f"metric={metric!r} is not one of {', '.join(map(repr, (*COMPILED, *SPECIAL)))}, nor one of "
        "sklearn.metrics.pairwise_distances; a function of two rows is possible as well"
    )


def _metrics_of_scikit_learn() -> set[str]:
    from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

    return {"sqeuclidean", *PAIRWISE_DISTANCE_FUNCTIONS} - {"precomputed"}


def is_compiled(metric: str | Callable, parameters: Mapping | None) -> bool:
    """Whether the engine compares rows in a canonical metric; high powers leave the range of its floats."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise TypeError(f"metric_kwds={parameters!r} must be a dict of the metric's parameters")
    if metric != "minkowski":
        return metric in COMPILED
    _refuse_unknown(metric, parameters)
    p = _power(**(parameters or {}))
    return p <= _COMPILED_POWER or math.isinf(p)


def check_weights(parameters: Mapping | None, columns: int) -> np.ndarray | None:
    """The weights of "minkowski", one for each column; None for none."""
    w = (parameters or {}).get("w")
    if w is None:
        return None
    weights = _vector("w", w, columns)
    if (weights < 0).any():
        raise ValueError(f"metric_kwds w must hold weights of at least 0, got {weights.min()}")
    return weights


def _refuse_unknown(metric: str, parameters: Mapping | None) -> None:
    unknown = sorted(set(parameters or {}) - _PARAMETERS.get(metric, set()))
    if unknown:
        allowed = ", ".join(sorted(_PARAMETERS.get(metric, ()))) or "none"
        raise ValueError(
            f"metric_kwds has {unknown[0]!r}, but the parameters of metric={metric!r} are: {allowed}"
        )


def _power(p: float = 2.0, **_) -> float:
    if isinstance(p, bool) or not isinstance(p, Real) or not p > 0:
        raise ValueError(f"metric_kwds p={p!r} must be a number above 0")
    if _HIGHEST_POWER < p < math.inf:
        raise ValueError(
            f"metric_kwds p={p!r} leaves the range of floats: use p=inf, from which it hardly differs, or at "
            f"most {_HIGHEST_POWER}"
        )
    return float(p)


def beyond_floats(metric: str, parameters: Mapping | None, X: Rows) -> str:
    """What floats cannot hold of X in a compiled metric, so that SciPy must compare it; "" for nothing."""
    p = _power(**(parameters or {})) if metric == "minkowski" else 1.0
    if p in (1.0, 2.0) or math.isinf(p):
        return ""
    largest = largest_of_rows(X, _VALUES_AT_ONCE)
    largest = largest[largest > 0]
    spans = len(largest) > 0 and p * np.log10(largest.max() / np.median(largest)) > 20
    return f"rows too large, next to others, for powers of p={p:g}" if spans else ""


@dataclass(frozen=True)
class Comparison:
    """A compiled metric for the rows of one X.

    Attributes
    ----------
    metric : str
        What the engine compares.
    p : float
        Its exponent, if it is ``"minkowski"``.
    factors : ndarray of shape (columns,), or None
        What multiplies columns first.
    root : ndarray of shape (columns, columns), or None
        Lower triangular: what rows are multiplied by first.
    move : callable or None
        Brings rows to where that metric means the one that was asked for.
    finish : callable or None
        ``finish(rows, points)`` gives the distances asked for, from rows (m, columns) to points
        (m, k, columns) as they were.
    """

    metric: str
    p: float = 2.0
    factors: np.ndarray | None = None
    root: np.ndarray | None = None
    move: Callable[[Rows], Rows] | None = None
    finish: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def moving_rows(self, X: Rows) -> Comparison:
        """The same, but rows become float32 by ``move``, which does in full precision what the engine would.

        Where only differences count, columns that are far from 0 are moved near it.
        """
        if self.move is not None:
            return self
        if self.root is not None:
            return replace(self, root=None, move=partial(turned, root=self.root, center=mean_row(X)))
        center = None
        if self.metric in _OF_DIFFERENCES and not sparse.issparse(X):
            center = far_center(X)
        if self.factors is None and (center is None or not center.any()):
            return self
        return replace(self, factors=None, move=partial(scaled, factors=self.factors, center=center))

    def as_floats(self, rows: Rows, name: str) -> Rows:
        """Rows where the engine compares them, in float32; infinite where that cannot hold them."""
        if self.move is None and self.metric == "hamming" and not are_floats(rows):
            raise ValueError(
                f"{name} has values that float32 changes, and so those of X cannot be told from them under "
                "metric='hamming': give X as float64 with values of that kind, or round them"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            return rows.astype(np.float32) if self.move is None else self.move(rows)

    def for_engine(self, metric: str | None = None, longest: float = 0.0):
        """What the engine takes; ``metric`` instead of the own one, the largest squared length of a point."""
        from actup._engine import engine

        factors = np.asarray([] if self.factors is None else self.factors, np.float64)
        root = np.asarray([] if self.root is None else self.root.ravel(), np.float64)
        return engine.RowMetric(engine.Metric[metric or self.metric], self.p, longest, factors, root)


def compare(metric: str, parameters: Mapping | None, X: Rows) -> Comparison:
    """How the engine compares the rows of X in one of ``COMPILED``."""
    parameters = dict(parameters or {})
    _refuse_unknown(metric, parameters)
    if sparse.issparse(X) and metric in _NOT_SPARSE:
        raise ValueError(
            f"metric={metric!r} has no form for sparse X: use X.toarray(), or metric='euclidean', 'cosine', "
            "'manhattan' or another one"
        )
    match metric:
        case "minkowski":
            return _minkowski(X, **parameters)
        case "seuclidean":
            return Comparison("euclidean", factors=_inverse_deviations(X, **parameters))
        case "mahalanobis":
            return Comparison("euclidean", root=_root_of_inverse(X, **parameters))
        case "hamming":
            numbers = None if are_floats(X) else partial(numbered, values=different_values(X))
            return Comparison(metric, move=numbers)
        case "haversine":
            if X.shape[1] != 2:
                raise ValueError(
                    f"metric='haversine' needs 2 columns, latitude and longitude in radians, not {X.shape[1]}"
                )
            center = mean_row(X, on_sphere)
            return Comparison("euclidean", move=partial(around_on_sphere, center=center), finish=arcs)
    return Comparison(metric)


def refuse_negative(metric: str, X: Rows, name: str = "X") -> None:
    """Refuse rows that have no place in a compiled metric."""
    if metric == "hellinger" or (metric == "braycurtis" and sparse.issparse(X)):
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError(f"metric={metric!r} needs values of at least 0, {name} has {values.min()}")


def _minkowski(X: Rows, p: float = 2.0, w=None) -> Comparison:
    p = _power(p)
    factors, weights = None, check_weights({"w": w}, X.shape[1])
    if weights is not None:
        factors = (weights > 0).astype(np.float64) if math.isinf(p) else weights ** (1 / p)
    if math.isinf(p) and sparse.issparse(X):
        return compare("chebyshev", None, X)
    return Comparison(
        {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}.get(p, "minkowski"), p, factors
    )


def _vector(name: str, values, size: int) -> np.ndarray:
    vector = _numbers(name, values)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ValueError(
            f"metric_kwds {name} must be {size} finite numbers, one per column; got shape {vector.shape}"
        )
    return vector


def _numbers(name: str, values) -> np.ndarray:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"metric_kwds {name}={values!r} must be numbers") from None


def _square(name: str, values, size: int) -> np.ndarray:
    matrix = _numbers(name, values)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ValueError(
            f"metric_kwds {name} must be {size} x {size} finite numbers; got shape {matrix.shape}"
            + ("" if np.isfinite(matrix).all() else " with others among them")
        )
    return matrix


def _inverse_deviations(X: Rows, V=None) -> np.ndarray:
    if V is None:
        n = X.shape[0]
        means = mean_row(X)
        variances = sum(sums_around(part, means, 2) for part in parts(X)) / max(1, n - 1)
        constant = variances <= (1e-14 * means) ** 2  # but for rounding; such a column changes no distance
        return np.where(constant, 0, 1 / np.sqrt(np.where(constant, 1, variances)))
    variances = _vector("V", V, X.shape[1])
    if (variances <= 0).any():
        raise ValueError(f"metric_kwds V must hold variances above 0, got {variances.min()}")
    return 1 / np.sqrt(variances)


def _covariance(X: np.ndarray) -> np.ndarray:
    means = mean_row(X)
    products = sum((part - means).T @ (part - means) for part in parts(X))
    return products / max(1, len(X) - 1)


def _root_of_inverse(X: np.ndarray, V=None, VI=None) -> np.ndarray:
    """L with L Lᵀ the inverse covariance."""
    columns = X.shape[1]
    if V is not None and VI is not None:
        raise ValueError("metric_kwds has both V and VI, the covariance and its inverse: give one of them")
    if VI is None:
        covariance = _covariance(X) if V is None else _square("V", V, columns)
        if np.linalg.matrix_rank(covariance, hermitian=True) < columns:
            raise ValueError("metric='mahalanobis': the covariance has no inverse; give metric_kwds VI")
        VI = np.linalg.inv(covariance)
    inverse = _square("VI", VI, columns)
    try:
        return np.linalg.cholesky((inverse + inverse.T) / 2)
    except np.linalg.LinAlgError:
        raise ValueError("metric='mahalanobis': VI is not positive definite") from None
