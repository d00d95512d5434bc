"""The placement of new rows by the oracle, as in docs/layout.md; each row is independent of the others."""

from __future__ import annotations

import numpy as np

from actup.backends._reference.affinities import directed_affinities
from actup.backends._reference.losses import LOSSES, sum_forces
from actup.backends._reference.random import random_below, random_bits
from actup.graph._records import Neighbors
from actup.recipe._recipe import Recipe
from actup.transform._placement import Placement, check_ids

_TINY = 1e-12  # added to every squared distance


def place_rows(
    neighbors: Neighbors, embedding: np.ndarray, recipe: Recipe, placement: Placement, threads: int = 1
) -> np.ndarray:
    """Place new rows on a map.

    Parameters
    ----------
    neighbors : Neighbors
        The neighbours of every new row among the points of the map; none at distance 0.
    embedding : ndarray of shape (n, n_components)
        The map.
    recipe : Recipe
        Its affinity, ``normalized`` and ``loss``.
    placement : Placement
    threads : int
        Ignored: the oracle runs on one thread.

    Returns
    -------
    ndarray of shape (len(neighbors), n_components), float32
    """
    check_ids(neighbors, len(embedding))
    return _Rows(neighbors, embedding.astype(np.float64), recipe, placement).placed().astype(np.float32)


class _Rows:
    """The descent of all new rows."""

    def __init__(self, neighbors: Neighbors, map_: np.ndarray, recipe: Recipe, placement: Placement):
        self._map, self._recipe, self._placement = map_, recipe, placement
        self._loss = LOSSES[recipe.loss]
        self._ids = neighbors.indices
        self._near = map_[neighbors.indices]  # rows x k x dimensions
        weights = directed_affinities(neighbors.distances.astype(np.float64), recipe)
        scale = weights.sum(axis=1) if recipe.normalized else weights.max(axis=1)
        self._weights = weights / scale[:, None]
        self._strength = self._weights.sum(axis=1)

    def placed(self) -> np.ndarray:
        y = self._start()
        for epoch in range(self._placement.epochs):
            y = y + self._step(y, epoch)
        return y

    def _start(self) -> np.ndarray:
        """The neighbour's place at which the weighted sum of log q is largest; ties go to the lowest id."""
        d2 = ((self._near[:, :, None] - self._near[:, None]) ** 2).sum(axis=3) + _TINY
        scores = (self._weights[:, None] * np.log(self._similarity(d2)[0])).sum(axis=2)
        scores = np.float32(scores)
        best = np.where(scores == scores.max(axis=1, keepdims=True), self._ids, len(self._map)).min(axis=1)
        return np.asarray(self._map[best])

    def _similarity(self, d2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kernel q and its slope s."""
        a, b, dof = self._placement.curve
        base = 1 + a * d2**b / dof
        return base**-dof, d2 ** (b - 1) / base

    def _samples(self, epoch: int) -> np.ndarray:
        """The points of the map that serve as negatives of all rows in this epoch."""
        n, count, seed = len(self._map), self._placement.samples, self._placement.seed
        if count >= n:
            return np.arange(n)
        return np.array([random_below(random_bits(seed, epoch, 0, draw), n) for draw in range(count)])

    def _step(self, y: np.ndarray, epoch: int) -> np.ndarray:
        placement = self._placement
        force, stiffness, full = (
            self._normalized(y, epoch) if self._recipe.normalized else self._unnormalized(y, epoch)
        )
        decay = 1 - epoch / placement.epochs
        used = np.maximum(stiffness, placement.stiffness_floor * full) + _TINY
        step = placement.learning_rate * decay * force / used[:, None]
        longest, length = placement.step_cap * decay, np.sqrt((step**2).sum(axis=1, keepdims=True))
        shortened = step * longest / np.where(length > 0, length, 1)
        return np.asarray(np.where(length > longest, shortened, step))

    def _pairs(
        self, y: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Differences to points (rows x points x dimensions), d², q and s."""
        difference = y[:, None] - points
        d2 = (difference**2).sum(axis=2) + _TINY
        return difference, d2, *self._similarity(d2)

    def _far(
        self, y: np.ndarray, epoch: int
    ) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """The pairs with the samples, which samples are not neighbours of the row, and their number."""
        samples = self._samples(epoch)
        counts = ~(samples[None, :, None] == self._ids[:, None, :]).any(axis=2)
        return self._pairs(y, self._map[samples]), counts, counts.sum(axis=1)

    def _unnormalized(self, y: np.ndarray, epoch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Force, stiffness, and the stiffness if all neighbours were close, in the unnormalised setting."""
        placement, (a, b, _) = self._placement, self._placement.curve
        difference, _, q, s = self._pairs(y, self._near)
        leading = self._loss.leading_factor(a, b, False)
        coefficients = placement.attraction * leading * self._weights * self._loss.attraction(q, s)
        (apart, d2, far_q, far_s), counts, m = self._far(y, epoch)
        repulsion = self._loss.unnormalized_repulsion(d2, far_q, far_s, a, b, placement.epsilon)
        k = self._ids.shape[1]
        mass = np.full(len(y), k) if placement.mass_is_degree else self._strength
        kappa = 1 - self._strength / k if placement.mean_non_edge_weight else 1
        g = kappa * placement.repulsion * mass / np.maximum(m, 1)
        force = -sum_forces(coefficients, difference) + g[:, None] * sum_forces(counts * repulsion, apart)
        return force, coefficients.sum(axis=1), leading * self._strength

    def _normalized(self, y: np.ndarray, epoch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Force, stiffness, and the stiffness if all neighbours were close, in the normalised setting."""
        placement = self._placement
        difference, _, q, s = self._pairs(y, self._near)
        coefficients = placement.attraction * self._weights * self._loss.attraction(q, s)
        (apart, _, far_q, far_s), counts, m = self._far(y, epoch)
        each = (len(self._map) - self._ids.shape[1]) / np.maximum(m, 1)

        def over_all(near: np.ndarray, far: np.ndarray) -> np.ndarray:
            """A sum over all points of the map: over neighbours, and an estimate over the others."""
            return np.asarray(near + (each if near.ndim == 1 else each[:, None]) * far)

        Z: float | np.ndarray = over_all(q.sum(axis=1), (counts * far_q).sum(axis=1))
        Z = placement.partition if placement.partition > 0 else Z
        near, far = self._loss.normalized_repulsion(q, s), self._loss.normalized_repulsion(far_q, far_s)
        R = over_all(sum_forces(near, difference), sum_forces(counts * far, apart))
        inverse = np.broadcast_to(1 / np.asarray(Z), len(y))[:, None]
        repulsion = R * inverse
        if self._loss.has_second_force:
            R_prime = over_all(sum_forces(s * q, difference), sum_forces(counts * far_s * far_q, apart))
            Q = over_all((q**2).sum(axis=1), (counts * far_q**2).sum(axis=1))
            W = (self._weights * q).sum(axis=1)
            repulsion = repulsion + (W[:, None] - Q[:, None] * inverse) * inverse * R_prime
        return -sum_forces(coefficients, difference) + repulsion, coefficients.sum(axis=1), self._strength
