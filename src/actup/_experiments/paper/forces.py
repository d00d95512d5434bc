"""Forces on the points of a map, as the engine itself computes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from actup.backends import load_backend
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe
from actup.recipe._switches import LearningRateUnit, Optimizer, Repulsion, RepulsionMass, Sampling

_ALONE = 1e-25  # an exaggeration that leaves nothing of the attraction
_OVERWHELMING = 1e12  # and one beside which the repulsion does not count
_STEP = 1e5  # length of a step beside which rounding of the coordinates does not count


def repulsion(graph: Graph, Y: np.ndarray, recipe: Recipe, seed: int, threads: int) -> np.ndarray:
    """The repulsive forces of the first epoch from Y: shape (n, dimensions), float64."""
    return _first_step(graph, Y, recipe.but(exaggeration=_ALONE), seed, threads)


def attraction(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> np.ndarray:
    """The attractive forces of all edges at Y: shape (n, dimensions), float64."""
    strong = recipe.but(exaggeration=_OVERWHELMING)
    return _first_step(graph, Y, strong, 0, threads) / _OVERWHELMING


def mean_forces(graph: Graph, Y: np.ndarray, recipe: Recipe, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Attraction and repulsion at Y of a recipe with one repulsion per edge, averaged over all epochs.

    An edge acts in a share of the epochs that is its weight over the largest one, so on average a force of
    the sampled forms is that of the full sum with other weights, and the repulsion of a point goes with the
    number of its edges that act.

    Parameters
    ----------
    graph : Graph
        Pruned as the layout would do it.
    Y : ndarray of shape (n, dimensions)
    recipe : Recipe
        Its ``sampling`` is what is looked at; "scalar" is not among the forms.
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
    if recipe.normalized:  # the engine has made the other weights sum to 1
        pull *= weights.sum(dtype=np.float64) / graph.weights.sum(dtype=np.float64)
    push = repulsion(graph, Y, from_all_points(exhaustive), 0, threads)
    edges = np.diff(graph.offsets)
    repelling = np.add.reduceat(np.append(acting, 0.0).astype(np.float64), graph.offsets[:-1]) * (edges > 0)
    # Unnormalised, the exact form counts every edge once already; normalised, no point's count.
    per_point = repelling / repelling.mean() if recipe.normalized else repelling / np.maximum(edges, 1)
    return pull, push * per_point[:, None]


def from_all_points(recipe: Recipe) -> Recipe:
    """The recipe with the repulsion of all points, none sampled."""
    return recipe.but(repulsion=Repulsion.EXACT, repulsion_mass=RepulsionMass.DEGREE)


def from_some_points(recipe: Recipe, negatives: int) -> Recipe:
    """The recipe with as many negatives for every point."""
    return recipe.but(repulsion=Repulsion.SAMPLED, repulsion_mass=RepulsionMass.DEGREE, negatives=negatives)


def _first_step(graph: Graph, Y: np.ndarray, recipe: Recipe, seed: int, threads: int) -> np.ndarray:
    """The force of one epoch: how far a plain step with a huge learning rate goes, over that rate."""
    scale = len(Y) if recipe.normalized else 1  # normalised forces are of order 1/n
    rate = _STEP * scale / max(recipe.exaggeration, 1.0)
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
    return (layout.embedding().astype(np.float64) - Y) / rate
