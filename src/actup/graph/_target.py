"""Supervision: a graph of X intersected with what a target y says about its points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from actup._csr import entry_rows
from actup._device import to_host
from actup._elementary import exp, log
from actup._engine import engine
from actup._errors import WrongType
from actup._labels import label_array, missing_labels
from actup._typing import CsrMatrix
from actup._values import as_float, to_floats
from actup.graph._edit_distances import edit_distances
from actup.graph._memberships import directed_matrix
from actup.graph._records import Graph
from actup.graph._set_operations import intersect, reset_local_connectivity

if TYPE_CHECKING:
    from actup.backends._base import Backend

# umap-learn's constants. Points whose labels are not both known are at this distance in y.
_UNKNOWN_DISTANCE = 1.0
# Points of different labels are at this distance over 1 - weight, and at the largest one for weight 1.
_FAR_DISTANCE = 2.5
_FARTHEST_DISTANCE = 1e12

_MAX_COUNT = 10_000_000  # target_metric "count" tabulates all numbers up to the largest one

UNKNOWN_LABEL = -1


def intersect_with_target(
    graph: Graph,
    y: Any,
    *,
    metric: str | Callable[..., float] = "categorical",
    metric_kwds: Mapping[str, Any] | None = None,
    weight: float = 0.5,
    n_neighbors: int = 15,
    backend: Backend,
    threads: int,
) -> Graph:
    """The graph of X with edges weakened between points that differ in y, as umap-learn supervises.

    Parameters
    ----------
    graph : Graph
        Of X, with weights from 0 to 1. A graph on a GPU is copied to the host.
    y : array-like of shape (n,) or (n, columns)
        A target of every row. Rows whose target is missing (None, NaN, NaT, pandas' NA; for "categorical"
        also -1) are unknown. If all are, the graph is returned as it is.
    metric : str or callable, default="categorical"
        - "categorical": labels of any type are equal or not.
        - "ordinal": ranks, compared by their difference.
        - "count": whole numbers from 0 on, compared by how unlikely those between them are.
        - "string", also called "myers": texts, compared by their edit distance.
        - "hierarchical_categorical": ``metric_kwds={"cat_hierarchy": [...]}`` lists, from the finest level
          to the coarsest, a dict from label to category; labels are compared by the first level that they
          share.
        - any metric of ``actup.nearest_neighbors``: numbers, compared through their nearest neighbours. Rows
          whose target is unknown keep the edges of X.
    metric_kwds : dict or None, default=None
        Parameters of the metric.
    weight : float, default=0.5
        The influence of y, from 0 (hardly any) to 1 (y alone).
    n_neighbors : int, default=15
        Neighbours in y, the row itself included, for metrics of numbers.
    backend : Backend
        Searches the neighbours in y.
    threads : int

    Returns
    -------
    Graph
        In the host's memory, symmetric to the bit.
    """
    weight = check_target_weight(weight)
    kwds = dict(metric_kwds or {})
    metric = "string" if metric == "myers" else metric
    discrete = _DISCRETE.get(metric) if isinstance(metric, str) else None
    if discrete is not None:
        labels = _read_labels(y, len(graph), str(metric))
        known = ~_unknown_labels(labels, str(metric))
        if not known.any():
            return graph
        matrix = graph.to_scipy()
        scale = _FAR_DISTANCE / (1 - weight) if weight < 1 else _FARTHEST_DISTANCE
        distances = _discrete_distances(matrix, labels, known, discrete, kwds, scale)
        factors = exp(-distances)
        weakened = csr_matrix(
            ((matrix.data * factors).astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return _graph(reset_local_connectivity(weakened, threads=threads))
    rows, known = _read_numbers(y, len(graph), metric)
    if np.count_nonzero(known) < 2:
        return graph
    k = min(check_target_neighbors(n_neighbors), int(np.count_nonzero(known))) - 1
    target = _target_matrix(rows[known], k, metric, kwds, backend, threads)
    matrix = graph.to_scipy()
    if known.all():
        return _graph(reset_local_connectivity(intersect(matrix, target, weight), threads=threads))
    of_known = intersect(matrix[known][:, known], target, weight)
    return _graph(_replace_known(matrix, known, reset_local_connectivity(of_known, threads=threads)))


def read_target(
    y: Any,
    n: int,
    *,
    metric: str | Callable[..., float],
    metric_kwds: Mapping[str, Any] | None,
    weight: float,
    n_neighbors: int,
) -> np.ndarray:
    """The targets as an array; rejects, before any work, what ``intersect_with_target`` cannot use."""
    check_target_weight(weight)
    if metric == "categorical" and has_no_categories(label_array(to_host(y))):
        metric = "euclidean"
    if isinstance(metric, str) and is_discrete(metric):
        return _read_labels(y, n, metric)
    check_target_neighbors(n_neighbors)
    return _read_numbers(y, n, metric)[0]


def is_discrete(metric: str | Callable[..., float]) -> bool:
    """Whether a target metric compares labels, not numbers."""
    return isinstance(metric, str) and metric in DISCRETE_METRICS


def has_no_categories(y: np.ndarray) -> bool:
    """Whether targets are numbers that are not whole, or several columns: no two of them would be equal."""
    if y.ndim == 2 and y.shape[1] > 1:
        return True
    return bool(y.dtype.kind == "f" and (y[np.isfinite(y)] % 1 != 0).any())


def _graph(matrix: CsrMatrix) -> Graph:
    return Graph(matrix.indptr, matrix.indices, matrix.data)


def check_target_weight(weight: Any) -> float:
    """``target_weight`` as a number from 0 to 1."""
    if isinstance(weight, bool) or not isinstance(weight, Real):
        raise WrongType(f"target_weight={weight!r} must be a number")
    value = as_float(weight, "target_weight")
    if not 0 <= value <= 1:
        raise ValueError(f"target_weight={weight!r} must be from 0 to 1")
    return value


def check_target_neighbors(n_neighbors: Any) -> int:
    """``target_n_neighbors`` as an integer of at least 2."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, Integral):
        raise WrongType(f"target_n_neighbors={n_neighbors!r} must be an integer")
    if n_neighbors < 2:
        raise ValueError(f"target_n_neighbors={n_neighbors!r} must be at least 2, or -1 to use n_neighbors")
    return int(n_neighbors)


def _check_length(y: np.ndarray, n: int) -> None:
    if y.ndim == 0 or len(y) != n:
        raise ValueError(f"y has shape {y.shape}, but X has {n} rows: give one target per row")


# --- labels ---


def _read_labels(y: Any, n: int, metric: str) -> np.ndarray:
    """One label per row, of any type."""
    # NumPy would turn a list of several types into strings, and its missing labels too.
    labels = label_array(np.array(y, object) if isinstance(y, list | tuple) else to_host(y))
    _check_length(labels, n)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"y has shape {labels.shape}, but target_metric={metric!r} takes one label per row: use a metric "
            "of numbers, such as target_metric='euclidean', for several columns"
        )
    if labels.dtype.kind in "fc" and np.isinf(labels).any():
        raise ValueError("y contains infinite values: mark unknown targets by NaN")
    return labels


def _unknown_labels(labels: np.ndarray, metric: str) -> np.ndarray:
    """Which labels are missing or, for categories, -1."""
    unknown = missing_labels(labels)
    if metric != "categorical" or labels.dtype.kind not in "ifcO":
        return unknown
    if labels.dtype != object:
        return np.asarray(unknown | (labels == UNKNOWN_LABEL))
    marked = (isinstance(label, Real) and label == UNKNOWN_LABEL for label in labels.tolist())
    return np.asarray(unknown | np.fromiter(marked, bool, len(labels)))


def _codes(labels: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The distinct labels, and the number of each label among them."""
    if labels.dtype != object:
        distinct, codes = np.unique(labels, return_inverse=True)
        return distinct.tolist(), codes.reshape(-1)
    numbers: dict[Any, int] = {}
    try:
        codes = np.array([numbers.setdefault(label, len(numbers)) for label in labels.tolist()], np.int64)
    except TypeError:
        raise WrongType("y contains labels that cannot be hashed: give numbers or strings") from None
    return list(numbers), codes


# A metric of labels: distances of pairs of known labels, (labels, left, right, parameters) -> (pairs,).
_DiscreteMetric = Callable[[np.ndarray, np.ndarray, np.ndarray, "dict[str, Any]"], np.ndarray]


def _discrete_distances(
    matrix: CsrMatrix,
    labels: np.ndarray,
    known: np.ndarray,
    metric: _DiscreteMetric,
    parameters: dict[str, Any],
    scale: float,
) -> np.ndarray:
    """The distance in y of every edge, multiplied by ``scale``: (edges,)."""
    rows = entry_rows(matrix.indptr)
    both = known[rows] & known[matrix.indices]
    number = np.cumsum(known) - 1  # of a row among the known ones
    distances = np.full(matrix.nnz, _UNKNOWN_DISTANCE)
    left, right = number[rows[both]], number[matrix.indices[both]]
    distances[both] = scale * metric(labels[known], left, right, parameters)
    return distances


def _categorical(
    labels: np.ndarray, left: np.ndarray, right: np.ndarray, parameters: dict[str, Any]
) -> np.ndarray:
    codes = _codes(labels)[1]
    return np.asarray(codes[left] != codes[right], np.float64)


def _hierarchical(
    labels: np.ndarray, left: np.ndarray, right: np.ndarray, parameters: dict[str, Any]
) -> np.ndarray:
    levels = parameters.get("cat_hierarchy")
    if not isinstance(levels, list | tuple) or not levels:
        raise ValueError(
            "target_metric='hierarchical_categorical' needs "
            "target_metric_kwds={'cat_hierarchy': [...]}, a dict from label to category per level"
        )
    distinct, codes = _codes(labels)
    distances = np.ones(len(left))
    for level in range(len(levels) - 1, -1, -1):
        missing = [label for label in distinct if label not in levels[level]]
        if missing:
            raise ValueError(
                f"level {level} of cat_hierarchy has no category for the label {missing[0]!r} of y"
            )
        categories = np.empty(len(distinct), object)
        categories[:] = [levels[level][label] for label in distinct]
        groups = _codes(categories)[1][codes]
        distances[groups[left] == groups[right]] = level / len(levels)
    return distances


def _ordinal(
    labels: np.ndarray, left: np.ndarray, right: np.ndarray, parameters: dict[str, Any]
) -> np.ndarray:
    ranks = _numbers(labels, "ordinal")
    half_range = float(np.ptp(ranks)) / 2
    size = _parameter(parameters, "support_size", half_range)
    return np.asarray(np.abs(ranks[left] - ranks[right]) / size)


def _count(labels: np.ndarray, left: np.ndarray, right: np.ndarray, parameters: dict[str, Any]) -> np.ndarray:
    """The sum of -log P(k) over the counts k between two, P Poisson's, over half of that over all counts."""
    numbers = _numbers(labels, "count")
    if numbers.min() < 0 or (numbers != np.floor(numbers)).any() or numbers.max() > _MAX_COUNT:
        raise ValueError(
            f"target_metric='count' needs whole numbers from 0 to {_MAX_COUNT} in y: use 'ordinal' or "
            "'euclidean' for other numbers"
        )
    counts = numbers.astype(np.int64)
    mean = _parameter(parameters, "poisson_lambda", numbers.mean())
    steps = np.arange(1, int(counts.max()) + 1)
    log_factorials = np.concatenate([[0.0], np.cumsum(log(steps))])
    surprise = (mean - np.arange(len(log_factorials)) * float(log(mean))) + log_factorials
    below = np.concatenate([[0.0], np.cumsum(surprise)])  # below[k]: the sum over 0 ... k - 1
    half_range = float(below[counts.max()] - below[counts.min()]) / 2
    size = _parameter(parameters, "normalisation", half_range)
    return np.asarray(np.abs(below[counts[left]] - below[counts[right]]) / size)


def _string(
    labels: np.ndarray, left: np.ndarray, right: np.ndarray, parameters: dict[str, Any]
) -> np.ndarray:
    """Edit distances over a third of the longest text's length, from where on they count as 1."""
    distinct, codes = _codes(labels)
    texts = [label if isinstance(label, str) else str(label) for label in distinct]
    size = _parameter(parameters, "normalisation", max(map(len, texts)) / 3)
    pairs = codes[left] * len(texts) + codes[right]
    different, places = np.unique(pairs, return_inverse=True)
    found = edit_distances(texts, different // len(texts), different % len(texts), math.ceil(size))
    return np.asarray(np.minimum(found / size, 1.0)[places.reshape(-1)])


def _parameter(parameters: dict[str, Any], name: str, otherwise: Any) -> float:
    return as_float(parameters.get(name, otherwise), f"target_metric_kwds {name}") or 1.0


def _numbers(labels: np.ndarray, metric: str) -> np.ndarray:
    return to_floats(
        labels,
        "y",
        lambda: WrongType(
            f"y holds {labels.dtype}, but target_metric={metric!r} needs numbers: use 'categorical' or "
            "'string'"
        ),
    )


_DISCRETE: dict[str, _DiscreteMetric] = {
    "categorical": _categorical,
    "hierarchical_categorical": _hierarchical,
    "ordinal": _ordinal,
    "count": _count,
    "string": _string,
}
DISCRETE_METRICS = (*_DISCRETE, "myers")


# --- numbers ---


def _read_numbers(y: Any, n: int, metric: object) -> tuple[np.ndarray, np.ndarray]:
    """Targets as (n, columns) float64, and which rows have no missing value."""
    if isinstance(metric, str) and metric == "precomputed":
        raise ValueError("target_metric='precomputed' is not possible: give y itself and a metric")
    values = label_array(np.array(y, object) if isinstance(y, list | tuple) else to_host(y))
    _check_length(values, n)
    if values.ndim > 2 or 0 in values.shape:
        raise ValueError(
            f"y has shape {values.shape}, but must have one row per row of X: (n,) or (n, columns)"
        )
    wrong = WrongType(
        f"y holds {values.dtype}, but target_metric={metric!r} needs numbers: use "
        "target_metric='categorical' for labels"
    )
    if values.dtype.kind not in "biufO":
        raise wrong
    numbers = to_floats(np.where(missing_labels(values), np.nan, values), "y", lambda: wrong)
    if np.isinf(numbers).any():
        raise ValueError("y contains infinite values: mark unknown targets by NaN")
    rows = numbers.reshape(n, -1)
    return rows, np.asarray(~np.isnan(rows).any(axis=1))


def _target_matrix(
    rows: np.ndarray,
    k: int,
    metric: str | Callable[..., float],
    parameters: dict[str, Any],
    backend: Backend,
    threads: int,
) -> CsrMatrix:
    """UMAP's similarities of every row's nearest neighbours in y, in one direction."""
    try:
        loaded = backend.load_rows(backend.read_rows(rows, metric))
        found = backend.nearest_neighbors(loaded, k, metric, threads, parameters)
    except (TypeError, ValueError) as error:
        raise type(error)(f"target_metric={metric!r} cannot be used with y: {error}") from error
    ids, distances = (to_host(part) for part in (found.indices, found.distances))
    affinity, distance = engine.Affinity["umap"], engine.Distance["pseudo"]
    weights = engine.row_affinities(
        np.ascontiguousarray(distances), affinity, distance, (), 1.0, 1.0, threads
    )
    return directed_matrix(ids, weights, len(rows))


def _replace_known(matrix: CsrMatrix, known: np.ndarray, of_known: CsrMatrix) -> CsrMatrix:
    """The matrix with other edges between known rows; the edges of all other rows stay as they are."""
    rows = entry_rows(matrix.indptr)
    stays = ~(known[rows] & known[matrix.indices])
    offsets = np.concatenate([[0], np.cumsum(stays)])[matrix.indptr]
    rest = csr_matrix((matrix.data[stays], matrix.indices[stays], offsets), shape=matrix.shape)
    numbers = np.flatnonzero(known)
    sizes = np.zeros(len(known), np.int64)
    sizes[known] = np.diff(of_known.indptr)
    scattered = (of_known.data, numbers[of_known.indices], np.concatenate([[0], np.cumsum(sizes)]))
    result = csr_matrix(rest + csr_matrix(scattered, shape=matrix.shape))
    result.sort_indices()
    return result
