"""The layout of the oracle under an output metric: plain distances, gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from actup._typing import Array
from actup.backends._base import check_steering
from actup.backends._layout_state import StateOwner, progress_arrays, read_progress, read_state
from actup.backends._reference.layout import relative_weights
from actup.backends._reference.random import random_below, random_bits
from actup.graph._records import Graph
from actup.recipe._output_metrics import output_metric_name, output_metric_parameter
from actup.recipe._recipe import Recipe
from actup.recipe._switches import RepulsionMass, Sampling

_STEP = 1e-6  # of finite differences
_LARGEST_FORCE = 4.0  # along each axis
_TWO_PI = 2 * np.pi
_STEP_SIZES = {"haversine": 0.03} | dict.fromkeys(("cosine", "correlation", "canberra", "braycurtis"), 0.1)
_STEP_SIZE = 0.3  # of other metrics

Point = np.ndarray


def _hyperboloid(x: Point, y: Point, p: float) -> float:
    inner = np.sqrt(1 + x @ x) * np.sqrt(1 + y @ y) - x @ y
    return float(np.arccosh(max(inner, 1.0)))


def _covariance(x: Point) -> np.ndarray:
    """The covariance of a Gaussian given by mean and one variance, two variances, or those and an angle."""
    width, height = abs(x[2]), abs(x[3] if len(x) > 3 else x[2])
    angle = x[4] if len(x) > 4 else 0.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(turn @ np.diag([width, height]) @ turn.T)


def _gaussian_energy(x: Point, y: Point, p: float) -> float:
    S, u = _covariance(x) + _covariance(y), x[:2] - y[:2]
    return float(u @ np.linalg.solve(S, u) + np.log(np.linalg.det(S)) + np.log(_TWO_PI))


def _axis_gaussian_energy(x: Point, y: Point, p: float) -> float:
    S, u = _covariance(x) + _covariance(y), x[:2] - y[:2]
    return float((u @ np.linalg.solve(S, u) + np.log(np.linalg.det(S))) / 2 + np.log(_TWO_PI))


def _cosine(x: Point, y: Point, p: float) -> float:
    return float(1 - x @ y / np.sqrt((x @ x) * (y @ y)))


REFERENCE_DISTANCES: dict[str, Callable[[Point, Point, float], float]] = {
    "haversine": lambda x, y, p: float(2 * np.arcsin(min(np.sqrt(((x - y) ** 2).sum()) / 2, 1))),
    "hyperboloid": _hyperboloid,
    "spherical_gaussian_energy": _axis_gaussian_energy,
    "diagonal_gaussian_energy": _axis_gaussian_energy,
    "gaussian_energy": _gaussian_energy,
    "manhattan": lambda x, y, p: float(np.abs(x - y).sum()),
    "chebyshev": lambda x, y, p: float(np.abs(x - y).max()),
    "minkowski": lambda x, y, p: float((np.abs(x - y) ** p).sum() ** (1 / p)),
    "cosine": _cosine,
    "correlation": lambda x, y, p: _cosine(x - x.mean(), y - y.mean(), p),
    "canberra": lambda x, y, p: float((np.abs(x - y) / (np.abs(x) + np.abs(y))).sum()),
    "braycurtis": lambda x, y, p: float(np.abs(x - y).sum() / np.abs(x + y).sum()),
}


def _unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.sqrt((x**2).sum(axis=-1, keepdims=True)))


def _with_variances_from(least: float) -> Callable[[np.ndarray], np.ndarray]:
    """Keep the variances so large that no energy is below 0."""
    return lambda x: np.concatenate([x[..., :2], np.maximum(np.abs(x[..., 2:4]), least), x[..., 4:]], axis=-1)


def _same(x: np.ndarray) -> np.ndarray:
    return x


# Moves changed internal coordinates back to where they are valid.
INTERNAL: dict[str, Callable[[np.ndarray], np.ndarray]] = dict.fromkeys(REFERENCE_DISTANCES, _same) | {
    "haversine": _unit,
    "spherical_gaussian_energy": _with_variances_from(1 / (2 * _TWO_PI)),
    "diagonal_gaussian_energy": _with_variances_from(1 / (2 * _TWO_PI)),
    "gaussian_energy": _with_variances_from(1 / np.sqrt(4 * _TWO_PI)),
}


class MetricLayout:
    """A descent under an output metric that can be run in steps; all arrays are in the caller's order."""

    def __init__(self, graph: Graph, start: np.ndarray, recipe: Recipe, seed: int):
        n = len(graph)
        self.epoch, self.n_epochs = 0, recipe.n_epochs(n)
        self._recipe, self._seed = recipe, seed
        self._owner = StateOwner("reference, output metric", n, recipe, seed)
        self._metric = output_metric_name(recipe)
        self._schedule = recipe.schedule(n)
        self._steering = 1.0, 1.0  # factors of exaggeration and repulsion
        self._a, self._b = recipe.kernel()
        self._p = output_metric_parameter(recipe)
        self._r = relative_weights(graph, self.n_epochs if recipe.prune else 0)
        degree = recipe.repulsion_mass is RepulsionMass.DEGREE
        self._mass = (self._r > 0).sum(axis=1) if degree else self._r.sum(axis=1, dtype=np.float64)
        self._y = self._from_map(np.array(start, np.float64))

    def run(self, until: int) -> None:
        """Advance to epoch ``until``; does nothing if it is already there."""
        while self.epoch < min(until, self.n_epochs):
            self._y = np.array([self._moved(i) for i in range(len(self._y))])
            self.epoch += 1

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs."""
        return self._owner.labelled({**progress_arrays(self.epoch, self._steering), "points": self._y.copy()})

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        arrays = self._owner.checked(state)
        y = read_state(arrays, "points", self._y)
        self.epoch, self._steering = read_progress(arrays, self.n_epochs)
        self._y = y

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion by these factors from the next epoch on."""
        check_steering(exaggeration, repulsion)
        self._steering = exaggeration, repulsion

    def embedding(self) -> np.ndarray:
        """The current points: (n, n_components) float32, a copy."""
        Y = self._y
        if self._recipe.output_metric == "haversine":
            Y = np.column_stack([np.arccos(np.clip(Y[:, 2], -1, 1)), np.arctan2(Y[:, 1], Y[:, 0])])
        return np.array(Y, np.float32)

    def replace_points(self, Y: Array) -> None:
        """Not possible: the coordinates of other spaces are not those of the descent."""
        raise ValueError(
            f"points of a map under output_metric={self._recipe.output_metric!r} cannot be replaced"
        )

    def loss(self) -> float:
        """The recipe's loss at the current points, over all ordered pairs of different points."""
        total = 0.0
        for i, j in np.argwhere(~np.eye(len(self._y), dtype=bool)):
            r, powered = (
                float(self._r[i, j]),
                self._a * max(self._distance(self._y[i], self._y[j]), 0) ** (2 * self._b),
            )
            q, gap = 1 / (1 + powered), max(powered / (1 + powered), 1e-12)
            total += (r * np.log(r / q) if r else 0.0) + ((1 - r) * np.log((1 - r) / gap) if r < 1 else 0.0)
        return total

    def _from_map(self, Y: np.ndarray) -> np.ndarray:
        if self._recipe.output_metric != "haversine":
            return INTERNAL[self._metric](Y)
        polar, longitude = Y.T
        sine = np.sin(polar)
        return np.column_stack([sine * np.cos(longitude), sine * np.sin(longitude), np.cos(polar)])

    def _moved(self, i: int) -> Point:
        """Where a point is after its steps of an epoch; the others are where they were before it."""
        recipe, t = self._recipe, self.epoch
        y: Point = self._y[i].copy()
        rate = float(self._schedule.learning_rate[t])
        exaggeration, repulsion = self._steering
        factor = (
            exaggeration * float(self._schedule.exaggeration[t]) * (2 if recipe.symmetric_attraction else 1)
        )
        for j in np.flatnonzero(self._r[i]):
            y = self._step(y, self._y[j], rate * factor * self._acting_weight(self._r[i, j]), attracts=True)
        size = rate * repulsion * recipe.repulsion_rate * float(self._mass[i]) / recipe.negatives
        for draw in range(recipe.negatives):
            other = random_below(random_bits(self._seed, t, i, draw), len(self._y))
            if other != i:
                y = self._step(y, self._y[other], size, attracts=False)
        return y

    def _acting_weight(self, r: np.float32) -> float:
        """The weight of an attraction in this epoch; 0 if it does not act."""
        t, sampling = self.epoch, self._recipe.sampling
        if sampling is Sampling.EXHAUSTIVE:
            return float(r)
        if not np.floor(np.float32(t + 1) * r) > np.floor(np.float32(t) * r):
            return 0.0
        return 1.0 if sampling in (Sampling.SCALAR, Sampling.UNBIASED) else float(r)

    def _step(self, y: Point, other: Point, size: float, *, attracts: bool) -> Point:
        d = self._distance(y, other)
        if size == 0 or d <= 0:
            return y
        powered = self._a * d ** (2 * self._b)
        if attracts:
            slope = -2 * self._b * powered / (d * (1 + powered))
        else:
            slope = 2 * self._b * d / ((self._recipe.repulsion_epsilon + d * d) * (1 + powered))
        force = np.clip(slope * self._gradient(y, other), -_LARGEST_FORCE, _LARGEST_FORCE)
        size *= _STEP_SIZES.get(self._metric, _STEP_SIZE)
        return np.asarray(INTERNAL[self._metric](y + size * force))

    def _distance(self, x: Point, y: Point) -> float:
        return REFERENCE_DISTANCES[self._metric](x, y, self._p)

    def _gradient(self, x: Point, y: Point) -> np.ndarray:
        valid = INTERNAL[self._metric]
        steps = _STEP * np.eye(len(x))
        changes = [self._distance(valid(x + step), y) - self._distance(valid(x - step), y) for step in steps]
        return np.array(changes) / (2 * _STEP)
