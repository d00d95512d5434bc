"""The reference backend, the oracle of the tests: every stage in plain NumPy and float64, slow and simple."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from actup._typing import Rows
from actup.backends._base import Backend, Layout, PointInputs
from actup.backends._memory._reference import reference_moments
from actup.backends._memory._shape import Lean, Moment, RunShape
from actup.backends._metric_layout import reject_point_inputs
from actup.backends._reference import affinities, layout, neighbors, output_metrics, spectral, transform
from actup.graph._records import Graph, GraphParts, Neighbors, whole_graph
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.neighbors._comparison import Parameters
from actup.neighbors._rows import is_engine_type
from actup.recipe._output_metrics import EUCLIDEAN
from actup.recipe._recipe import Recipe
from actup.transform._placement import Placement


class ReferenceBackend(Backend):
    """Every stage in NumPy, on one thread; the engine searches metrics that have no formula here."""

    name = "reference"

    def memory_moments(self, shape: RunShape, lean: Lean) -> dict[str, list[Moment]]:
        """Of every stage, what is in memory at the times at which much is: matrices of all pairs."""
        return reference_moments(shape)

    def nearest_neighbors(
        self,
        rows: Rows,
        k: int,
        metric: str | Callable[..., float],
        threads: int = 1,
        parameters: Parameters | None = None,
        recall: float = DEFAULT_RECALL,
        saves_memory: bool = False,
    ) -> Neighbors:
        """The k nearest other rows of every row: every distance, then a sort, whatever the wanted recall."""
        if metric in neighbors.REFERENCE_METRICS and not parameters and isinstance(rows, np.ndarray):
            with np.errstate(over="ignore"):
                floats = rows if is_engine_type(rows) else rows.astype(np.float32)
            if np.isfinite(floats).all() and np.array_equal(floats == 0, rows == 0):  # float32 can hold them
                return neighbors.nearest_neighbors(floats, k, str(metric))
        return super().nearest_neighbors(rows, k, metric, threads, parameters, recall, saves_memory)

    def affinity_graph(self, neighbors: Neighbors, recipe: Recipe, threads: int = 1) -> Graph:
        """The symmetric graph of similarities p(i,j)."""
        return affinities.affinity_graph(neighbors, recipe)

    def spectral_coordinates(self, graph: Graph, dimensions: int, seed: int, threads: int = 1) -> np.ndarray:
        """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one."""
        return spectral.spectral_coordinates(graph, dimensions, seed)

    def make_layout(
        self,
        graph: Graph | GraphParts,
        start: np.ndarray,
        recipe: Recipe,
        seed: int,
        threads: int = 1,
        points: PointInputs | None = None,
    ) -> Layout:
        """The recipe's descent on a graph; ``threads`` is ignored, because the oracle runs on one."""
        graph = whole_graph(graph)
        if recipe.output_metric != EUCLIDEAN:
            reject_point_inputs(points, recipe)
            if not isinstance(recipe.output_metric, str):
                raise ValueError("backend='reference' has no functions as output_metric: use backend='cpu'")
            return output_metrics.MetricLayout(graph, start, recipe, seed)
        return layout.Layout(graph, start, recipe, seed, points)

    def place_rows(
        self,
        neighbors: Neighbors,
        embedding: np.ndarray,
        recipe: Recipe,
        placement: Placement,
        threads: int = 1,
    ) -> np.ndarray:
        """The places of new rows on a finished map."""
        if recipe.output_metric != EUCLIDEAN:
            raise ValueError(
                f"backend='reference' places no new rows under output_metric={recipe.output_metric!r}: use "
                "backend='cpu'"
            )
        return transform.place_rows(neighbors, embedding, recipe, placement)
