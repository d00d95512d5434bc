"""Forces on the points of a map, as the engine itself computes them."""

from __future__ import annotations

import numpy as np

from actup.backends import load_backend
from actup.graph import Graph
from actup.recipe import Recipe
from actup.switches import LearningRateUnit, Optimizer, Repulsion, RepulsionMass

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
