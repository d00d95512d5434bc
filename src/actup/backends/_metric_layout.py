"""The CPU's layout under an output metric other than the Euclidean one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from actup._elementary import log, power
from actup._engine import engine
from actup._typing import Array
from actup.backends._base import PointInputs, check_steering
from actup.backends._layout_state import StateOwner
from actup.graph._records import Graph
from actup.recipe._output_metrics import output_metric_name, output_metric_parameter
from actup.recipe._recipe import Recipe

_CHUNK_PAIRS = 2**20
_SMALLEST_GAP = 1e-12  # of 1 - q: points at one place have a finite loss


class MetricLayout:
    """A descent under an output metric; see ``actup.backends.Layout``."""

    def __init__(
        self, graph: Graph, start: np.ndarray, recipe: Recipe, settings: engine.Settings, threads: int
    ):
        self.n_epochs = recipe.n_epochs(len(graph))
        self._graph, self._recipe = graph, recipe
        self._owner = StateOwner("cpu, output metric", len(graph), recipe, settings.seed)
        self._metric = engine.OutputMetric[output_metric_name(recipe)]
        self._parameter = output_metric_parameter(recipe)
        self._layout = engine.make_metric_layout(
            graph.offsets,
            graph.indices,
            graph.weights,
            np.ascontiguousarray(start, np.float32),
            self._metric,
            self._parameter,
            settings,
            threads,
        )

    @property
    def epoch(self) -> int:
        """The number of epochs that have been run."""
        return int(self._layout.epoch)

    def run(self, until: int) -> None:
        """Advance to epoch ``until``."""
        self._layout.run(until)

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion by these factors from the next epoch on."""
        check_steering(exaggeration, repulsion)
        self._layout.steer(exaggeration, repulsion)

    def embedding(self) -> np.ndarray:
        """A copy of the points now."""
        points: np.ndarray = self._layout.embedding()
        return points

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs."""
        return self._owner.labelled(self._layout.state())

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        self._layout.restore(self._owner.checked(state))

    def replace_points(self, Y: Array) -> None:
        """Not possible: the coordinates of other spaces are not those of the descent."""
        raise ValueError(
            f"points of a map under output_metric={self._recipe.output_metric!r} cannot be replaced"
        )

    def loss(self) -> float:
        """The recipe's loss at the points now, over all ordered pairs."""
        graph = self._graph.pruned(1 / self.n_epochs) if self._recipe.prune and self.n_epochs else self._graph
        relative = graph.to_scipy()
        relative = relative / relative.max() if relative.nnz else relative
        a, b = self._recipe.kernel()
        Y = self.embedding()
        n, total = len(Y), 0.0
        rows = max(1, _CHUNK_PAIRS // max(n, 1))
        for begin in range(0, n, rows):
            r = relative[begin : begin + rows].toarray().astype(np.float64)
            distances = output_distances(Y[begin : begin + rows], Y, self._recipe)
            powered = a * power(np.maximum(distances, 0), 2 * b)
            q, gap = 1 / (1 + powered), np.maximum(powered / (1 + powered), _SMALLEST_GAP)
            terms = _relative_entropy(r, q) + _relative_entropy(1 - r, gap)
            terms[np.arange(len(r)), np.arange(begin, begin + len(r))] = 0
            total += float(terms.sum())
        return total


def reject_point_inputs(points: PointInputs | None, recipe: Recipe) -> None:
    """Reject numbers of points that only a Euclidean layout reads."""
    if points is not None:
        raise ValueError(
            f"output_metric={recipe.output_metric!r} has no pinned points and no density: leave out fixed, "
            "or use output_metric='euclidean'"
        )


def _relative_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p log(p/q), which is 0 where p is."""
    return np.asarray(p * (log(np.where(p > 0, p, 1.0)) - log(q)))


def output_distances(A: np.ndarray, B: np.ndarray, recipe: Recipe) -> np.ndarray:
    """All distances between points of two maps in the recipe's output metric: (len(A), len(B)) float64."""
    metric = engine.OutputMetric[output_metric_name(recipe)]
    a, b = (engine.output_coordinates(metric, np.ascontiguousarray(part, np.float32)) for part in (A, B))
    first, second = np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))
    distances, _ = engine.output_distances(metric, output_metric_parameter(recipe), first, second)
    result: np.ndarray = distances.reshape(len(A), len(B))
    return result
