"""The table of metrics: one record per metric, read by every place that needs a fact about one.

To add a metric that the engine computes: its formula and row in ``_native/neighbors/metrics.hpp``, its record
here, and its line in ``tests/metric_oracle.py``. A metric that NumPy computes needs no compiled formula: its
record names a function of ``_numpy_metrics.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from actup._errors import WrongType
from actup._suggestions import closest_name, not_one_of
from actup.neighbors import _numpy_metrics


class NegativeValues(Enum):
    """Whether rows may hold negative values."""

    ALLOWED = auto()
    DENSE_ONLY = auto()
    REJECTED = auto()


@dataclass(frozen=True)
class Metric:
    """What the package knows about a distance between rows.

    Attributes
    ----------
    name : str
    aliases : tuple of str
        Other names for it in SciPy, scikit-learn, umap-learn and pynndescent.
    parameters : tuple of str
        The names that ``metric_kwds`` may hold.
    parameter_aliases : tuple of (str, str)
        Names that umap-learn has for some of them, each with its name here.
    numpy : callable or None
        ``numpy(A, B)`` gives all distances between two arrays of float64 rows, for metrics that the engine
        does not compute.
    reduced_to : str
        The metric that the engine compares transformed rows in; the metric itself if it needs no transform.
    sparse : bool
        Whether sparse rows can be compared.
    presence : bool
        Whether the metric only compares which columns are nonzero.
    angular : bool
        Whether the lengths of rows do not matter, so that each row needs a nonzero value by itself.
    of_differences : bool
        Whether distances depend on x - y alone, so that columns may be shifted.
    cluster_search : bool
        Whether the approximate search ranks its clusters in the metric itself. The candidates of other
        metrics come from a proxy.
    own_proxy : bool
        Whether the proxy's codes are made for the metric itself instead of the Euclidean distance.
    gpu : bool
        Whether backend "cuda" searches neighbours in it.
    landmarks : bool
        Whether more than 200,000 points may start at landmarks, which are found by Euclidean distances or
        angles.
    negative : NegativeValues
        Whether rows may hold negative values.
    missing : bool
        Whether values may be missing (NaN).
    cost : float
        Time to compare two columns, relative to a squared difference.
    """

    name: str
    aliases: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    parameter_aliases: tuple[tuple[str, str], ...] = ()
    numpy: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    reduced_to: str = ""
    sparse: bool = True
    presence: bool = False
    angular: bool = False
    of_differences: bool = False
    cluster_search: bool = False
    own_proxy: bool = False
    gpu: bool = False
    landmarks: bool = False
    negative: NegativeValues = NegativeValues.ALLOWED
    missing: bool = False
    cost: float = 1.0

    @property
    def is_compiled(self) -> bool:
        """Whether the engine computes it."""
        return self.numpy is None

    @property
    def is_transformed(self) -> bool:
        """Whether rows are transformed first and compared in another metric."""
        return self.reduced_to not in ("", self.name)


def _presence(name: str) -> Metric:
    return Metric(name, presence=True, own_proxy=True)


_TABLE = (
    Metric("euclidean", ("l2",), of_differences=True, cluster_search=True, gpu=True, landmarks=True),
    Metric(
        "manhattan", ("l1", "cityblock", "taxicab"), of_differences=True, gpu=True, landmarks=True,
    ),
    Metric(
        "chebyshev", ("linf", "linfty", "linfinity", "infinity"), sparse=False, of_differences=True, gpu=True,
        landmarks=True,
    ),
    Metric("cosine", ("direct_cosine",), angular=True, cluster_search=True, gpu=True, landmarks=True),
    Metric("correlation", angular=True, cluster_search=True, gpu=True, landmarks=True),
    Metric("hellinger", angular=True, cluster_search=True, negative=NegativeValues.REJECTED),
    Metric("softmax_hellinger", sparse=False, cluster_search=True),
    Metric("inner_product", ("dot",), own_proxy=True, gpu=True, landmarks=True),
    Metric(
        "minkowski", ("wminkowski", "weighted_minkowski"), ("p", "w"), of_differences=True, cost=8.0,
    ),
    Metric("canberra", cost=4.0),
    Metric("hamming"),
    Metric("braycurtis", negative=NegativeValues.DENSE_ONLY, cost=2.0),
    _presence("jaccard"),
    _presence("dice"),
    _presence("matching"),
    _presence("kulsinski"),
    _presence("rogerstanimoto"),
    _presence("russellrao"),
    _presence("sokalmichener"),
    _presence("sokalsneath"),
    _presence("yule"),
    Metric("sqeuclidean", reduced_to="euclidean"),
    Metric("seuclidean", ("standardised_euclidean",), ("V",), (("sigma", "V"),), reduced_to="euclidean"),
    Metric("mahalanobis", (), ("V", "VI"), (("vinv", "VI"),), reduced_to="euclidean", sparse=False),
    Metric("haversine", reduced_to="euclidean", sparse=False),
    Metric("gower", (), ("categorical", "weights"), reduced_to="manhattan", sparse=False, missing=True),
    Metric("poincare", numpy=_numpy_metrics.poincare, sparse=False),
    Metric(
        "symmetric_kl", ("symmetric-kl", "symmetric_kullback_liebler"), numpy=_numpy_metrics.symmetric_kl,
        sparse=False, negative=NegativeValues.REJECTED,
    ),
    Metric(
        "ll_dirichlet", numpy=_numpy_metrics.ll_dirichlet, sparse=False, negative=NegativeValues.REJECTED,
        cost=8.0,
    ),
    Metric(
        "jensen_shannon", ("jensen-shannon",), numpy=_numpy_metrics.jensen_shannon, sparse=False,
        negative=NegativeValues.REJECTED, cost=4.0,
    ),
    Metric(
        "wasserstein_1d", ("wasserstein-1d", "kantorovich_1d", "kantorovich-1d"),
        numpy=_numpy_metrics.wasserstein_1d, sparse=False, negative=NegativeValues.REJECTED,
    ),
    Metric(
        "circular_kantorovich", ("circular_wasserstein",), numpy=_numpy_metrics.circular_kantorovich,
        sparse=False, negative=NegativeValues.REJECTED, cost=8.0,
    ),
    Metric("spearmanr", numpy=_numpy_metrics.spearmanr, sparse=False),
    Metric("true_angular", numpy=_numpy_metrics.true_angular, sparse=False),
    Metric("tsss", numpy=_numpy_metrics.tsss, sparse=False),
    Metric("bit_hamming", numpy=_numpy_metrics.bit_hamming, sparse=False, cost=8.0),
    Metric("bit_jaccard", numpy=_numpy_metrics.bit_jaccard, sparse=False, cost=8.0),
)  # fmt: skip

METRICS = {metric.name: metric for metric in _TABLE}
# Metrics of umap-learn that nobody computes here, and what to use instead.
_TRANSPORT = (
    "'wasserstein_1d' compares histograms over bins in a row, 'circular_kantorovich' over bins in a circle; "
    "for another cost of moving, give a function of two rows, or distances with metric='precomputed'"
)
_ELSEWHERE = {"kantorovich": _TRANSPORT, "wasserstein": _TRANSPORT, "sinkhorn": _TRANSPORT}
_NAMES = {alias: metric.name for metric in _TABLE for alias in (metric.name, *metric.aliases)}


def compiled_metrics() -> list[str]:
    """The names of the metrics that the engine computes."""
    return [metric.name for metric in METRICS.values() if metric.is_compiled]


def metrics_where(**facts: object) -> list[str]:
    """The names of the metrics whose records have these values, e.g. ``metrics_where(presence=True)``."""
    return [
        metric.name
        for metric in METRICS.values()
        if all(getattr(metric, fact) == value for fact, value in facts.items())
    ]


def record_of(metric: str | Callable[..., float]) -> Metric | None:
    """The record of a canonical metric; None for a function, "precomputed", or a metric of scikit-learn."""
    return METRICS.get(metric) if isinstance(metric, str) else None


def compares_missing(metric: str | Callable[..., float]) -> bool:
    """Whether a canonical metric compares rows with missing values; of a function nobody knows."""
    record = record_of(metric)
    return metric == "nan_euclidean" or (record is not None and record.missing)


def canonical_metric(metric: object) -> str | Callable[..., float]:
    """The one name of a metric that has several; a function of two rows is itself.

    Raises
    ------
    TypeError
        If it is neither a name nor a function.
    ValueError
        If nobody computes a metric of that name.
    """
    if callable(metric):
        return metric
    if not isinstance(metric, str):
        raise WrongType(f"metric={metric!r} must be a name or a function of two rows")
    name = _NAMES.get(metric, metric)
    if name in METRICS or name == "precomputed" or name in _scikit_learn_metrics():
        return name
    if metric in _ELSEWHERE:
        raise ValueError(f"metric={metric!r} is not available: {_ELSEWHERE[metric]}")
    known = [*_NAMES, *sorted(_scikit_learn_metrics()), "precomputed"]
    if closest_name(metric, known) is not None:
        raise ValueError(not_one_of("metric", metric, known))
    raise ValueError(
        f"metric={metric!r} is not one of {', '.join(map(repr, METRICS))}, 'nan_euclidean', 'precomputed' "
        "nor another one of sklearn.metrics.pairwise_distances; a function of two rows is possible as well"
    )


def _scikit_learn_metrics() -> set[str]:
    from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

    return set(PAIRWISE_DISTANCE_FUNCTIONS) - {"precomputed"}
