"""Recipes: every switch, every default and the presets."""

from actup.recipe._presets import preset, presets
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import Phase, Role
from actup.recipe._switches import (
    Affinity,
    Distance,
    Extent,
    Initialization,
    LearningRateUnit,
    Loss,
    NonEdgeWeight,
    Optimizer,
    Repulsion,
    RepulsionMass,
    Sampling,
    Symmetrization,
    Update,
)

__all__ = [
    "Affinity",
    "Distance",
    "Extent",
    "Initialization",
    "LearningRateUnit",
    "Loss",
    "NonEdgeWeight",
    "Optimizer",
    "Phase",
    "Recipe",
    "Repulsion",
    "RepulsionMass",
    "Role",
    "Sampling",
    "Symmetrization",
    "Update",
    "preset",
    "presets",
]
