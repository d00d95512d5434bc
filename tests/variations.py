"""Recipes, graphs and starts for the contract tests. They cover new values of a switch automatically."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from functools import cache
from itertools import product
from typing import get_type_hints

import numpy as np

from actup.backends import backends, load_backend
from actup.graph._records import Graph, Neighbors
from actup.recipe._presets import preset, presets
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Loss, Repulsion

TYPES = get_type_hints(Recipe)
ENUMS = {name: kind for name, kind in TYPES.items() if isinstance(kind, type) and issubclass(kind, StrEnum)}
FAST_BACKENDS = [name for name in backends() if name != "reference"]


def choices(name: str, value) -> list:
    """Other values of a switch: all of them for an enum, one for a number."""
    if name in ENUMS:
        return [member for member in ENUMS[name] if member is not value]
    if TYPES[name] is bool:
        return [not value]
    if TYPES[name] is int:
        return [value + 1]
    return [] if value is None else [type(value)(0.7 * value + 0.2)]  # stays within every parameter's range


def but(recipe: Recipe, **changes) -> Recipe | None:
    """The changed recipe, or None where Recipe rejects the combination."""
    try:
        return recipe.but(**changes)
    except ValueError:
        return None


def short_presets() -> dict[str, Recipe]:
    """Every preset with its schedule shortened to 12 epochs."""
    return _unique({name: preset(name).but(epochs=12) for name in presets()})


# Switches of the stages before the layout; the tests of those stages vary them.
_NOT_VARIED = {"metric", "metric_kwds", "affinity", "distance", "symmetrization", "perplexity", "n_neighbors"}
_NOT_VARIED |= {"perplexities", "sigma", "set_op_mix_ratio", "local_connectivity"}
_NOT_VARIED |= {"initialization", "start_extent", "start_size"}
# Switches of densMAP, which needs radii of the data; tests/layout/test_density.py varies them.
_NOT_VARIED |= {"density_weight", "density_share", "density_shift"}
# tests/layout/test_output_metrics.py covers them.
_NOT_VARIED |= {"output_metric", "output_metric_kwds"}
# A switch with a compound value; the presets that set it cover it.
_NOT_VARIED |= {"phases"}


def single_switch_variations() -> dict[str, Recipe]:
    """Every preset, and every preset with one switch of the layout changed, without repetitions."""
    named = {}
    for name, recipe in short_presets().items():
        named[name] = recipe
        for field in fields(Recipe):
            if field.name not in _NOT_VARIED:
                for value in choices(field.name, getattr(recipe, field.name)):
                    named[f"{name}-{field.name}={value}"] = but(recipe, **{field.name: value})
    return _unique(named)


def force_combinations() -> dict[str, Recipe]:
    """All combinations of the switches that decide which terms the forces have."""
    names = ("normalized", "loss", "sampling", "repulsion", "repulsion_mass", "update")
    base = Recipe(a=1.2, b=0.9, negatives=20, momentum=0, epochs=12)
    values = [[False, True] if TYPES[name] is bool else list(TYPES[name]) for name in names]
    return _unique(
        {
            "-".join(map(str, combination)): but(base, **dict(zip(names, combination, strict=True)))
            for combination in product(*values)
        }
    )


def tails_and_partitions() -> dict[str, Recipe]:
    """Every repulsion with heavy and light tails, and with a fixed partition function."""
    base = Recipe(a=1.2, b=0.9, normalized=True, negatives=20, momentum=0, epochs=12)
    changes = [{"dof": 0.6}, {"dof": 3.0}, {"a": 1.0, "b": 1.0, "dof": 0.6}, {"partition": 0.02}]
    return _unique(
        {
            f"{repulsion}-{loss}-{change}": but(base, repulsion=repulsion, loss=loss, **change)
            for repulsion, loss, change in product(Repulsion, Loss, changes)
        }
    )


def limit_travel(recipe: Recipe, n: int, travel: float = 0.3) -> Recipe:
    """The recipe with a learning rate at which no point moves farther than about ``travel`` in the whole run.

    Presets deliberately take steps beyond the stability limit, so the trajectories of two correct programs
    diverge after a few epochs. With small steps, rounding errors do not grow. The step cap is lowered too, so
    that some steps are still capped.
    """
    recipe = recipe.but(learning_rate=recipe.learning_rate / 100)
    if recipe.repulsion is Repulsion.MESH:
        recipe = recipe.but(mesh_spacing=0.04)  # fine enough to equal the sum over all pairs
    start = start_of(n, recipe.n_components)
    layout = load_backend("reference").make_layout(graph_of(n, recipe), start, recipe, seed=0)
    layout.run(layout.n_epochs)
    farthest = np.abs(layout.embedding() - start).max()
    factor = travel / max(float(farthest), 1e-6)
    return recipe.but(learning_rate=recipe.learning_rate * factor, step_cap=recipe.step_cap * travel / 20)


@cache
def clustered_points(n: int, dimensions: int = 6) -> np.ndarray:
    """Points of three clusters of different density: (n, dimensions) float32."""
    random = np.random.default_rng(n)
    centres = 4 * random.standard_normal((3, dimensions))
    widths = np.array([0.5, 1.0, 2.0])
    labels = random.integers(3, size=n)
    return np.float32(centres[labels] + widths[labels, None] * random.standard_normal((n, dimensions)))


@cache
def neighbors_of(n: int, k: int, metric: str) -> Neighbors:
    return load_backend("reference").nearest_neighbors(clustered_points(n), k, metric)


def graph_of(n: int, recipe: Recipe) -> Graph:
    """The recipe's graph of n clustered points."""
    return _graph_of(n, recipe.neighbors_searched(n), *(getattr(recipe, name) for name in _GRAPH_SWITCHES))


_GRAPH_SWITCHES = ("metric", "affinity", "distance", "symmetrization", "perplexity", "perplexities", "sigma")
_GRAPH_SWITCHES += ("set_op_mix_ratio", "local_connectivity")


@cache
def _graph_of(n: int, k: int, metric: str, *switches) -> Graph:
    names = _GRAPH_SWITCHES[1:]
    recipe = Recipe(metric=metric, **dict(zip(names, switches, strict=True)))
    return load_backend("reference").affinity_graph(neighbors_of(n, k, metric), recipe)


def start_of(n: int, dimensions: int) -> np.ndarray:
    """A start that keeps graph neighbours close, in a box of side 10: (n, dimensions) float32."""
    X = clustered_points(n)[:, :dimensions]
    return np.float32(10 * (X - X.min(axis=0)) / max(np.ptp(X), 1e-9))


def _unique(named: dict[str, Recipe | None]) -> dict[str, Recipe]:
    """Without rejected combinations (None) and repeated recipes."""
    seen = set()
    return {
        name: recipe
        for name, recipe in named.items()
        if recipe is not None and not (recipe in seen or seen.add(recipe))
    }
