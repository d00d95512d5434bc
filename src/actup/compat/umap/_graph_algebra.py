"""The functions of ``umap.umap_`` that change or combine graphs: intersections, unions, and by labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actup._elementary import exp
from actup._values import reject_mask
from actup.graph import _set_operations

SMOOTH_K_TOLERANCE = 1e-5  # of the sum of a row's weights


def reset_local_connectivity(simplicial_set: Any, reset_local_metric: bool = False) -> Any:
    """Scale every row so that its strongest edge is 1, and join both directions again.

    Parameters
    ----------
    simplicial_set : sparse matrix of shape (n, n)
    reset_local_metric : bool, default=False
        Whether to raise each row to the power with which its sum is log2(15), too.

    Returns
    -------
    CSR matrix of shape (n, n), float32

    See Also
    --------
    general_simplicial_set_intersection : Intersects two graphs.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.umap_ import reset_local_connectivity
    >>> reset_local_connectivity(csr_matrix([[0, 0.5], [0.5, 0]])).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return _set_operations.reset_local_connectivity(simplicial_set, reset_local_metric)


def discrete_metric_simplicial_set_intersection(
    simplicial_set: Any,
    discrete_space: Any,
    unknown_dist: float = 1.0,
    far_dist: float = 5.0,
    metric: str | None = None,
    metric_kws: Mapping[str, Any] | None = None,
    metric_scale: float = 1.0,
) -> Any:
    """Weaken the edges of a graph between rows whose labels differ.

    Parameters
    ----------
    simplicial_set : sparse matrix of shape (n, n)
    discrete_space : array-like of shape (n,) or (n, columns)
        Labels; -1 is unknown.
    unknown_dist : float, default=1.0
        An edge of a row whose label is unknown is multiplied by e to minus this.
    far_dist : float, default=5.0
        An edge between different labels is multiplied by e to minus this.
    metric : str, default=None
        A metric of ``umap.distances.named_distances`` between the labels, in place of equal or not.
    metric_kws : dict, default=None
        Its parameters, in their order.
    metric_scale : float, default=1.0
        Factor of its distances.

    Returns
    -------
    CSR matrix of shape (n, n), float32

    See Also
    --------
    general_simplicial_set_intersection : Intersects two graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.umap_ import discrete_metric_simplicial_set_intersection
    >>> graph = csr_matrix(np.ones((4, 4)) - np.eye(4))
    >>> joined = discrete_metric_simplicial_set_intersection(graph, [7, 7, 8, 8])
    >>> (joined.toarray()[0] > 0.5).tolist()
    [False, True, False, False]
    """
    from actup.compat.umap.distances import named_distances

    graph = _set_operations.canonical(simplicial_set).tocoo()
    reject_mask(discrete_space, "discrete_space")
    labels = np.asarray(discrete_space)
    if labels.shape != graph.shape[:1]:
        raise ValueError(
            f"discrete_space has shape {labels.shape}, but must hold one label for each of "
            f"{graph.shape[0]} samples"
        )
    one, other = labels[graph.row], labels[graph.col]
    if metric is None:
        unknown = (one == -1) | (other == -1)
        lengths = np.where(unknown, unknown_dist, np.where(one != other, far_dist, 0.0))
    elif metric in named_distances:
        arguments = tuple((metric_kws or {}).values())
        distance = named_distances[metric]
        lengths = np.array([distance(a, b, *arguments) for a, b in zip(one, other, strict=True)], float)
        lengths = lengths * metric_scale
    else:
        raise ValueError(f"metric={metric!r} is not in umap.distances.named_distances")
    graph.data = (graph.data * exp(-lengths)).astype(np.float32)
    graph.eliminate_zeros()
    return _set_operations.reset_local_connectivity(graph.tocsr())


def general_simplicial_set_intersection(
    simplicial_set1: Any, simplicial_set2: Any, weight: float = 0.5, right_complement: bool = False
) -> Any:
    """The intersection of two graphs of the same rows.

    Parameters
    ----------
    simplicial_set1, simplicial_set2 : sparse matrix of shape (n, n)
    weight : float, default=0.5
        0: the first graph decides, 1: the second.
    right_complement : bool, default=False
        Whether to intersect with the complement of the second graph.

    Returns
    -------
    COO matrix of shape (n, n), float32

    See Also
    --------
    general_simplicial_set_union : Unites two graphs.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.umap_ import general_simplicial_set_intersection
    >>> one, other = csr_matrix([[0, 1.0], [1.0, 0]]), csr_matrix([[0, 0.25], [0.25, 0]])
    >>> general_simplicial_set_intersection(one, other).toarray().tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    graphs = simplicial_set1, simplicial_set2
    return _set_operations.intersect(*graphs, weight, right_complement, like_umap_learn=True).tocoo()


def general_simplicial_set_union(simplicial_set1: Any, simplicial_set2: Any) -> Any:
    """The union of two graphs of the same rows.

    Parameters
    ----------
    simplicial_set1, simplicial_set2 : sparse matrix of shape (n, n)

    Returns
    -------
    COO matrix of shape (n, n), float32

    See Also
    --------
    general_simplicial_set_intersection : Intersects two graphs.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.umap_ import general_simplicial_set_union
    >>> one, other = csr_matrix([[0, 0.5], [0.5, 0]]), csr_matrix([[0, 0.5], [0.5, 0]])
    >>> general_simplicial_set_union(one, other).toarray().tolist()
    [[0.0, 0.75], [0.75, 0.0]]
    """
    return _set_operations.unite(simplicial_set1, simplicial_set2).tocoo()


def fast_intersection(
    rows: np.ndarray,
    cols: np.ndarray,
    values: np.ndarray,
    target: Any,
    unknown_dist: float = 1.0,
    far_dist: float = 5.0,
) -> None:
    """Weaken, in place, the weights of edges whose ends have different or unknown (-1) labels."""
    labels = np.asarray(target)
    one, other = labels[rows], labels[cols]
    lengths = np.where((one == -1) | (other == -1), unknown_dist, np.where(one != other, far_dist, 0.0))
    values *= exp(-lengths)


def fast_metric_intersection(
    rows: np.ndarray,
    cols: np.ndarray,
    values: np.ndarray,
    discrete_space: Any,
    metric: Callable[..., float],
    metric_args: tuple[Any, ...],
    scale: float,
) -> None:
    """Weaken, in place, the weights of edges by the distances of the labels of their ends."""
    pairs = zip(rows, cols, strict=True)
    lengths = [metric(discrete_space[row], discrete_space[column], *metric_args) for row, column in pairs]
    values *= exp(-scale * np.array(lengths, np.float64))


def reprocess_row(probabilities: Any, k: float = 15, n_iters: int = 32) -> np.ndarray:
    """The weights of a row to the power with which their sum is log2(k), found by bisection."""
    weights, wanted = np.asarray(probabilities), math.log2(k)
    least, exponent, largest = 0.0, 1.0, math.inf
    for _ in range(n_iters):
        total = float((weights**exponent).sum())
        if abs(total - wanted) < SMOOTH_K_TOLERANCE:
            break
        if total < wanted:
            largest = exponent
        else:
            least = exponent
        exponent = 2 * exponent if largest == math.inf else (least + largest) / 2
    return np.asarray(weights**exponent)


def reset_local_metrics(simplicial_set_indptr: np.ndarray, simplicial_set_data: np.ndarray) -> None:
    """Apply ``reprocess_row``, in place, to every row of a CSR matrix."""
    for begin, end in itertools.pairwise(simplicial_set_indptr):
        simplicial_set_data[begin:end] = reprocess_row(simplicial_set_data[begin:end])
