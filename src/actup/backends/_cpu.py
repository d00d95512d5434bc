"""The CPU backend: hands the stages to the compiled engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from actup._engine import engine
from actup._typing import Array
from actup.backends._base import Backend, Layout, PointInputs, check_places, check_steering
from actup.backends._function_layout import FunctionLayout, place_rows_by_function
from actup.backends._layout_state import StateOwner
from actup.backends._metric_layout import MetricLayout, reject_point_inputs
from actup.graph._memberships import engine_affinity
from actup.graph._records import Graph, GraphParts, Neighbors, whole_graph
from actup.recipe._output_metrics import EUCLIDEAN, output_metric_parameter
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import Schedule
from actup.recipe._switches import LearningRateUnit, NonEdgeWeight, Update
from actup.transform._placement import Placement, check_ids


class CpuBackend(Backend):
    """Every stage in compiled code, on all cores."""

    name = "cpu"

    def affinity_graph(self, neighbors: Neighbors, recipe: Recipe, threads: int) -> Graph:
        """The symmetric graph of similarities p(i,j).

        Only the recipe's ``affinity``, ``distance``, ``symmetrization``, ``set_op_mix_ratio``,
        ``local_connectivity``, ``scales()`` and ``sigma`` matter here. Affinity "umap" counts the point
        itself as one more neighbour.
        """
        return affinity_graph(neighbors, recipe, threads)

    def spectral_coordinates(self, graph: Graph, dimensions: int, seed: int, threads: int) -> np.ndarray:
        """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one; columns beyond n - 1 are 0."""
        return spectral_coordinates(graph, dimensions, seed, threads)

    def make_layout(
        self,
        graph: Graph | GraphParts,
        start: np.ndarray,
        recipe: Recipe,
        seed: int,
        threads: int,
        points: PointInputs | None = None,
    ) -> Layout:
        """The recipe's descent on a graph, from a start in the graph's order.

        A graph in parts is read three times, and never more than one part is in memory besides the layout's
        own copy of the edges. It is joined to a whole graph for in-place epochs, for other output metrics
        than the Euclidean one, and by ``loss()``.
        """
        if recipe.output_metric != EUCLIDEAN:
            reject_point_inputs(points, recipe)
            graph = whole_graph(graph)
            if not isinstance(recipe.output_metric, str):
                return FunctionLayout(graph, start, recipe, seed)
            return MetricLayout(graph, start, recipe, layout_settings(recipe, len(graph), seed), threads)
        if recipe.update is Update.IN_PLACE:
            graph = whole_graph(graph)
        return CpuLayout(graph, np.ascontiguousarray(start, np.float32), recipe, seed, threads, points)

    def place_rows(
        self,
        neighbors: Neighbors,
        embedding: np.ndarray,
        recipe: Recipe,
        placement: Placement,
        threads: int,
    ) -> np.ndarray:
        """The places of new rows on a finished map."""
        check_ids(neighbors, len(embedding))
        if not isinstance(recipe.output_metric, str):
            return place_rows_by_function(neighbors, embedding, recipe, placement, threads)
        settings = engine.Placement()
        for field in fields(Placement):
            value = getattr(placement, field.name)
            setattr(settings, field.name, engine.Curve(*value) if field.name == "curve" else value)
        rows_and_map = (
            neighbors.indices,
            neighbors.distances,
            np.ascontiguousarray(embedding, np.float32),
            engine_affinity(recipe),
            engine.Distance[recipe.distance.value],
            recipe.scales(),
            recipe.sigma or 1.0,
            recipe.subtracted_neighbor(),
            settings,
        )
        places: np.ndarray
        if recipe.output_metric != EUCLIDEAN:
            metric, parameter = engine.OutputMetric[recipe.output_metric], output_metric_parameter(recipe)
            places = engine.place_rows_under(*rows_and_map, metric, parameter, threads)
        else:
            loss = engine.Loss[recipe.loss.value]
            places = engine.place_rows(*rows_and_map, loss, recipe.normalized, threads)
        return places


def affinity_graph(neighbors: Neighbors, recipe: Recipe, threads: int) -> Graph:
    """The symmetric graph of similarities p(i,j), of neighbours in the host's memory."""
    return Graph(
        *engine.affinity_graph(
            neighbors.indices,
            neighbors.distances,
            engine_affinity(recipe),
            engine.Distance[recipe.distance.value],
            engine.Symmetrization[recipe.symmetrization.value],
            recipe.scales(),
            recipe.sigma or 1.0,
            recipe.subtracted_neighbor(),
            recipe.union_share(),
            threads,
        )
    )


def spectral_coordinates(graph: Graph, dimensions: int, seed: int, threads: int) -> np.ndarray:
    """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one; columns beyond n - 1 are 0."""
    coordinates = np.zeros((len(graph), dimensions), np.float32)
    found = min(dimensions, len(graph) - 1)
    if found:
        coordinates[:, :found], _ = engine.spectral_coordinates(
            graph.offsets, graph.indices, graph.weights, found, seed, threads
        )
    return coordinates


class CpuLayout:
    """A descent in compiled code; see ``actup.backends.Layout``."""

    def __init__(
        self,
        graph: Graph | GraphParts,
        start: np.ndarray,
        recipe: Recipe,
        seed: int,
        threads: int,
        points: PointInputs | None = None,
    ):
        inputs = (points or PointInputs()).checked(len(graph), recipe)
        self.n_epochs = recipe.n_epochs(len(graph))
        self._graph = graph
        self._recipe = recipe
        self._threads = threads
        self._owner = StateOwner("cpu", len(graph), recipe, seed)
        settings = layout_settings(recipe, len(graph), seed)
        point_inputs = inputs.mobility, inputs.log_radii
        if isinstance(graph, GraphParts):
            self._layout = _layout_from_parts(graph, start, settings, threads, point_inputs)
        else:
            arrays = graph.offsets, graph.indices, graph.weights
            self._layout = engine.Layout(*arrays, start, settings, threads, *point_inputs)

    @property
    def epoch(self) -> int:
        """The number of epochs that have been run."""
        return int(self._layout.epoch)

    def run(self, until: int) -> None:
        """Advance to epoch ``until``."""
        self._layout.run(until)

    def replace_points(self, Y: Array) -> None:
        """Continue from the places Y."""
        self._layout.replace_points(check_places(Y, len(self._graph), self._recipe.n_components))

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

    def loss(self) -> float:
        """The recipe's loss at the points now; needs the whole graph in memory."""
        return loss_of(whole_graph(self._graph), self.embedding(), self._recipe, self._threads)


def _layout_from_parts(
    graph: GraphParts,
    start: np.ndarray,
    settings: engine.Settings,
    threads: int,
    point_inputs: tuple[np.ndarray | None, np.ndarray | None],
) -> engine.Layout:
    """The engine's layout of a graph that is read part by part."""
    parts = engine.LayoutParts(start, settings, threads)
    for _ in range(3):  # for the largest weight, for strengths and degrees, and to copy the rows
        for offsets, indices, weights in graph.read():
            parts.read(offsets, indices, weights)
        parts.end_pass()
    return parts.finish(start, *point_inputs)


def loss_of(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> float:
    """The recipe's loss of a map (n, n_components), over all pairs."""
    from actup.quality._losses import PairLosses  # a map needs no measures

    n_epochs = recipe.n_epochs(len(graph))
    graph = graph.pruned(1 / n_epochs) if recipe.prune and n_epochs else graph
    losses = PairLosses(graph, Y, *recipe.kernel(), threads, recipe.dof)
    Z = None if recipe.partition is None else recipe.partition * len(graph) ** 2
    return losses.value(recipe.loss, recipe.normalized, Z)


def layout_settings(recipe: Recipe, n_samples: int, seed: int) -> engine.Settings:
    """The engine's ``Settings`` for a recipe: the only place where names become the engine's numbers."""
    settings = engine.Settings()
    settings.n_epochs = recipe.n_epochs(n_samples)
    settings.curve = engine.Curve(*recipe.kernel(), recipe.dof)
    settings.partition = recipe.partition or 0.0
    settings.horizon = recipe.horizon or 0.0
    settings.loss = engine.Loss[recipe.loss.value]
    settings.sampling = engine.Sampling[recipe.sampling.value]
    settings.repulsion = engine.Repulsion[recipe.repulsion_for(n_samples).value]
    settings.repulsion_mass = engine.RepulsionMass[recipe.repulsion_mass.value]
    settings.mesh_spacing = recipe.spacing(n_samples)
    settings.mean_non_edge_weight = recipe.non_edge_weight is NonEdgeWeight.MEAN
    settings.in_place = recipe.update is Update.IN_PLACE
    settings.rate_in_points = recipe.learning_rate_unit is LearningRateUnit.POINTS
    settings.optimizer = engine.Optimizer[recipe.optimizer.value]
    settings.schedule = _engine_schedule(recipe.schedule(n_samples))
    settings.gradient_clip = math.inf if recipe.gradient_clip is None else recipe.gradient_clip
    settings.density_begin = recipe.density_begin(n_samples)
    settings.seed = seed
    for name in (
        "normalized",
        "symmetric_attraction",
        "negatives",
        "repulsion_rate",
        "repulsion_epsilon",
        "theta",
        "prune",
        "force_scale",
        "density_weight",
        "density_shift",
    ):
        setattr(settings, name, getattr(recipe, name))
    return settings


def _engine_schedule(schedule: Schedule) -> engine.Schedule:
    converted = engine.Schedule()
    for name in ("learning_rate", "momentum", "exaggeration", "step_cap", "stiffness_floor", "dilation"):
        setattr(converted, name, getattr(schedule, name).tolist())
    converted.expansion_begin, converted.expansion_end = schedule.expansion
    converted.momentum_after_stop = schedule.momentum_after_stop
    return converted
