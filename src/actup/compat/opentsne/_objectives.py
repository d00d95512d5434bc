"""kl_divergence_bh() and kl_divergence_fft(): the gradient of an embedding, as its optimiser asks for it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from actup._engine import engine
from actup.compat.opentsne._interpolation import InterpolationGrid
from actup.quality._gradient import Repulsion, Similarities, kl_gradient

# (embedding, P, dof=, bh_params=, fft_params=, reference_embedding=, should_eval_error=, n_jobs=)
Objective = Callable[..., tuple[float, np.ndarray]]

# In a map narrower than this, the kernel hardly varies: a mesh in single precision would lose the forces.
_SMALL_MAP = 1.0


def kl_divergence_bh(
    embedding: np.ndarray,
    P: csr_matrix | Similarities,
    dof: float,
    bh_params: dict[str, Any],
    reference_embedding: Any = None,
    should_eval_error: bool = False,
    n_jobs: int = 1,
    **_: Any,
) -> tuple[float, np.ndarray]:
    """The KL divergence (0 unless ``should_eval_error``) and its gradient, with repulsion by a tree.

    The repulsion of a reference embedding is summed over all of its points.
    """
    points, similarities = _points(embedding), _similarities(P)
    if points.shape[1] > 3:
        warnings.warn(
            "a Barnes-Hut tree serves at most three dimensions: repulsion is summed over all pairs instead, "
            "and openTSNE may reject this",
            category=FutureWarning,
            stacklevel=2,
        )
    if reference_embedding is not None:
        reference = _points(reference_embedding)
        return _partial(
            points,
            similarities,
            reference,
            dof,
            lambda: engine.repulsion_from_reference(points, reference, dof, n_jobs),
            should_eval_error,
            n_jobs,
        )
    theta = bh_params["theta"]
    exact = theta == 0 or points.shape[1] > 3
    repulsion = Repulsion("exact") if exact else Repulsion("barnes_hut", theta=theta)
    return _whole(points, similarities, repulsion, dof, should_eval_error, n_jobs)


def kl_divergence_fft(
    embedding: np.ndarray,
    P: csr_matrix | Similarities,
    dof: float,
    fft_params: dict[str, Any],
    reference_embedding: Any = None,
    should_eval_error: bool = False,
    n_jobs: int = 1,
    cache: dict[float, Repulsion] | None = None,
    **_: Any,
) -> tuple[float, np.ndarray]:
    """The KL divergence (0 unless ``should_eval_error``) and its gradient, with repulsion by a mesh.

    The repulsion of a reference embedding is read from its interpolation grid. ``cache`` keeps the transforms
    of a mesh from one call to the next.
    """
    points, similarities = _points(embedding), _similarities(P)
    if points.shape[1] > 2:
        raise RuntimeError(
            f"negative_gradient_method='fft' needs one or two dimensions, not {points.shape[1]}: use 'bh'"
        )
    if reference_embedding is not None:
        if reference_embedding.interp_coeffs is None:
            reference_embedding.prepare_interpolation_grid()
        grid: InterpolationGrid = reference_embedding.interp_coeffs
        return _partial(
            points,
            similarities,
            _points(reference_embedding),
            dof,
            lambda: grid.repulsion_at(points),
            should_eval_error,
            n_jobs,
        )
    spacing = mesh_spacing(points, **fft_params)
    meshes = {} if cache is None else cache
    if spacing not in meshes:
        meshes[spacing] = Repulsion("mesh", spacing=spacing)
    is_small = np.ptp(points, axis=0).max() < _SMALL_MAP
    repulsion = Repulsion("barnes_hut") if is_small else meshes[spacing]
    return _whole(points, similarities, repulsion, dof, should_eval_error, n_jobs)


def mesh_spacing(
    embedding: np.ndarray, n_interpolation_points: int, min_num_intervals: int, ints_in_interval: float
) -> float:
    """The distance between the lines of the mesh.

    It is that of the nodes in openTSNE, whose intervals hold ``n_interpolation_points`` of them; half as much
    while the embedding is narrower than ``min_num_intervals``.
    """
    spacing = float(ints_in_interval) / n_interpolation_points
    extent = float(np.ptp(np.asarray(embedding), axis=0).max())
    return spacing if extent >= min_num_intervals * ints_in_interval else spacing / 2


def _points(embedding: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(embedding, np.float64).view(np.ndarray)


def _similarities(P: csr_matrix | Similarities) -> Similarities:
    return P if isinstance(P, Similarities) else Similarities.from_scipy(P)


def _whole(
    points: np.ndarray, P: Similarities, repulsion: Repulsion, dof: float, measure: bool, n_jobs: int
) -> tuple[float, np.ndarray]:
    """Of an embedding whose points repel each other."""
    gradient, divergence = kl_gradient(P, points, repulsion, dof=dof, measure=measure, threads=n_jobs)
    return divergence if measure else 0.0, gradient


def _partial(
    points: np.ndarray,
    P: Similarities,
    reference: np.ndarray,
    dof: float,
    repel: Callable[[], tuple[np.ndarray, np.ndarray]],
    measure: bool,
    n_jobs: int,
) -> tuple[float, np.ndarray]:
    """Of new points, each of which only interacts with the points of a finished embedding."""
    attraction, entropy = engine.attraction_to_reference(
        P.offsets, P.indices, P.weights, points, reference, dof, measure, n_jobs
    )
    push, sums = repel()
    sums = np.maximum(sums, np.finfo(float).tiny)
    gradient = attraction - push / sums
    if not measure:
        return 0.0, gradient
    row_weights = np.add.reduceat(np.append(P.weights, 0.0), P.offsets[:-1]) * (np.diff(P.offsets) > 0)
    logarithms = np.log(sums.ravel())
    return float(entropy + math.fsum(row_weights * logarithms)), gradient
