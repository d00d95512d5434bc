"""Placement: the numbers that the descent of new rows reads, on every backend.

docs/layout.md, "New rows", says what they mean. The constants that a recipe does not have stand here.
"""

from __future__ import annotations

from dataclasses import dataclass

from actup.graph._records import Neighbors
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity, Distance, NonEdgeWeight, RepulsionMass, Sampling

# Chosen with benchmarks/transform.py, which measures time and accuracy.
_EPOCHS = 50
_SAMPLED_POINTS = 128  # points of the map that repel a row in an epoch
_STIFFNESS_FLOOR = 0.3

# The perplexity of the fit would need three times as many neighbours per new row for the same accuracy. With
# openTSNE's 5, more rows end up far from where the fit would have put them.
_MAX_PERPLEXITY = 10.0


@dataclass(frozen=True)
class Placement:
    """What the descent of a new row reads; ``_native/transform/placement.h`` has the same fields.

    Attributes
    ----------
    seed : int
    curve : tuple of float
        a, b and dof of the map's kernel.
    epochs : int
    samples : int
        Points of the map that are drawn in an epoch; all of them if the map has fewer.
    attraction : float
        What attraction is multiplied by.
    repulsion, epsilon : float
        Rate and smallest squared distance of the unnormalised repulsion.
    partition : float
        Z of a row in the normalised setting; 0: summed over the map.
    learning_rate, step_cap : float
        Of the first epoch; both fall to zero in a straight line.
    stiffness_floor : float
        Least stiffness, relative to that of a row whose neighbours are all close.
    mass_is_degree, mean_non_edge_weight : bool
        Of the unnormalised repulsion.
    """

    seed: int
    curve: tuple[float, float, float]
    epochs: int
    samples: int
    attraction: float
    repulsion: float
    epsilon: float
    partition: float
    learning_rate: float
    step_cap: float
    stiffness_floor: float
    mass_is_degree: bool
    mean_non_edge_weight: bool


def make_placement(recipe: Recipe, n_samples: int, seed: int) -> Placement:
    """The placement on a recipe's map of ``n_samples`` points."""
    per_edge = recipe.repulsion_mass is RepulsionMass.PER_EDGE and recipe.sampling is Sampling.EXHAUSTIVE
    return Placement(
        seed=seed,
        curve=(*recipe.kernel(), recipe.dof),
        epochs=_EPOCHS,
        samples=_SAMPLED_POINTS,
        attraction=recipe.late_exaggeration * (2 if recipe.symmetric_attraction else 1),
        repulsion=recipe.repulsion_rate,
        epsilon=recipe.repulsion_epsilon,
        partition=(recipe.partition or 0.0) * n_samples,
        learning_rate=1.0,
        step_cap=recipe.step_cap,
        stiffness_floor=_STIFFNESS_FLOOR,
        mass_is_degree=recipe.repulsion_mass is RepulsionMass.DEGREE or per_edge,
        mean_non_edge_weight=recipe.non_edge_weight is NonEdgeWeight.MEAN,
    )


def row_recipe(recipe: Recipe) -> Recipe:
    """The recipe with the affinity of new rows: one small perplexity in place of several or large ones."""
    if not recipe.scales():
        return recipe
    return recipe.but(
        affinity=Affinity.GAUSSIAN, distance=Distance.PLAIN, perplexity=min(_MAX_PERPLEXITY, *recipe.scales())
    )


def neighbors_needed(recipe: Recipe, n_samples: int) -> int:
    """The number of neighbours that a new row needs on a map of ``n_samples`` points, by a ``row_recipe``."""
    return max(1, min(n_samples, recipe.neighbors_per_row()))


def check_ids(neighbors: Neighbors, n: int) -> None:
    """Reject ids that are no points of a map of n points, before compiled code reads their places."""
    ids = neighbors.indices
    if ids.size and not 0 <= ids.min() <= ids.max() < n:
        raise ValueError(
            f"neighbors has ids {ids.min()} to {ids.max()}, but the map has points 0 to {n - 1}: search the "
            "rows that the map was made of"
        )
