"""The layout of the oracle, in the sections of docs/layout.md: dense matrices over all pairs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from actup._typing import Array
from actup.backends._base import PointInputs, check_places, check_steering
from actup.backends._layout_state import StateOwner, progress_arrays, read_progress, read_state
from actup.backends._reference.losses import LOSSES, EpochPairs, sum_forces
from actup.backends._reference.random import random_below, random_bits
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe
from actup.recipe._switches import (
    LearningRateUnit,
    NonEdgeWeight,
    Optimizer,
    Repulsion,
    RepulsionMass,
    Sampling,
    Update,
)

_BLOCK_POINTS = 16  # consecutive points that share a run of negatives
_COLOURS = 128  # edges that find no colour overflow: they act one by one
_TINY = 1e-12  # added to every squared distance
_RADIUS_EPSILON = 1e-8  # added to a point's mean squared edge length
_RELABELLING_EPOCH = 2**32 - 1  # the "epoch" of the random keys by which points are relabelled


class Layout:
    """A descent that can be run in steps; matrices are (n, n) and all arrays in relabelled order."""

    def __init__(
        self,
        graph: Graph,
        start: np.ndarray,
        recipe: Recipe,
        seed: int,
        points: PointInputs | None = None,
    ):
        n = len(graph)
        inputs = (points or PointInputs()).checked(n, recipe)
        self.epoch = 0
        self.n_epochs = recipe.n_epochs(n)
        self._recipe, self._seed = recipe, seed
        self._owner = StateOwner("reference", n, recipe, seed)
        self._loss = LOSSES[recipe.loss]
        self._factor = 0.0  # of all attractions in the last epoch
        self._schedule = recipe.schedule(n)
        self._expansion_ended = False
        self._steering = 1.0, 1.0  # factors of exaggeration and repulsion
        self._a, self._b = recipe.kernel()
        # "Before the first epoch", 3: order[new id] = id in the caller's order
        keys = [random_bits(seed, _RELABELLING_EPOCH, i, 0) for i in range(n)]
        self._order = np.array(sorted(range(n), key=keys.__getitem__), int)
        self._r = relative_weights(graph, self.n_epochs if recipe.prune else 0)[
            np.ix_(self._order, self._order)
        ]
        self._y = np.array(start, np.float64)[self._order]
        mobility = np.ones(n, np.float32) if inputs.mobility is None else inputs.mobility
        self._mobility = mobility.astype(np.float64)[self._order, None]
        if inputs.log_radii is not None:
            self._log_radii = inputs.log_radii.astype(np.float64)[self._order]
        self._update = np.zeros_like(self._y)
        self._gain = np.ones_like(self._y)
        # "Before the first epoch", 2
        self._strength = self._r.sum(axis=1, dtype=np.float64)
        self._degree = (self._r > 0).sum(axis=1)
        self._total = self._strength.sum()
        self._p_max = 1 / self._total if self._total else 0.0
        self._mean_weight = self._total / self._degree.sum() if self._total else 0.0
        if recipe.update is Update.IN_PLACE:
            self._matchings, self._overflow = edge_matchings(self._r, self._order)

    def run(self, until: int) -> None:
        """Advance to epoch ``until``; does nothing if it is already there."""
        while self.epoch < min(until, self.n_epochs):
            match self._recipe.update:
                case Update.BATCH:
                    self._step(*self._forces())
                case Update.IN_PLACE:
                    self._move_in_place()
            self.epoch += 1

    def replace_points(self, Y: Array) -> None:
        """Continue from the places Y; steps keep their momentum, the schedule its epoch."""
        self._y = check_places(Y, *self._y.shape).astype(np.float64)[self._order]

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion by these factors from the next epoch on."""
        check_steering(exaggeration, repulsion)
        self._steering = exaggeration, repulsion

    def embedding(self) -> np.ndarray:
        """The current points in the caller's order: (n, n_components) float32, a copy."""
        Y = np.empty(self._y.shape, np.float32)
        Y[self._order] = self._y
        return Y

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs."""
        arrays = {"points": self._y.copy(), "update": self._update.copy(), "gain": self._gain.copy()}
        arrays["expansion_ended"] = np.array([self._expansion_ended])
        return self._owner.labelled({**progress_arrays(self.epoch, self._steering), **arrays})

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        arrays = self._owner.checked(state)
        y, update, gain = (read_state(arrays, name, self._y) for name in ("points", "update", "gain"))
        expansion_ended = read_state(arrays, "expansion_ended", np.array([False]))
        self.epoch, self._steering = read_progress(arrays, self.n_epochs)
        self._y, self._update, self._gain = y, update, gain
        self._expansion_ended = bool(expansion_ended[0])

    def loss(self) -> float:
        """The recipe's loss at the current points, over all ordered pairs of different points."""
        others = ~np.eye(len(self._y), dtype=bool)
        d2, q, _, _ = self._kernel()
        r, d2, q = self._r[others].astype(np.float64), d2[others], q[others]
        fixed_Z = self._fixed_Z()
        if self._recipe.normalized:
            Z = q.sum() if fixed_Z is None else fixed_Z
            p, q = r * self._p_max, q / max(Z, np.finfo(float).tiny)
            return self._loss.normalized_value(p, q, fixed_Z is not None)
        one_minus_q = q * self._a * d2**self._b  # no cancellation where q is near 1
        return self._loss.unnormalized_value(r, q, one_minus_q)

    # Schedules

    def _learning_rate(self) -> float:
        return float(self._schedule.learning_rate[self.epoch])

    def _exaggeration(self) -> float:
        return self._steering[0] * float(self._schedule.exaggeration[self.epoch])

    def _momentum(self) -> float:
        begin, end = self._schedule.expansion
        if self._expansion_ended and begin <= self.epoch < end:
            return self._schedule.momentum_after_stop
        return float(self._schedule.momentum[self.epoch])

    def _dilation(self) -> float:
        return 0.0 if self._expansion_ended else float(self._schedule.dilation[self.epoch])

    def _repeats(self) -> int:
        return 2 if self._recipe.symmetric_attraction else 1  # f

    def _non_edge_weight(self) -> float:
        return 1 - self._mean_weight if self._recipe.non_edge_weight is NonEdgeWeight.MEAN else 1.0  # kappa

    # Which attractions act, which points repel

    def _attraction_weights(self) -> np.ndarray:
        """The weights v of the attractions in this epoch; 0 where no edge acts."""
        t, r = self.epoch, self._r.astype(np.float64)
        acts = np.floor(np.float32(t + 1) * self._r) > np.floor(np.float32(t) * self._r)
        p_max = self._p_max if self._recipe.normalized else 1.0
        match self._recipe.sampling:
            case Sampling.EXHAUSTIVE:
                v = r * p_max
            case Sampling.SCALAR:
                v = acts * 1.0
            case Sampling.UNBIASED:
                v = acts * p_max
            case Sampling.ACCELERATED:
                v = acts * (r * p_max)
        return np.asarray(v)

    def _runs(self, half: int, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The runs of negatives: whether k is in S_i, (n, n), and their lengths m_i."""
        n = len(self._y)
        blocks = range(-(-n // _BLOCK_POINTS))
        starts = [random_below(random_bits(self._seed, self.epoch, block, half), n) for block in blocks]
        first = np.repeat(np.array(starts, int), _BLOCK_POINTS)[:n]
        length = np.full(n, min(self._recipe.negatives, n))
        if self._recipe.repulsion_mass is RepulsionMass.PER_EDGE:
            length = np.minimum((v > 0).sum(axis=1), n)
        if self._recipe.repulsion_for(n) is not Repulsion.SAMPLED:  # the oracle always sums over all pairs
            first, length = np.zeros(n, int), np.full(n, n)
        repels = (np.arange(n) - first[:, None]) % n < length[:, None]
        np.fill_diagonal(repels, False)
        return repels, length

    def _repulsion_factors(self, length: np.ndarray) -> np.ndarray:
        """The factors kappa g_i of the unnormalised repulsion."""
        match self._recipe.repulsion_mass:
            case RepulsionMass.PER_EDGE:
                mass = np.ones(len(length))
            case RepulsionMass.DEGREE:
                mass = self._degree / length
            case RepulsionMass.STRENGTH:
                mass = self._strength / length
        return self._steering[1] * self._non_edge_weight() * self._recipe.repulsion_rate * mass

    # Forces

    def _kernel(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """d², q and s of all pairs, and y_i - y_j."""
        difference = self._y[:, None] - self._y
        d2 = (difference**2).sum(axis=2) + _TINY
        return d2, *self._similarity(d2), difference

    def _similarity(self, d2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kernel q and its slope s."""
        base = 1 + self._a * d2**self._b / self._recipe.dof
        return base**-self._recipe.dof, d2 ** (self._b - 1) / base

    def _fixed_Z(self) -> float | None:
        partition = self._recipe.partition
        return None if partition is None else partition * len(self._y) ** 2

    def _unnormalized_attraction(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        return self._loss.leading_factor(self._a, self._b, False) * self._loss.attraction(q, s)

    def _unnormalized_repulsion(self, d2: np.ndarray, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        epsilon = self._recipe.repulsion_epsilon
        return self._loss.unnormalized_repulsion(d2, q, s, self._a, self._b, epsilon)

    def _forces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Attraction and repulsion, whose sum is F, each (n, n_components), and the stiffness D (n,)."""
        d2, q, s, difference = self._kernel()
        v = self._attraction_weights()
        repels, length = self._runs(0, v)
        attraction_factor = self._exaggeration() * self._repeats()
        if not self._recipe.normalized:
            coefficients = attraction_factor * v * self._unnormalized_attraction(q, s)
            R = sum_forces(repels * self._unnormalized_repulsion(d2, q, s), difference)
            R = self._repulsion_factors(length)[:, None] * R
            stiffness = coefficients.sum(axis=1)
            if self.epoch >= self._recipe.density_begin(len(self._y)):
                density = self._density_coefficients(d2, q, s)
                coefficients = coefficients - density
                stiffness = stiffness + np.abs(density).sum(axis=1)
            return -sum_forces(coefficients, difference), R, stiffness
        in_points = self._recipe.learning_rate_unit is LearningRateUnit.POINTS
        self._factor, R = self._loss.normalized_forces(
            EpochPairs(self._a, self._b, q, s, difference, v, repels, length, self._fixed_Z(), in_points)
        )
        coefficients = self._factor * attraction_factor * v * self._loss.attraction(q, s)
        return -sum_forces(coefficients, difference), self._steering[1] * R, coefficients.sum(axis=1)

    def _density_coefficients(self, d2: np.ndarray, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """The factors of y_i - y_j in the density term: (n, n)."""
        ab, b = self._a * self._b, self._b
        kernels = np.where(self._r > 0, q, 0)
        totals = kernels.sum(axis=1)
        known = totals > 0  # a point without edges has no radius
        if not known.any():
            return np.zeros_like(q)
        totals = np.where(known, totals, 1)
        means = (kernels * d2).sum(axis=1) / totals
        radii = np.log(_RADIUS_EPSILON + means)
        map_part = np.where(known, radii - radii[known].mean(), 0)
        data_part = np.where(known, self._log_radii - self._log_radii[known].mean(), 0)
        n = known.sum()
        variance = (map_part**2).sum() / n + self._recipe.density_shift
        if variance == 0:
            return np.zeros_like(q)
        weights = data_part - (map_part * data_part).sum() / n / variance * map_part
        # the derivative of point i's radius by the squared length of its edge to j, times its weight
        slopes = kernels * (1 - b * (1 - q) + ab * s * means[:, None])
        slopes *= (weights / ((_RADIUS_EPSILON + means) * totals))[:, None]
        factor = self._repeats() * self._recipe.density_weight * self._total / (n * np.sqrt(variance))
        return np.asarray(factor * (slopes + slopes.T))

    # Steps

    def _step(self, attraction: np.ndarray, repulsion: np.ndarray, stiffness: np.ndarray) -> None:
        recipe, rate, force = self._recipe, self._learning_rate(), attraction + repulsion
        middle, dilation = np.zeros(self._y.shape[1]), np.zeros(self._y.shape[1])
        match recipe.optimizer:
            case Optimizer.STEP:
                self._update = self._cap(self._momentum() * self._update + rate * force)
            case Optimizer.GAINS:
                gain = np.where(force * self._update > 0, self._gain + 0.2, 0.8 * self._gain)
                self._gain = np.clip(gain, 0.01, 1000)
                gradient = recipe.force_scale * force * self._gain
                if recipe.gradient_clip is not None:
                    gradient = np.clip(gradient, -recipe.gradient_clip, recipe.gradient_clip)
                self._update = rate * gradient + self._momentum() * self._update
            case Optimizer.STIFFNESS:
                self._end_expansion_if_balanced(attraction, repulsion)
                used = np.maximum(stiffness, self._least_stiffness())[:, None] + _TINY**2
                self._update = self._cap(self._momentum() * self._update + rate * force / used)
                if (self._mobility == 1).all():  # else the points that are not free say where the map is
                    centred = np.arange(self._y.shape[1]) < 3
                    middle = self._y.mean(axis=0) * centred
                    dilation = self._dilation() * centred
        self._y = self._y + self._mobility * (self._update - middle + dilation * (self._y - middle))

    def _least_stiffness(self) -> np.ndarray:
        """The stiffness floor: a share of the stiffness of a point whose neighbours are all close."""
        if not self._recipe.normalized:
            full = self._loss.leading_factor(self._a, self._b, False) * self._strength
        else:
            p = 1.0 if self._recipe.sampling is Sampling.SCALAR else self._p_max
            full = np.full(len(self._y), self._factor * p * self._total / len(self._y))
        return np.asarray(self._schedule.stiffness_floor[self.epoch] * full)

    def _end_expansion_if_balanced(self, attraction: np.ndarray, repulsion: np.ndarray) -> None:
        """Stop the points once the forces start to contract the map, i.e. their virial is negative."""
        begin, end = self._schedule.expansion
        watched = self._recipe.normalized and self._loss.watches_expansion and begin <= self.epoch < end
        place = (self._y - self._y.mean(axis=0))[:, :3]
        if watched and not self._expansion_ended and (place * (attraction + repulsion)[:, :3]).sum() < 0:
            self._expansion_ended = True
            self._update = np.zeros_like(self._update)

    def _cap(self, step: np.ndarray) -> np.ndarray:
        longest = self._schedule.step_cap[self.epoch]
        length = np.sqrt((step**2).sum(axis=1, keepdims=True))
        return np.where(length > longest, step * longest / np.where(length > 0, length, 1), step)

    # In-place steps over matchings

    def _move_in_place(self) -> None:
        v = self._attraction_weights()
        for half in (0, 1):
            for matching in self._matchings[half::2]:
                self._pull_together(matching, v)
            if half == 1:
                for edge in self._overflow:
                    self._pull_together([edge], v)
            d2, q, s, difference = self._kernel()
            repels, length = self._runs(half, v)
            R = sum_forces(repels * self._unnormalized_repulsion(d2, q, s), difference)
            g = self._repulsion_factors(length)[:, None]
            moves = self._remove_outward_part(self._cap(self._learning_rate() * g / 2 * R))
            self._y = self._y + self._mobility * moves

    def _remove_outward_part(self, moves: np.ndarray) -> np.ndarray:
        """The moves, without their outward part for points beyond the horizon."""
        if self._recipe.horizon is None:
            return moves
        offset = self._y - self._y.mean(axis=0)
        squared = (offset**2).sum(axis=1)
        outward = (offset * moves).sum(axis=1)
        beyond = (squared > self._recipe.horizon**2 * squared.mean()) & (outward > 0)
        removed = np.where(beyond, outward / np.maximum(squared, _TINY), 0)
        return np.asarray(moves - removed[:, None] * offset)

    def _pull_together(self, edges: list[tuple[int, int]], v: np.ndarray) -> None:
        """Move both ends of edges that share no point."""
        i, j = np.array([edge for edge in edges if v[edge] > 0], int).reshape(-1, 2).T
        for _ in range(self._repeats()):
            difference = self._y[i] - self._y[j]
            d2 = (difference**2).sum(axis=1) + _TINY
            q, s = self._similarity(d2)
            rate = self._learning_rate() * self._exaggeration()
            move = (rate * v[i, j] * self._unnormalized_attraction(q, s))[:, None] * difference
            self._y[i] -= self._mobility[i] * move
            self._y[j] += self._mobility[j] * move


def relative_weights(graph: Graph, epochs_to_prune_for: int) -> np.ndarray:
    """The relative weights r in float32, without edges below 1/epochs (0: all edges), in caller's order."""
    r: np.ndarray = graph.to_scipy().toarray()
    if r.size and r.max() > 0:
        r = r / r.max()
    if epochs_to_prune_for:
        r[r < np.float32(1) / np.float32(epochs_to_prune_for)] = 0
    return r


def edge_matchings(
    r: np.ndarray, order: np.ndarray
) -> tuple[list[list[tuple[int, int]]], list[tuple[int, int]]]:
    """The greedy colouring: the edges (i, j) of each colour, and those that overflow."""
    n = len(r)
    used: list[set[int]] = [set() for _ in range(n)]
    matchings: list[list[tuple[int, int]]] = []
    overflow: list[tuple[int, int]] = []
    for i in range(n):
        in_row_order = sorted(np.flatnonzero(r[i]), key=order.__getitem__)
        for j in (int(j) for j in in_row_order if j > i):
            colour = next((c for c in range(_COLOURS) if c not in used[i] and c not in used[j]), None)
            if colour is None:
                overflow.append((i, j))
                continue
            if colour == len(matchings):
                matchings.append([])
            matchings[colour].append((i, j))
            used[i].add(colour)
            used[j].add(colour)
    return matchings, overflow
