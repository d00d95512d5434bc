"""The losses of a map over all pairs: KL divergence, UMAP's cross entropy, Frobenius norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from actup._cached_property import cached_property
from actup._engine import engine
from actup._errors import WrongType
from actup._threads import count_threads
from actup._typing import CsrMatrix
from actup._values import as_float, read_flag, read_name
from actup.graph._records import Graph
from actup.quality._inputs import NotMeasurable, check_map
from actup.recipe._switches import Loss, Repulsion


@dataclass(frozen=True)
class PairLosses:
    """A graph and a map, and the sums over their edges and pairs that all losses are made of.

    As in the layout, 1e-12 is added to every squared distance, so that log(1 - q) is finite where points
    coincide.

    Attributes
    ----------
    graph : Graph
    Y : ndarray of shape (n, n_components), float64
    a, b, dof : float
        Parameters of the kernel q = (1 + a d^2b/dof)^-dof.
    threads : int
    method : str
        How the KL divergence sums the kernel over all pairs; see ``kl_divergence``.
    """

    graph: Graph
    Y: np.ndarray
    a: float
    b: float
    threads: int
    dof: float = 1.0
    method: str = "exact"

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b), ("dof", self.dof)):
            if isinstance(value, bool) or not isinstance(value, Real):
                raise WrongType(f"{name}={value!r} must be a number")
            if not 0 < value < math.inf:
                raise ValueError(f"{name}={value!r} must be a finite number greater than 0")
        _check_method(self.method, self.Y.shape[1])
        largest = float(np.abs(self._centred).max(initial=0))
        if not largest < _MAX_COORDINATE:
            raise ValueError(f"Y spans {largest:g}, whose square exceeds float32: divide it by a number")
        self.graph.check_structure()
        if len(self.graph) != len(self.Y):
            raise ValueError(f"the graph has {len(self.graph)} points and Y has {len(self.Y)} rows")

    def value(self, loss: Loss, normalized: bool, Z: float | None = None) -> float:
        """The value of a loss of a recipe; Z fixes the normalisation of "kl"."""
        match loss:
            case Loss.KL:
                return self.kl_divergence(Z) if normalized else self.cross_entropy()
            case Loss.FROBENIUS:
                return self.frobenius(normalized)

    def kl_divergence(self, Z: float | None = None) -> float:
        """sum p log(p/q), with p and q normalised to sum 1.

        If Z is given, q is divided by Z instead of its sum, and sum (q - p) is added.
        """
        if Z is not None:
            excess = self.kernel_sum[0] / Z - (1.0 if len(self._weights) else 0.0)
            return self._relative_entropy(Z) + excess
        return self._relative_entropy(self.kernel_sum[0])

    @cached_property
    def kernel_sum(self) -> tuple[float, str]:
        """The sum Z of the kernel over all ordered pairs, and the method that found it."""
        method = kernel_sum_method(*self.Y.shape) if self.method == Repulsion.AUTO else self.method
        if method == Repulsion.MESH:
            mesh = engine.Mesh(engine.PotentialKind.kernel, self._curve, 0.0, _MESH_SPACING, _MAX_MESH_LINES)
            total = mesh.repel(self._centred, self.threads)[2]
            if mesh.spacing <= _MAX_MESH_SPACING:
                return total, "mesh"
            method = Repulsion.BARNES_HUT
        if method == Repulsion.BARNES_HUT:
            kind = engine.PotentialKind.kernel
            total = engine.tree_repulsion(self._centred, kind, self._curve, 0.0, _THETA, self.threads)[2]
            return total, "barnes_hut"
        return self._pairs[0], "exact"

    def _relative_entropy(self, Z: float) -> float:
        """sum p log(p Z/q), with p normalised to sum 1."""
        if not len(self._weights):
            return 0.0
        total = self._weights.sum()
        p = self._weights / total
        _, log_kernel, _ = self._edges
        return float(xlogy(p, p).sum() - log_kernel / total + (math.log(Z) if Z > 0 else math.inf))

    def cross_entropy(self) -> float:
        """sum r log(r/q) + (1 - r) log((1 - r)/(1 - q)); dof must be 1."""
        largest = self._weights.max(initial=0) or 1.0
        r = self._weights / largest
        constant = xlogy(r, r).sum() + xlogy(1 - r, 1 - r).sum()
        _, log_kernel, log_rest = self._edges
        return float(constant + (log_rest - log_kernel) / largest - self._pairs[2])

    def frobenius(self, normalized: bool) -> float:
        """sum (p - q)² if normalised, else sum (r - q)²."""
        scale = (self._weights.sum() if normalized else self._weights.max(initial=0)) or 1.0
        Z = (self._pairs[0] if normalized else 1.0) or 1.0
        p = self._weights / scale
        return float(p @ p - 2 * self._edges[0] / (scale * Z) + self._pairs[1] / Z**2)

    @cached_property
    def _weights(self) -> np.ndarray:
        return self.graph.weights.astype(np.float64)

    @cached_property
    def _centred(self) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # too large becomes infinite, which is rejected
            return np.ascontiguousarray(self.Y - self.Y.mean(axis=0), np.float32)

    @cached_property
    def _pairs(self) -> tuple[float, float, float]:
        """Sums of q, q² and log(1 - q) over all ordered pairs."""
        sums: tuple[float, float, float] = engine.pair_sums(self._centred, self._curve, self.threads)
        return sums

    @cached_property
    def _edges(self) -> tuple[float, float, float]:
        """Sums of w q, w log q and w log(1 - q) over all stored edges."""
        graph = self.graph
        sums: tuple[float, float, float] = engine.edge_sums(
            graph.offsets, graph.indices, graph.weights, self._centred, self._curve, self.threads
        )
        return sums

    @property
    def _curve(self) -> Any:
        return engine.Curve(as_float(self.a, "a"), as_float(self.b, "b"), as_float(self.dof, "dof"))


_MAX_EXACT_POINTS = 200_000  # summing over all pairs of this many points takes some seconds
# With these settings, mesh and tree sum Z within about 0.1 %, which changes the divergence by about 0.001.
_MESH_SPACING = 0.25
_MAX_MESH_SPACING = 0.7  # a map with far outliers would need a coarser mesh: use the tree instead
_MAX_MESH_LINES = 2304
_THETA = 0.3  # the tree's opening angle
_MAX_COORDINATE = 1e18  # the engine squares coordinates in float32, which ends at 3e38
_METHODS = (Repulsion.AUTO, Repulsion.EXACT, Repulsion.MESH, Repulsion.BARNES_HUT)


def kernel_sum_method(n: int, dimensions: int) -> str:
    """Resolve method "auto": "exact" while all pairs take seconds, then the faster one for the dimensions."""
    if n <= _MAX_EXACT_POINTS or dimensions > 3:
        return "exact"
    return "mesh" if dimensions <= 2 else "barnes_hut"


def _check_method(method: str, dimensions: int) -> None:
    read_name(method, "method", [str(known) for known in _METHODS])
    most = {Repulsion.MESH: 2, Repulsion.BARNES_HUT: 3}.get(Repulsion(method), dimensions)
    if dimensions > most:
        raise ValueError(
            f"method={str(method)!r} needs a map of at most {most} dimensions, got {dimensions}: use 'exact'"
        )


def measurable_losses(
    graph: Graph | CsrMatrix,
    Y: ArrayLike,
    a: float,
    b: float,
    n_jobs: int,
    dof: float = 1.0,
    method: str = "exact",
) -> PairLosses:
    """Return the losses of a map; raise NotMeasurable if the graph has no edges."""
    graph = graph if isinstance(graph, Graph) else Graph.from_scipy(graph)
    if not len(graph.weights):
        raise NotMeasurable("the graph has no edges")
    return PairLosses(graph, check_map(Y), a, b, count_threads(n_jobs), dof, method)


def _finite(loss: float, Y: ArrayLike) -> float:
    """A loss, unless the kernel vanishes in float32 between points of the map."""
    if not math.isfinite(loss):
        widest = float(np.ptp(check_map(Y), axis=0).max())
        raise NotMeasurable(f"Y spans {widest:g}, where the kernel of a and b vanishes: scale Y down")
    return loss


def kl_divergence(
    graph: Graph,
    Y: ArrayLike,
    a: float = 1.0,
    b: float = 1.0,
    *,
    dof: float = 1.0,
    method: str = "exact",
    n_jobs: int = -1,
) -> float:
    """The Kullback-Leibler divergence of t-SNE: sum p log(p/q) over all pairs.

    Parameters
    ----------
    graph : Graph
        Similarities p of n points; they are scaled to sum 1.
    Y : array-like of shape (n, n_components)
        The map.
    a, b : float, default=1.0
        Parameters of the kernel.
    dof : float, default=1.0
        Degrees of freedom of the kernel: q is (1 + a d^2b/dof)^-dof, scaled to sum 1 over all ordered pairs.
    method : {"exact", "mesh", "barnes_hut", "auto"}, default="exact"
        How the kernel is summed over all pairs. "exact" takes O(n²) time. "mesh" (one and two dimensions; a
        map with far outliers falls back to Barnes-Hut) and "barnes_hut" (up to three dimensions) are within
        about 0.1 % of the sum, which changes the result by about 0.001. "auto" is exact up to 200,000 points.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        At least 0; lower is better.

    Raises
    ------
    NotMeasurable
        If the graph has no edges.

    See Also
    --------
    cross_entropy : The loss of UMAP.
    frobenius_loss : The squared difference of the similarities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup import embed
    >>> from actup.quality import kl_divergence
    >>> X = load_iris().data
    >>> result = embed(X, "tsne")
    >>> kl_divergence(result.graph, result.embedding) < kl_divergence(result.graph, X[:, :2])
    True
    """
    return _finite(measurable_losses(graph, Y, a, b, n_jobs, dof, method).kl_divergence(), Y)


def cross_entropy(graph: Graph, Y: ArrayLike, a: float = 1.0, b: float = 1.0, *, n_jobs: int = -1) -> float:
    """The loss of UMAP, exact: sum r log(r/q) + (1 - r) log((1 - r)/(1 - q)) over all ordered pairs.

    Parameters
    ----------
    graph : Graph
        Similarities of n points. r is a weight divided by the largest one, and 0 for a pair without an edge.
    Y : array-like of shape (n, n_components)
        The map.
    a, b : float, default=1.0
        Parameters of the kernel q = 1/(1 + a d^2b), where d² is the squared distance plus 1e-12.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        At least 0; lower is better. Takes O(n²) time.

    Raises
    ------
    NotMeasurable
        If the graph has no edges.

    See Also
    --------
    kl_divergence : The loss of t-SNE.
    frobenius_loss : The squared difference of the similarities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup import embed
    >>> from actup.quality import cross_entropy
    >>> X = load_iris().data
    >>> result = embed(X, "umap")
    >>> cross_entropy(result.graph, result.embedding) < cross_entropy(result.graph, X[:, :2])
    True
    """
    return _finite(measurable_losses(graph, Y, a, b, n_jobs).cross_entropy(), Y)


def frobenius_loss(
    graph: Graph, Y: ArrayLike, a: float = 1.0, b: float = 1.0, *, normalized: bool = False, n_jobs: int = -1
) -> float:
    """The squared Frobenius norm of the difference between the similarities in X and in the map, exact.

    Parameters
    ----------
    graph : Graph
        Similarities of n points.
    Y : array-like of shape (n, n_components)
        The map.
    a, b : float, default=1.0
        Parameters of the kernel q = 1/(1 + a d^2b).
    normalized : bool, default=False
        If True, weights and kernel are each scaled to sum 1 over all pairs. If False, weights are divided by
        the largest one and the kernel is not scaled.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.

    Returns
    -------
    float
        At least 0; lower is better. Takes O(n²) time.

    Raises
    ------
    NotMeasurable
        If the graph has no edges.

    See Also
    --------
    kl_divergence : The loss of t-SNE.
    cross_entropy : The loss of UMAP.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup import embed
    >>> from actup.quality import frobenius_loss
    >>> X = load_iris().data
    >>> result = embed(X, "umap")
    >>> frobenius_loss(result.graph, result.embedding) < frobenius_loss(result.graph, X[:, :2])
    True
    """
    is_normalized = read_flag(normalized, "normalized")
    return _finite(measurable_losses(graph, Y, a, b, n_jobs).frobenius(is_normalized), Y)
