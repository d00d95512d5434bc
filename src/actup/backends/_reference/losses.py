"""The losses of the oracle, one class each: their values over all pairs, and the forces they give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from actup.recipe._switches import Loss


@dataclass(frozen=True)
class EpochPairs:
    """All pairs of points in one epoch of the normalised setting; the letters are those of docs/layout.md."""

    a: float
    b: float
    q: np.ndarray  # kernel, (n, n)
    s: np.ndarray  # slope, (n, n)
    difference: np.ndarray  # y_i - y_j, (n, n, dimensions)
    v: np.ndarray  # weights of the attractions, (n, n)
    repels: np.ndarray  # whether k is in S_i, (n, n)
    length: np.ndarray  # m_i, (n,)
    fixed_sum: float | None  # Z, if the recipe fixes it
    rate_in_points: bool


class ReferenceLoss(ABC):
    """How the losses differ in their forces."""

    has_second_force = False  # in the normalised setting
    watches_expansion = False  # optimizer "stiffness" stops the expansion of the map

    @abstractmethod
    def leading_factor(self, a: float, b: float, normalized: bool) -> float:
        """The factor of all attractions."""

    @abstractmethod
    def attraction(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """The attraction of pairs along y_i - y_j, without its leading factor."""

    @abstractmethod
    def normalized_repulsion(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """The repulsion of pairs in the normalised setting, without its leading factor."""

    @abstractmethod
    def unnormalized_repulsion(
        self, d2: np.ndarray, q: np.ndarray, s: np.ndarray, a: float, b: float, epsilon: float
    ) -> np.ndarray:
        """The repulsion of pairs in the unnormalised setting."""

    @abstractmethod
    def normalized_forces(self, pairs: EpochPairs) -> tuple[float, np.ndarray]:
        """The factor of all attractions and the repulsion of every point, (n, dimensions)."""

    @abstractmethod
    def normalized_value(self, p: np.ndarray, q: np.ndarray, fixed_Z: bool) -> float:
        """The loss of normalised similarities; with a fixed Z, q need not sum to 1."""

    @abstractmethod
    def unnormalized_value(self, r: np.ndarray, q: np.ndarray, one_minus_q: np.ndarray) -> float:
        """The loss of similarities between 0 and 1."""


class KlLoss(ReferenceLoss):
    """Kullback-Leibler divergence: t-SNE's and UMAP's loss."""

    watches_expansion = True

    def leading_factor(self, a: float, b: float, normalized: bool) -> float:
        return (4 if normalized else 2) * a * b

    def attraction(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        return s

    def normalized_repulsion(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(s * q)

    def unnormalized_repulsion(
        self, d2: np.ndarray, q: np.ndarray, s: np.ndarray, a: float, b: float, epsilon: float
    ) -> np.ndarray:
        return 2 * b / ((epsilon + d2) * (1 + a * d2**b))

    def normalized_forces(self, pairs: EpochPairs) -> tuple[float, np.ndarray]:
        factor = self.leading_factor(pairs.a, pairs.b, True)
        R = sum_forces(pairs.repels * self.normalized_repulsion(pairs.q, pairs.s), pairs.difference)
        Z = (pairs.repels * pairs.q).sum() if pairs.repels.any() else np.inf
        if pairs.fixed_sum is not None:
            Z = pairs.fixed_sum * pairs.length[0] / len(pairs.q)  # R is a sum over this share of all points
        return factor, factor * R / Z

    def normalized_value(self, p: np.ndarray, q: np.ndarray, fixed_Z: bool) -> float:
        excess = q.sum() - p.sum() if fixed_Z else 0.0
        return float(_relative_entropy(p, q).sum() + excess)

    def unnormalized_value(self, r: np.ndarray, q: np.ndarray, one_minus_q: np.ndarray) -> float:
        return float((_relative_entropy(r, q) + _relative_entropy(1 - r, one_minus_q)).sum())


class FrobeniusLoss(ReferenceLoss):
    """The squared difference of the similarities."""

    has_second_force = True

    def leading_factor(self, a: float, b: float, normalized: bool) -> float:
        return (8 if normalized else 4) * a * b

    def attraction(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(s * q)

    def normalized_repulsion(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(s * q**2)

    def unnormalized_repulsion(
        self, d2: np.ndarray, q: np.ndarray, s: np.ndarray, a: float, b: float, epsilon: float
    ) -> np.ndarray:
        return np.asarray(self.leading_factor(a, b, False) * s * q**2)

    def normalized_forces(self, pairs: EpochPairs) -> tuple[float, np.ndarray]:
        n, N = len(pairs.q), pairs.repels.sum()
        q, s, repels = pairs.q, pairs.s, pairs.repels
        R = sum_forces(repels * self.normalized_repulsion(q, s), pairs.difference)
        R_prime = sum_forces(repels * s * q, pairs.difference)
        Z = (repels * q).sum() * n * (n - 1) / N if N else np.inf
        Q = (repels * q**2).sum() * n * (n - 1) / N if N else 0.0
        W = (pairs.v * q).sum()
        scale = 0.1 if pairs.rate_in_points else 1 / Z  # times Z/10 if learning rates are in points
        factor = self.leading_factor(pairs.a, pairs.b, True) * scale
        all_points = n / np.maximum(pairs.length, 1)[:, None]
        return factor, factor * all_points * (R / Z + (W / Z - Q / Z**2) * R_prime)

    def normalized_value(self, p: np.ndarray, q: np.ndarray, fixed_Z: bool) -> float:
        return float(((p - q) ** 2).sum())

    def unnormalized_value(self, r: np.ndarray, q: np.ndarray, one_minus_q: np.ndarray) -> float:
        return float(((r - q) ** 2).sum())


LOSSES: dict[Loss, ReferenceLoss] = {
    Loss.KL: KlLoss(),
    Loss.FROBENIUS: FrobeniusLoss(),
}


def sum_forces(coefficients: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """sum_j coefficient_ij (y_i - y_j)."""
    return np.asarray(np.einsum("ij,ijk->ik", coefficients, difference))


def _relative_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p log(p/q), and 0 where p is 0."""
    return p * np.log(np.where(p > 0, p, 1) / np.where(p > 0, q, 1))
