"""The CPU backend: hands the stages to the compiled engine."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from actup._engine import engine
from actup.graph._records import Graph, Neighbors
from actup.neighbors import _cluster_search as join
from actup.neighbors._row_transforms import near_zero
from actup.neighbors._rows import refuse_underflow
from actup.neighbors._search import PointSearch, SearchOptions
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import Schedule
from actup.recipe._switches import Affinity, LearningRateUnit, Loss, NonEdgeWeight, Update
from actup.transform._placement import Placement

# Those that all backends know; actup.neighbors._api knows more, and searches them in the same way.
METRICS = ("euclidean", "manhattan", "chebyshev", "cosine", "correlation")
SCALARS = None


def nearest_neighbors(X: np.ndarray, k: int, metric: str, threads: int) -> Neighbors:
    """The k nearest other points of every point: exact where that is cheap, else approximate.

    Parameters
    ----------
    X : ndarray of shape (n, columns), C-contiguous, finite
    k : int
        From 0 to n - 1.
    metric : str
        One of ``METRICS``.
    threads : int
    """
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, METRICS))}")
    refuse_underflow(X, metric, "X")
    return PointSearch(X, metric, None, SearchOptions(), threads).neighbors(k)


def _affinity(recipe: Recipe):
    several = recipe.affinity is Affinity.MULTISCALE  # the engine's "gaussian" takes any number of scales
    return engine.Affinity[(Affinity.GAUSSIAN if several else recipe.affinity).value]


def affinity_graph(neighbors: Neighbors, recipe: Recipe, threads: int) -> Graph:
    """The symmetric graph of similarities p(i,j).

    Only the recipe's ``affinity``, ``distance``, ``symmetrization``, ``scales()`` and ``sigma`` act here. The
    number of neighbours is that of ``neighbors``; affinity "umap" counts the point itself as one more.
    """
    return Graph(
        *engine.affinity_graph(
            neighbors.indices,
            neighbors.distances,
            _affinity(recipe),
            engine.Distance[recipe.distance.value],
            engine.Symmetrization[recipe.symmetrization.value],
            recipe.scales(),
            recipe.sigma or 1.0,
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


def find_landmarks(
    X: np.ndarray, metric: str, wanted: int, seed: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """The landmarks of the rows, about so many, and the number of each row's.

    Landmarks are means of the rows' codes, whose distances are those of the rows in another unit, roughly:
    rows that are far from all others are clipped. Metrics that the join does not know are taken for
    Euclidean: landmarks need to be near in the large only.
    """
    metric = metric if metric in join.METRICS else "euclidean"
    rows = X
    if X.dtype.type not in join.SCALARS:
        rows = near_zero(X) if metric == "euclidean" else X.astype(np.float32)
    return engine.find_landmarks(rows, engine.Metric[metric], wanted, seed, threads)


def scatter_around(
    places: np.ndarray, labels: np.ndarray, reach: float, seed: int, threads: int
) -> np.ndarray:
    """A place within ``reach`` of its landmark's, along each axis, for every row."""
    return engine.scatter_around(places, labels, reach, seed, threads)


class CpuLayout:
    """A descent in compiled code; see ``actup.backends.Layout``."""

    def __init__(self, graph: Graph, start: np.ndarray, recipe: Recipe, seed: int, threads: int):
        self.n_epochs = recipe.n_epochs(len(graph))
        self._graph = graph
        self._recipe = recipe
        self._threads = threads
        settings = layout_settings(recipe, len(graph), seed)
        self._layout = engine.Layout(graph.offsets, graph.indices, graph.weights, start, settings, threads)

    @property
    def epoch(self) -> int:
        return self._layout.epoch

    def run(self, until: int) -> None:
        self._layout.run(until)

    def embedding(self) -> np.ndarray:
        return self._layout.embedding()

    def loss(self) -> float:
        return loss_of(self._graph, self.embedding(), self._recipe, self._threads)


def loss_of(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> float:
    """The recipe's loss of a map (n, n_components), over all pairs."""
    from actup.quality._losses import PairLosses

    n_epochs = recipe.n_epochs(len(graph))
    graph = graph.pruned(1 / n_epochs) if recipe.prune and n_epochs else graph
    losses = PairLosses(graph, Y, *recipe.kernel(), threads, recipe.dof)
    if recipe.loss is Loss.FROBENIUS:
        return losses.frobenius(recipe.normalized)
    if not recipe.normalized:
        return losses.cross_entropy()
    fixed = recipe.partition
    return losses.kl_divergence(None if fixed is None else fixed * len(graph) ** 2)


def make_layout(graph: Graph, start: np.ndarray, recipe: Recipe, seed: int, threads: int) -> CpuLayout:
    """The recipe's descent on a graph, from a start in the graph's order."""
    return CpuLayout(graph, np.ascontiguousarray(start, np.float32), recipe, seed, threads)


def place_rows(
    neighbors: Neighbors, embedding: np.ndarray, recipe: Recipe, placement: Placement, threads: int
) -> np.ndarray:
    """Where new rows lie on a map; see ``actup.backends``."""
    settings = engine.Placement()
    for field in fields(Placement):
        value = getattr(placement, field.name)
        setattr(settings, field.name, engine.Curve(*value) if field.name == "curve" else value)
    return engine.place_rows(
        neighbors.indices,
        neighbors.distances,
        np.ascontiguousarray(embedding, np.float32),
        _affinity(recipe),
        engine.Distance[recipe.distance.value],
        recipe.scales(),
        recipe.sigma or 1.0,
        settings,
        engine.Loss[recipe.loss.value],
        recipe.normalized,
        threads,
    )


def layout_settings(recipe: Recipe, n_samples: int, seed: int):
    """The engine's ``Settings`` for a recipe: names become numbers here and nowhere else."""
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
    ):
        setattr(settings, name, getattr(recipe, name))
    return settings


def _engine_schedule(schedule: Schedule):
    converted = engine.Schedule()
    for name in ("learning_rate", "momentum", "exaggeration", "step_cap", "stiffness_floor"):
        setattr(converted, name, getattr(schedule, name).tolist())
    converted.expansion_begin, converted.expansion_end = schedule.expansion
    converted.rested_momentum = schedule.rested_momentum
    return converted
