"""The CPU's layout, and its placement of new rows, under an output metric that is a function of two points.

docs/layout.md, "Output metrics", is the specification. A plain function is called for one pair after the
other; around a function that numba has compiled, numba compiles the steps of an epoch too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actup._typing import Array
from actup.backends._base import check_steering
from actup.backends._layout_state import StateOwner, progress_arrays, read_progress, read_state
from actup.graph._memberships import row_affinities
from actup.graph._records import Graph, Neighbors
from actup.recipe._output_metrics import function_arguments
from actup.recipe._recipe import Recipe
from actup.recipe._switches import RepulsionMass, Sampling
from actup.transform._placement import Placement, check_ids

_STEP_SIZE = 0.3  # as for other metrics that are not bounded
_LARGEST_FORCE = 4.0  # along each axis
_FIRST_RATE_OF_NEW_ROWS = 0.25
_SMALLEST_GAP = 1e-12  # of 1 - q: points at one place have a finite loss


class FunctionLayout:
    """A descent under a function; see ``actup.backends.Layout``."""

    def __init__(self, graph: Graph, start: np.ndarray, recipe: Recipe, seed: int):
        n = len(graph)
        self.epoch, self.n_epochs = 0, recipe.n_epochs(n)
        self._recipe, self._seed = recipe, seed
        self._owner = StateOwner("cpu, function", n, recipe, seed)
        self._schedule = recipe.schedule(n)
        graph = graph.pruned(1 / self.n_epochs) if recipe.prune and self.n_epochs else graph
        self._graph = graph
        self._weights = graph.weights / graph.weights.max(initial=np.float32(1e-30))
        degrees = np.diff(graph.offsets).astype(np.float64)
        strengths = np.bincount(np.repeat(np.arange(n), np.diff(graph.offsets)), self._weights, n)
        self._mass = degrees if recipe.repulsion_mass is RepulsionMass.DEGREE else strengths
        self._steps = _Steps(recipe, *recipe.kernel(), recipe.repulsion_epsilon)
        self._points = np.array(start, np.float64)
        self._steering = 1.0, 1.0  # factors of exaggeration and repulsion

    def run(self, until: int) -> None:
        """Advance to epoch ``until``."""
        while self.epoch < min(until, self.n_epochs):
            self._points = self._steps.moved(self._points, self._points, *self._forces())
            self.epoch += 1

    def embedding(self) -> np.ndarray:
        """A copy of the points now."""
        return self._points.astype(np.float32)

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs."""
        return self._owner.labelled(
            {**progress_arrays(self.epoch, self._steering), "points": self._points.copy()}
        )

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        arrays = self._owner.checked(state)
        points = read_state(arrays, "points", self._points)
        self.epoch, self._steering = read_progress(arrays, self.n_epochs)
        self._points = points

    def replace_points(self, Y: Array) -> None:
        """Go on from other places."""
        self._points = np.array(Y, np.float64)

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion from the next epoch on."""
        check_steering(exaggeration, repulsion)
        self._steering = exaggeration, repulsion

    def loss(self) -> float:
        """The recipe's loss at the points now, over all ordered pairs."""
        weights = self._graph.to_scipy().toarray().astype(np.float64)
        weights /= max(weights.max(), 1e-30)
        (a, b), total = self._recipe.kernel(), 0.0
        for i, j in np.argwhere(~np.eye(len(weights), dtype=bool)):
            powered = a * max(self._steps.distance(self._points[i], self._points[j]), 0.0) ** (2 * b)
            q, gap, r = 1 / (1 + powered), max(powered / (1 + powered), _SMALLEST_GAP), weights[i, j]
            total += (r * np.log(r / q) if r else 0.0) + ((1 - r) * np.log((1 - r) / gap) if r < 1 else 0.0)
        return float(total)

    def _forces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the steps of this epoch read: edges and their weights, drawn points and their weights."""
        recipe, t, n = self._recipe, self.epoch, len(self._points)
        rate = _STEP_SIZE * float(self._schedule.learning_rate[t])
        exaggeration = self._steering[0] * float(self._schedule.exaggeration[t])
        factor = rate * exaggeration * (2 if recipe.symmetric_attraction else 1)
        drawn = np.random.default_rng([self._seed, t]).integers(n, size=(n, recipe.negatives))
        drawn[drawn == np.arange(n)[:, None]] = -1
        repulsion = self._steering[1] * rate * recipe.repulsion_rate * self._mass / recipe.negatives
        return self._graph.offsets, self._graph.indices, factor * self._acting(), drawn, repulsion

    def _acting(self) -> np.ndarray:
        """The weights of the attractions in this epoch; 0 for those that do not act."""
        r, t, sampling = self._weights, self.epoch, self._recipe.sampling
        if sampling is Sampling.EXHAUSTIVE:
            return np.asarray(r, np.float64)
        acts = np.floor(np.float32(t + 1) * r) > np.floor(np.float32(t) * r)
        return np.asarray(np.where(acts, 1.0 if sampling in (Sampling.SCALAR, Sampling.UNBIASED) else r, 0.0))


def place_rows_by_function(
    neighbors: Neighbors, embedding: np.ndarray, recipe: Recipe, placement: Placement, threads: int
) -> np.ndarray:
    """The places of new rows on a finished map; each starts at its nearest neighbour."""
    check_ids(neighbors, len(embedding))
    m, k = neighbors.indices.shape
    n, epochs = len(embedding), placement.epochs
    weights = row_affinities(neighbors.distances, recipe, threads).astype(np.float64)
    weights /= weights.max(axis=1, keepdims=True)
    mass = np.full(m, float(k)) if placement.mass_is_degree else weights.sum(axis=1)
    steps = _Steps(recipe, *placement.curve[:2], placement.epsilon)
    points, offsets = embedding.astype(np.float64), np.arange(m + 1) * k
    places = points[neighbors.indices[:, 0]]
    for epoch in range(epochs):
        rate = _STEP_SIZE * _FIRST_RATE_OF_NEW_ROWS * (1 - epoch / epochs)
        count = min(placement.samples, n)
        sample = np.random.default_rng([placement.seed, epoch]).integers(n, size=count)
        drawn = np.where((sample[:, None] == neighbors.indices[:, None, :]).any(axis=2), -1, sample)
        attraction = rate * placement.attraction * weights.ravel()
        repulsion = rate * placement.repulsion * mass / count
        ids = neighbors.indices.ravel()
        places = steps.moved(places, points, offsets, ids, attraction, drawn, repulsion)
    return np.asarray(places, np.float32)


class _Steps:
    """The steps of points under a recipe's output metric, compiled by numba if the function is."""

    def __init__(self, recipe: Recipe, a: float, b: float, epsilon: float):
        metric: Any = recipe.output_metric
        self._metric = metric
        self._arguments = function_arguments(metric, dict(recipe.output_metric_kwds))
        self._numbers = (a, b, epsilon)
        self._move: Callable[..., Any] = _compiled_move() if _is_compiled(metric) else _move_points

    def distance(self, x: np.ndarray, y: np.ndarray) -> float:
        """The distance of two points."""
        return float(self._metric(x.copy(), y.copy(), *self._arguments)[0])

    def moved(self, points: np.ndarray, others: np.ndarray, *forces: np.ndarray) -> np.ndarray:
        """Where points are after their steps; the other points are where they were before."""
        found: np.ndarray = self._move(
            self._metric, self._arguments, points, others, *forces, *self._numbers, _LARGEST_FORCE
        )
        if not np.isfinite(found).all():
            row = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
            raise ValueError(
                f"output_metric gave point {row} of the map an infinite or undefined step: return a finite "
                "distance and gradient, also for points at one place"
            )
        return found


def _move_points(
    metric: Any,
    arguments: Any,
    points: Any,
    others: Any,
    offsets: Any,
    ids: Any,
    weights: Any,
    drawn: Any,
    repulsion: Any,
    a: float,
    b: float,
    epsilon: float,
    largest: float,
) -> Any:
    """Where points are after their steps of an epoch. It keeps to what numba compiles."""
    moved = points.copy()
    for i in range(len(points)):
        y = points[i].copy()
        for edge in range(offsets[i], offsets[i + 1]):
            if weights[edge] > 0:
                distance, gradient = metric(y.copy(), others[ids[edge]].copy(), *arguments)
                if distance > 0:
                    powered = a * distance ** (2 * b)
                    slope = -2 * b * powered / (distance * (1 + powered))
                    y = y + weights[edge] * np.minimum(np.maximum(slope * gradient, -largest), largest)
        for other in drawn[i]:
            if other >= 0:
                distance, gradient = metric(y.copy(), others[other].copy(), *arguments)
                if distance > 0:
                    powered = a * distance ** (2 * b)
                    slope = 2 * b * distance / ((epsilon + distance * distance) * (1 + powered))
                    y = y + repulsion[i] * np.minimum(np.maximum(slope * gradient, -largest), largest)
        moved[i] = y
    return moved


def _is_compiled(metric: object) -> bool:
    """Whether numba compiles a function."""
    return "numba" in sys.modules and isinstance(metric, sys.modules["numba"].core.dispatcher.Dispatcher)


def _compiled_move() -> Callable[..., Any]:
    from numba import njit

    compiled: Callable[..., Any] = njit(_move_points)
    return compiled
