"""KlDivergence: t-SNE's loss of a map and its gradient, one evaluation at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actup._engine import engine
from actup._typing import CsrMatrix

# The sides of the mesh are limited to this many lines: outliers then make it coarser instead of larger.
_MAX_MESH_LINES = 4608


@dataclass(frozen=True)
class Similarities:
    """Similarities of points (rows) to reference points (columns), in compressed rows that are safe to read.

    Attributes
    ----------
    offsets : ndarray of shape (n + 1,), int64
    indices : ndarray of shape (edges,), int32
    weights : ndarray of shape (edges,), float64
    columns : int
        Number of reference points.
    """

    offsets: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    columns: int

    @classmethod
    def from_scipy(cls, matrix: CsrMatrix) -> Similarities:
        """Take over a SciPy CSR matrix of any types; compiled code reads it, so that its ids are checked."""
        offsets = np.ascontiguousarray(matrix.indptr, np.int64)
        rows, columns = matrix.shape
        whole = len(offsets) == rows + 1 and offsets[0] == 0 and offsets[-1] == len(matrix.indices)
        if not whole or len(matrix.data) != len(matrix.indices) or (np.diff(offsets) < 0).any():
            raise ValueError("the similarities are no valid CSR matrix: indptr does not fit its other arrays")
        if len(matrix.indices) and not 0 <= matrix.indices.min() <= matrix.indices.max() < columns:
            raise ValueError(f"the similarities have column numbers that are not 0 to {columns - 1}")
        indices = np.ascontiguousarray(matrix.indices, np.int32)
        return cls(offsets, indices, np.ascontiguousarray(matrix.data, np.float64), columns)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass
class Repulsion:
    """How the kernel q = (1 + d²/dof)^-dof and its forces are summed over all pairs of a map.

    Attributes
    ----------
    method : {"exact", "barnes_hut", "mesh"}
        "exact" takes O(n²) time, in double precision; "barnes_hut" serves up to three dimensions and "mesh"
        up to two.
    theta : float, default=0.5
        How wide a group of points may be relative to its distance, for "barnes_hut".
    spacing : float, default=0.5
        Distance between the lines of the mesh, for "mesh".
    """

    method: str
    theta: float = 0.5
    spacing: float = 0.5
    _mesh: Any = field(default=None, repr=False)  # keeps its transforms from call to call

    def forces(self, Y: np.ndarray, dof: float, threads: int) -> tuple[np.ndarray, float]:
        """The sums of slope q (y_i - y_k) over all k, (n, d), and the sum of q over all ordered pairs."""
        if self.method == "exact":
            force, sums = engine.repulsion_from_reference(Y, Y, dof, threads)
            return force, float(sums.sum() - len(Y))  # without the pairs of a point with itself
        points = np.ascontiguousarray(Y - Y.mean(axis=0), np.float32)
        if not np.isfinite(points).all():
            raise ValueError("places have become infinite: give a smaller learning_rate or exaggeration")
        curve = engine.Curve(1.0, 1.0, dof)
        if self.method == "barnes_hut":
            kind = engine.PotentialKind.kernel
            force, _, total = engine.tree_repulsion(points, kind, curve, 0.0, self.theta, threads)
        else:
            if self._mesh is None:
                kind = engine.PotentialKind.kernel
                self._mesh = engine.Mesh(kind, curve, 0.0, self.spacing, _MAX_MESH_LINES)
            force, _, total = self._mesh.repel(points, threads)
        return np.asarray(force, np.float64), float(total)


def kl_gradient(
    P: Similarities,
    Y: np.ndarray,
    repulsion: Repulsion,
    *,
    dof: float = 1.0,
    exaggeration: float = 1.0,
    measure: bool = True,
    threads: int,
) -> tuple[np.ndarray, float]:
    """A quarter of the gradient of the KL divergence, as openTSNE counts it, and the divergence.

    Parameters
    ----------
    P : Similarities
        Of all points to each other; they sum to 1.
    Y : ndarray of shape (n, n_components), float64
        The map.
    repulsion : Repulsion
    dof : float, default=1.0
    exaggeration : float, default=1.0
        Factor of the attraction in the gradient; the divergence is without it.
    measure : bool, default=True
        Whether the divergence is wanted; NaN otherwise.
    threads : int

    Returns
    -------
    gradient : ndarray of shape (n, n_components), float64
    divergence : float
    """
    attraction, entropy = engine.attraction_to_reference(
        P.offsets, P.indices, P.weights, Y, Y, dof, measure, threads
    )
    push, Z = repulsion.forces(Y, dof, threads)
    tiny = float(np.finfo(float).tiny)
    gradient = exaggeration * attraction - push / max(Z, tiny)
    if not measure:
        return gradient, math.nan
    return gradient, float(entropy + P.weights.sum() * np.log(max(Z, tiny)))
