"""The forces on the points of a map, measured by single steps of the CPU backend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from actup.backends import load_backend
from actup.graph import Graph
from actup.recipe import LearningRateUnit, Optimizer, Recipe, Repulsion, RepulsionMass, Sampling

_EXAGGERATION_WITHOUT_ATTRACTION = 1e-25  # the attraction vanishes beside the repulsion
_EXAGGERATION_OF_ATTRACTION_ONLY = 1e12  # the repulsion vanishes beside the attraction
_STEP_LENGTH = 1e5  # so long that rounding of the coordinates vanishes beside it


def repulsion(graph: Graph, Y: np.ndarray, recipe: Recipe, seed: int, threads: int) -> np.ndarray:
    """The repulsion of the first epoch from Y: shape (n, dimensions), float64."""
    weak = recipe.but(exaggeration=_EXAGGERATION_WITHOUT_ATTRACTION)
    return _first_step(graph, Y, weak, seed, threads)


def attraction(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> np.ndarray:
    """The attraction of all edges at Y: shape (n, dimensions), float64."""
    strong = recipe.but(exaggeration=_EXAGGERATION_OF_ATTRACTION_ONLY)
    return _first_step(graph, Y, strong, 0, threads) / _EXAGGERATION_OF_ATTRACTION_ONLY


def mean_forces(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Attraction and repulsion at Y, averaged over all epochs, of a recipe with one repulsion per edge.

    With sampling, an edge acts in a share of the epochs: its weight divided by the largest weight. Its mean
    attraction is therefore that of the full sum with other weights, and the mean repulsion of a point is
    proportional to the mean number of its edges that act.

    Parameters
    ----------
    graph : Graph
        Pruned as the layout prunes it.
    Y : ndarray of shape (n, dimensions)
    recipe : Recipe
        Its ``sampling`` is exhaustive, accelerated or unbiased.
    threads : int

    Returns
    -------
    attraction, repulsion : ndarray of shape (n, dimensions), float64
    """
    share = graph.weights / graph.weights.max()
    acting = np.ones_like(share) if recipe.sampling is Sampling.EXHAUSTIVE else share
    weights = graph.weights * share if recipe.sampling is Sampling.ACCELERATED else graph.weights
    exhaustive = recipe.but(sampling=Sampling.EXHAUSTIVE)
    pull = attraction(replace(graph, weights=weights.astype(np.float32)), Y, exhaustive, threads)
    if recipe.normalized:  # undo that the layout normalised the changed weights to a sum of 1
        pull *= weights.sum(dtype=np.float64) / graph.weights.sum(dtype=np.float64)
    push = repulsion(graph, Y, with_exact_repulsion(exhaustive), 0, threads)
    edges = np.diff(graph.offsets)
    acting_edges = np.add.reduceat(np.append(acting, 0.0).astype(np.float64), graph.offsets[:-1])
    repelling = acting_edges * (edges > 0)
    # Unnormalised, the exact repulsion already counts every edge of a point once; normalised, it does not.
    per_point = repelling / repelling.mean() if recipe.normalized else repelling / np.maximum(edges, 1)
    return pull, push * per_point[:, None]


def with_exact_repulsion(recipe: Recipe) -> Recipe:
    """The recipe with the repulsion of all points."""
    return recipe.but(repulsion=Repulsion.EXACT, repulsion_mass=RepulsionMass.DEGREE)


def with_sampled_repulsion(recipe: Recipe, negatives: int) -> Recipe:
    """The recipe with ``negatives`` sampled repulsions for every point."""
    return recipe.but(repulsion=Repulsion.SAMPLED, repulsion_mass=RepulsionMass.DEGREE, negatives=negatives)


def _first_step(graph: Graph, Y: np.ndarray, recipe: Recipe, seed: int, threads: int) -> np.ndarray:
    """The force of one epoch: the length of a plain step with a huge learning rate, divided by that rate."""
    scale = len(Y) if recipe.normalized else 1  # normalised forces are of order 1/n
    rate = _STEP_LENGTH * scale / max(recipe.exaggeration, 1.0)
    plain = recipe.but(
        optimizer=Optimizer.STEP,
        phases=(),
        epochs=1,
        prune=False,
        learning_rate=rate,
        learning_rate_unit=LearningRateUnit.ONE,
        decay_power=0.0,
        momentum=0.0,
        exaggeration_share=1.0,
        step_cap=1e30,
    )
    layout = load_backend("cpu").make_layout(graph, Y, plain, seed, threads)
    layout.run(1)
    moved: np.ndarray = layout.embedding().astype(np.float64) - Y
    return moved / rate
