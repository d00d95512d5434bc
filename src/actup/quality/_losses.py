"""The losses of a map over all pairs: KL divergence, UMAP's cross entropy, Frobenius norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from actup._engine import engine
from actup._threads import count_threads
from actup.graph._records import Graph
from actup.quality._inputs import NotMeasurable, check_map
from actup.recipe._switches import Repulsion


@dataclass(frozen=True)
class PairLosses:
    """A graph and a map, and the sums over their edges and pairs that all losses are made of.

    The squared distance of two points is taken 1e-12 larger than it is, as in the layout, so that log(1 - q)
    is finite where they coincide.

    Attributes
    ----------
    graph : Graph
    Y : ndarray of shape (n, dimensions), float64
    a : float
    b : float
    threads : int
    dof : float
        Of the kernel q = (1 + a d^2b/dof)^-dof.
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

    def __post_init__(self):
        for name, value in (("a", self.a), ("b", self.b), ("dof", self.dof)):
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name}={value!r} must be a finite number greater than 0")
        _check_method(self.method, self.Y.shape[1])
        if len(self.graph) != len(self.Y):
            raise ValueError(f"the graph has {len(self.graph)} points and Y has {len(self.Y)} rows")

    def kl_divergence(self, Z: float | None = None) -> float:
        """sum p log(p/q), both normalised to sum 1; a given Z divides q instead, and q - p is added."""
        if Z is not None:
            excess = self.kernel_sum[0] / Z - (1.0 if len(self._weights) else 0.0)
            return self._relative_entropy(Z) + excess
        return self._relative_entropy(self.kernel_sum[0])

    @cached_property
    def kernel_sum(self) -> tuple[float, str]:
        """The sum Z of the kernel over all ordered pairs, and the method that found it."""
        method = kernel_sum_method(*self.Y.shape) if self.method == Repulsion.AUTO else self.method
        if method == Repulsion.MESH:
            mesh = engine.Mesh(engine.PotentialKind.kernel, self._curve, 0.0, _MESH_SPACING, _MESH_LINES)
            total = mesh.repel(self._centred, self.threads)[2]
            if mesh.spacing <= _COARSEST:
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
        return float(xlogy(p, p).sum() - log_kernel / total + math.log(Z))

    def cross_entropy(self) -> float:
        """sum r log(r/q) + (1 - r) log((1 - r)/(1 - q)); dof has to be 1."""
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
        return np.ascontiguousarray(self.Y - self.Y.mean(axis=0), np.float32)

    @cached_property
    def _pairs(self) -> tuple[float, float, float]:
        """Sums of q, q² and log(1 - q) over all ordered pairs."""
        return engine.pair_sums(self._centred, self._curve, self.threads)

    @cached_property
    def _edges(self) -> tuple[float, float, float]:
        """Sums of w q, w log q and w log(1 - q) over all stored edges."""
        graph = self.graph
        return engine.edge_sums(
            graph.offsets, graph.indices, graph.weights, self._centred, self._curve, self.threads
        )

    @property
    def _curve(self):
        return engine.Curve(self.a, self.b, self.dof)


# Sums over pairs that are not exact: both are good to about 0.1 % of Z, which is 0.001 of the divergence.
_EXACT_POINTS = 200_000  # pairs of so many take some seconds
_MESH_SPACING, _COARSEST = 0.25, 0.7
_MESH_LINES = 2304
_THETA = 0.3
_METHODS = (Repulsion.AUTO, Repulsion.EXACT, Repulsion.MESH, Repulsion.BARNES_HUT)


def kernel_sum_method(n: int, dimensions: int) -> str:
    """What method "auto" stands for: "exact" while all pairs take seconds, then the best that there is."""
    if n <= _EXACT_POINTS or dimensions > 3:
        return "exact"
    return "mesh" if dimensions <= 2 else "barnes_hut"


def _check_method(method: str, dimensions: int) -> None:
    if method not in _METHODS:
        raise ValueError(f"method={method!r} is not one of {', '.join(repr(str(m)) for m in _METHODS)}")
    most = {Repulsion.MESH: 2, Repulsion.BARNES_HUT: 3}.get(Repulsion(method), dimensions)
    if dimensions > most:
        raise ValueError(f"method={str(method)!r} serves maps of at most {most} dimensions, not {dimensions}")


def measurable_losses(
    graph: Graph, Y, a: float, b: float, n_jobs: int, dof: float = 1.0, method: str = "exact"
) -> PairLosses:
    """The losses of a map, refused where the graph has no edges to compare it with."""
    if not len(graph.weights):
        raise NotMeasurable("the graph has no edges")
    return PairLosses(graph, check_map(Y), a, b, count_threads(n_jobs), dof, method)


def kl_divergence(
    graph: Graph,
    Y,
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
        Of n points; p are its weights, scaled to sum 1.
    Y : array of shape (n, dimensions)
    a : float
    b : float
    dof : float
        q is the kernel (1 + a d^2b/dof)^-dof, scaled to sum 1 over all ordered pairs.
    method : {"exact", "mesh", "barnes_hut", "auto"}
        How the kernel is summed over all pairs: exactly, in time O(n²); by a mesh (one and two dimensions;
        a map with far outliers falls to Barnes-Hut) or a Barnes-Hut tree (up to three), within about 0.1 %,
        which changes the result by about 0.001; "auto": exactly up to 200,000 points.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        At least 0; lower is better.
    """
    return measurable_losses(graph, Y, a, b, n_jobs, dof, method).kl_divergence()


def cross_entropy(graph: Graph, Y, a: float = 1.0, b: float = 1.0, *, n_jobs: int = -1) -> float:
    """The loss of UMAP, exact: sum r log(r/q) + (1 - r) log((1 - r)/(1 - q)) over all ordered pairs.

    Parameters
    ----------
    graph : Graph
        Of n points; r are its weights over the largest one, and 0 for every pair that is not an edge.
    Y : array of shape (n, dimensions)
    a : float
    b : float
        q is the kernel 1/(1 + a d^2b), where d² is 1e-12 larger than the squared distance.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        At least 0; lower is better. Takes O(n²) time.
    """
    return measurable_losses(graph, Y, a, b, n_jobs).cross_entropy()


def frobenius_loss(
    graph: Graph, Y, a: float = 1.0, b: float = 1.0, *, normalized: bool = False, n_jobs: int = -1
) -> float:
    """The squared Frobenius norm of the difference between the similarities in X and in the map, exact.

    Parameters
    ----------
    graph : Graph
        Of n points.
    Y : array of shape (n, dimensions)
    a : float
    b : float
        Of the kernel q = 1/(1 + a d^2b).
    normalized : bool
        Whether weights and kernel are each scaled to sum 1 over all pairs; else the weights are taken over
        the largest one and the kernel as it is.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    float
        At least 0; lower is better. Takes O(n²) time.
    """
    return measurable_losses(graph, Y, a, b, n_jobs).frobenius(normalized)
