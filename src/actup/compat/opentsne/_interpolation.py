"""InterpolationGrid: the repulsion of a finished embedding, tabulated for points that are added to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actup._engine import engine

_MAX_NODES = 2**20  # a wider grid gets wider spaces


@dataclass(frozen=True)
class InterpolationGrid:
    """Sums over all points of an embedding at the nodes of a grid, interpolated by cubic splines.

    Attributes
    ----------
    axes : tuple of ndarray
        Coordinates of the nodes along each axis; one or two axes.
    coefficients : ndarray of shape (1 + n_components, *nodes)
        Spline coefficients of the sum of the kernel, then of the forces along each axis.
    """

    axes: tuple[np.ndarray, ...]
    coefficients: np.ndarray

    @classmethod
    def of_embedding(
        cls, points: np.ndarray, spacing: float, padding: float, dof: float, threads: int
    ) -> InterpolationGrid:
        """Tabulate the repulsion of points (n, 1 or 2) within their box, widened by a share ``padding``."""
        from scipy.ndimage import spline_filter

        low, high = points.min(axis=0), points.max(axis=0)
        margin = padding * (high - low).max() + spacing
        sizes = (high - low) + 2 * margin
        spacing = max(spacing, float(np.prod(sizes) / _MAX_NODES) ** (1 / len(sizes)))
        axes = tuple(
            begin - margin + spacing * np.arange(int(np.ceil(size / spacing)) + 1)
            for begin, size in zip(low, sizes, strict=True)
        )
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        force, sums = engine.repulsion_from_reference(
            np.ascontiguousarray(nodes.reshape(-1, len(axes))), points, dof, threads
        )
        values = np.hstack([sums, force]).T.reshape(-1, *nodes.shape[:-1])
        return cls(axes, np.stack([spline_filter(value, mode="nearest") for value in values]))

    def repulsion_at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The forces (m, n_components) at points, and the sums of the kernel (m, 1)."""
        from scipy.ndimage import map_coordinates

        places = [
            (points[:, c] - axis[0]) / (axis[1] - axis[0]) for c, axis in enumerate(self.axes)
        ]  # in units of the spaces
        values = [
            map_coordinates(table, places, order=3, mode="nearest", prefilter=False)
            for table in self.coefficients
        ]
        return np.stack(values[1:], axis=1), values[0][:, None]
