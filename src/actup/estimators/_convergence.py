"""WatchedLayout: a descent that reports its loss and stops when it has converged, as scikit-learn's does."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import numpy as np

from actup._device import to_host
from actup._typing import Array
from actup.backends import Layout
from actup.graph._gaussian import gaussian_precisions
from actup.graph._records import Graph
from actup.quality._gradient import Repulsion, Similarities, kl_gradient
from actup.recipe._recipe import Recipe

_MAX_EXACT_POINTS = 4_000  # up to here, the exact sum over all pairs takes some milliseconds


class Divergence:
    """The KL divergence of a graph's similarities from those of points, and its gradient.

    Parameters
    ----------
    graph : Graph
    recipe : Recipe
    threads : int
    """

    def __init__(self, graph: Graph, recipe: Recipe, threads: int):
        weights = to_host(graph.weights).astype(np.float64)
        self._P = Similarities(
            to_host(graph.offsets), to_host(graph.indices), weights / weights.sum(), len(graph)
        )
        self._repulsion = _repulsion_for(len(graph), recipe.n_components, recipe.theta)
        self._dof, self._exaggeration, self._threads = recipe.dof, recipe.late_exaggeration, threads

    def value_and_gradient_norm(self, points: Array) -> tuple[float, float]:
        """The divergence, and the norm of scikit-learn's gradient; NaN if points are not finite."""
        Y = np.ascontiguousarray(to_host(points), np.float64)
        with np.errstate(all="ignore"):  # a descent at a far too large rate overflows
            if not np.isfinite(Y).all():
                return math.nan, math.nan
            gradient, error = kl_gradient(
                self._P,
                Y,
                self._repulsion,
                dof=self._dof,
                exaggeration=self._exaggeration,
                threads=self._threads,
            )
            return error, float(np.linalg.norm(4 * gradient))

    def __call__(self, points: Array) -> float:
        """The divergence of points."""
        return self.value_and_gradient_norm(points)[0]


class WatchedLayout:
    """A layout whose loss and gradient are measured every few epochs; see ``actup.backends.Layout``.

    It ends before the recipe says if the gradient is small, or if the loss has not fallen for a while. The
    exaggerated epochs at the beginning are run in any case.

    Parameters
    ----------
    layout : Layout
    graph : Graph
    recipe : Recipe
    min_gradient_norm : float
        A gradient whose norm is no larger ends the run; a negative number never does.
    patience : float
        The run ends once the loss has not fallen for more than this many epochs.
    every : int
        Epochs between two measurements.
    log : bool
        Whether each measurement is printed.
    threads : int
    """

    def __init__(
        self,
        layout: Layout,
        graph: Graph,
        recipe: Recipe,
        *,
        min_gradient_norm: float,
        patience: float,
        every: int,
        log: bool,
        threads: int,
    ):
        self._layout = layout
        self.n_epochs = layout.n_epochs
        self._min_gradient_norm, self._patience = min_gradient_norm, patience
        self._every, self._log = every, log
        exaggerated = recipe.schedule(len(graph)).exaggeration != np.float32(recipe.late_exaggeration)
        self._exaggerated_epochs = int(np.count_nonzero(exaggerated))
        self._divergence = Divergence(graph, recipe, threads)
        self._lowest, self._lowest_at = math.inf, 0
        self._begin = time.perf_counter()

    @property
    def epoch(self) -> int:
        """The number of epochs that have been run."""
        return self._layout.epoch

    def embedding(self) -> np.ndarray:
        """A copy of the points now."""
        return self._layout.embedding()

    def replace_points(self, Y: Array) -> None:
        """Continue from other places."""
        self._layout.replace_points(Y)

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion by these factors; convergence is measured without them."""
        self._layout.steer(exaggeration, repulsion)

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs."""
        measured = np.array([self._lowest, self._lowest_at, self.n_epochs], np.float64)
        return {**self._layout.state(), "convergence": measured}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        arrays = dict(state)
        if (measured := arrays.pop("convergence", None)) is None or measured.shape != (3,):
            raise ValueError(
                "state has no three numbers 'convergence': it is of a layout that does not converge"
            )
        self._layout.restore(arrays)
        self._lowest, self._lowest_at, self.n_epochs = float(measured[0]), int(measured[1]), int(measured[2])

    def loss(self) -> float:
        """The recipe's loss at the points now."""
        return self._layout.loss()

    def run(self, until: int) -> None:
        """Advance to epoch ``until``, or to the epoch at which the descent has converged."""
        while self.epoch < min(until, self.n_epochs):
            self._layout.run(min(until, self._next_measurement()))
            if self.epoch == self._next_measurement(self.epoch - 1):
                self._measure()

    def _next_measurement(self, epoch: int | None = None) -> int:
        """The first epoch after ``epoch``, which is the present one by default, with a measurement."""
        epoch = self.epoch if epoch is None else epoch
        if epoch < self._exaggerated_epochs:
            return self._exaggerated_epochs
        return min((epoch // self._every + 1) * self._every, self.n_epochs)

    def _measure(self) -> None:
        error, norm = self._divergence.value_and_gradient_norm(self.embedding())
        if self.epoch == self._exaggerated_epochs:
            self._print(f"KL divergence after {self.epoch} iterations with early exaggeration: {error:f}")
            return
        seconds, self._begin = time.perf_counter() - self._begin, time.perf_counter()
        self._print(
            f"Iteration {self.epoch}: error = {error:.7f}, gradient norm = {norm:.7f} "
            f"({self._every} iterations in {seconds:.3f}s)"
        )
        if error < self._lowest:
            self._lowest, self._lowest_at = error, self.epoch
        elif self.epoch - self._lowest_at > self._patience:
            self._end(f"did not make any progress during the last {self._patience} episodes")
            return
        if norm <= self._min_gradient_norm:
            self._end(f"gradient norm {norm:f}")

    def _end(self, reason: str) -> None:
        self.n_epochs = self.epoch
        self._print(f"Iteration {self.epoch}: {reason}. Finished.")

    def _print(self, line: str) -> None:
        if self._log:
            print(f"[t-SNE] {line}")


def _repulsion_for(n: int, dimensions: int, theta: float) -> Repulsion:
    """How the kernel is summed for a measurement: exactly for few points, then by mesh or tree."""
    if n <= _MAX_EXACT_POINTS or dimensions > 3:
        return Repulsion("exact")
    return Repulsion("mesh") if dimensions <= 2 else Repulsion("barnes_hut", theta=theta)


def mean_sigma(distances: np.ndarray, perplexity: float) -> float:
    """The mean width of the Gaussians that have this perplexity over rows of distances."""
    return float((1 / np.sqrt(gaussian_precisions(distances, perplexity))).mean())
