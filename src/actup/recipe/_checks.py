"""check_recipe(): parse and check every field of a recipe."""

from __future__ import annotations

import math
from contextlib import suppress
from enum import StrEnum
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np

from actup._errors import WrongType
from actup._suggestions import not_one_of
from actup._values import as_float, read_flag
from actup.neighbors._metric_parameters import check_parameters
from actup.neighbors._metrics import canonical_metric
from actup.recipe._output_metrics import canonical_output_metric, reject_output_metric_contradictions
from actup.recipe._schedule import Phase
from actup.recipe._switches import Affinity, Distance, Loss, Optimizer, Repulsion, RepulsionMass, Update

if TYPE_CHECKING:
    from actup.recipe._recipe import Recipe


def check_recipe(recipe: Recipe) -> None:
    """Bring every field of a new recipe to its own type, and reject values that cannot be run.

    Strings become enum members, numbers of NumPy plain numbers, and sequences tuples.
    """
    types = _field_types()
    _parse_sequences(recipe)
    _parse_enums(recipe, types)
    _parse_numbers(recipe, types)
    _parse_booleans(recipe, types)
    _check_kernel(recipe)
    _reject_contradictions(recipe)
    reject_output_metric_contradictions(recipe)


@cache
def _field_types() -> dict[str, Any]:
    from actup.recipe._recipe import Recipe  # not above: it imports this module

    return get_type_hints(Recipe)


def _set(recipe: Recipe, name: str, value: object) -> None:
    """Set a field, which the frozen dataclass allows only while it is made."""
    object.__setattr__(recipe, name, value)


def _parse_sequences(recipe: Recipe) -> None:
    phases = recipe.phases
    if not isinstance(phases, list | tuple) or not all(isinstance(phase, Phase) for phase in phases):
        raise WrongType(f"phases={phases!r} must be a sequence of Phase")
    _set(recipe, "phases", tuple(phases))
    _set(recipe, "metric", canonical_metric(recipe.metric))
    _set(recipe, "metric_kwds", _parse_metric_kwds(recipe.metric_kwds, "metric_kwds"))
    _set(recipe, "output_metric", canonical_output_metric(recipe.output_metric))
    output_metric_kwds = _parse_metric_kwds(recipe.output_metric_kwds, "output_metric_kwds")
    _set(recipe, "output_metric_kwds", output_metric_kwds)
    _set(recipe, "perplexities", _parse_perplexities(recipe.perplexities))


def _parse_enums(recipe: Recipe, types: dict[str, Any]) -> None:
    """Turn strings into enum members; the rest of the package never compares strings."""
    for name, kind in types.items():
        if not (isinstance(kind, type) and issubclass(kind, StrEnum)):
            continue
        value = getattr(recipe, name)
        try:
            _set(recipe, name, kind(value))
        except ValueError:
            raise ValueError(not_one_of(name, value, [str(member) for member in kind])) from None


def _parse_metric_kwds(values: object, field: str) -> tuple[tuple[str, object], ...]:
    """Sorted (name, value) pairs that can be compared and hashed: arrays and lists become tuples."""

    def frozen(value: object) -> object:
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value

    given: Any = values
    if isinstance(values, tuple):  # the form of a finished recipe
        with suppress(TypeError, ValueError):  # of other things than pairs
            given = dict(values)
    check_parameters(given, field)
    given = given or {}
    return tuple(sorted((name, frozen(value)) for name, value in given.items()))


def _parse_perplexities(values: object) -> tuple[float, ...]:
    """A tuple of floats, each checked as ``perplexity`` is."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if not isinstance(values, list | tuple):
        raise WrongType(f"perplexities={values!r} must be a sequence of numbers")
    for value in values:
        if _read_number("perplexities", value, float) < 1:
            raise ValueError(f"perplexities={values!r} must each be at least 1")
    return tuple(map(float, values))


_MAX_INT = 2**31 - 1  # the engine counts in 32 bits
_MAX_FLOAT = 1e30  # the engine computes in float32, which ends at 3e38
_LEAST_MESH_SPACING = 1e-30  # as in the engine: its inverse is finite in float32
_MAX_EPOCHS = 2**24  # float32, in which the engine decides when an edge attracts, is exact up to here

# name: (type, lowest, highest, whether the lowest itself is allowed)
_RANGES: dict[str, tuple[type[int] | type[float], float, float, bool]] = {
    "n_neighbors": (int, 2, _MAX_INT, True),
    "perplexity": (float, 1, math.inf, True),
    "sigma": (float, 0, _MAX_FLOAT, False),
    "recall": (float, 0, 1, False),
    "set_op_mix_ratio": (float, 0, 1, True),
    "local_connectivity": (float, 0, math.inf, True),
    "n_components": (int, 1, _MAX_INT, True),
    "start_size": (float, 0, _MAX_FLOAT, False),
    "a": (float, 0, _MAX_FLOAT, False),
    "b": (float, 0, _MAX_FLOAT, False),
    "min_dist": (float, 0, _MAX_FLOAT, True),
    "spread": (float, 1e-6, 1e6, True),
    "dof": (float, 0, _MAX_FLOAT, False),
    "partition": (float, 0, _MAX_FLOAT, False),
    "negatives": (int, 1, _MAX_INT, True),
    "repulsion_rate": (float, 0, _MAX_FLOAT, True),
    "repulsion_epsilon": (float, 0, _MAX_FLOAT, False),
    "epochs": (int, 0, _MAX_EPOCHS, True),
    "learning_rate": (float, 0, _MAX_FLOAT, False),
    "decay_start": (float, 0, 1, True),
    "decay_power": (float, 0, _MAX_FLOAT, True),
    "momentum": (float, 0, 1, True),
    "exaggeration": (float, 0, _MAX_FLOAT, False),
    "exaggeration_share": (float, 0, 1, True),
    "late_exaggeration": (float, 0, _MAX_FLOAT, False),
    "mesh_spacing": (float, _LEAST_MESH_SPACING, _MAX_FLOAT, True),
    "theta": (float, 0, math.inf, True),
    "horizon": (float, 0, _MAX_FLOAT, False),
    "density_weight": (float, 0, _MAX_FLOAT, True),
    "density_share": (float, 0, 1, True),
    "density_shift": (float, 0, _MAX_FLOAT, True),
    "step_cap": (float, 0, _MAX_FLOAT, False),
    "force_scale": (float, 0, _MAX_FLOAT, False),
    "gradient_clip": (float, 0, _MAX_FLOAT, False),
}


def _parse_numbers(recipe: Recipe, types: dict[str, Any]) -> None:
    for name, (kind, lowest, highest, inclusive) in _RANGES.items():
        value = getattr(recipe, name)
        if value is None and type(None) in get_args(types[name]):
            continue
        number = _read_number(name, value, kind)
        if number < lowest or (number == lowest and not inclusive):
            raise ValueError(
                f"{name}={value!r} must be {'at least' if inclusive else 'greater than'} {lowest}"
            )
        if number > highest:
            raise ValueError(f"{name}={value!r} must be at most {highest}")
        _set(recipe, name, kind(value))


def _read_number(name: str, value: Any, kind: type[int] | type[float]) -> float:
    """A finite number as a float, in whose range it is compared; fractions are rejected for integers."""
    wanted = "an integer" if kind is int else "a number"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(f"{name}={value!r} must be {wanted}")
    number = as_float(value, name)
    if not -math.inf < number < math.inf:
        raise ValueError(f"{name}={value!r} must be finite")
    if kind is int and not number.is_integer():
        raise WrongType(f"{name}={value!r} must be {wanted}")
    return number


def _parse_booleans(recipe: Recipe, types: dict[str, Any]) -> None:
    for name in (name for name, kind in types.items() if kind is bool):
        _set(recipe, name, read_flag(getattr(recipe, name), name))


def _check_kernel(recipe: Recipe) -> None:
    if (recipe.a is None) != (recipe.b is None):
        raise ValueError(
            f"a={recipe.a} and b={recipe.b}: give both, or neither to fit them to min_dist and spread"
        )
    if recipe.a is None and recipe.min_dist > recipe.spread:
        raise ValueError(f"min_dist={recipe.min_dist} must be at most spread={recipe.spread}")


def _reject_contradictions(recipe: Recipe) -> None:
    """Reject switches that cannot run together; the message names the remedy."""
    in_place = recipe.update is Update.IN_PLACE
    squares_distances = recipe.affinity in (Affinity.GAUSSIAN, Affinity.MULTISCALE, Affinity.FIXED_SIGMA)
    contradictions = [
        (
            squares_distances and recipe.distance is Distance.PSEUDO,
            f"affinity='{recipe.affinity}' uses plain distances: set distance='plain'",
        ),
        (
            recipe.affinity is Affinity.MULTISCALE and not recipe.perplexities,
            "perplexities=() is empty, but affinity='multiscale' needs some: give e.g. (30, 300)",
        ),
        (
            recipe.affinity is Affinity.FIXED_SIGMA and recipe.sigma is None,
            "affinity='fixed_sigma' needs sigma: give a typical distance between neighbours",
        ),
        (
            recipe.dof != 1 and not recipe.normalized,
            f"dof={recipe.dof} needs normalized=True: without it the tails are set by b",
        ),
        (
            recipe.partition is not None and not (recipe.normalized and recipe.loss is Loss.KL),
            f"partition={recipe.partition} needs normalized=True and loss='kl', which have a partition "
            "function to fix",
        ),
        (
            recipe.partition is not None and recipe.repulsion_mass is RepulsionMass.PER_EDGE,
            f"partition={recipe.partition} needs the same number of negatives for every point: "
            "set repulsion_mass='degree' or 'strength'",
        ),
        (
            in_place and recipe.normalized,
            "update='in_place' cannot run with normalized=True, because the normalisation couples all "
            "points: set update='batch'",
        ),
        (
            in_place and recipe.optimizer is not Optimizer.STEP,
            f"update='in_place' has no summed gradient for optimizer='{recipe.optimizer}': "
            "set optimizer='step'",
        ),
        (
            in_place and recipe.repulsion not in (Repulsion.SAMPLED, Repulsion.EXACT),
            f"update='in_place' cannot run with repulsion='{recipe.repulsion}': set repulsion='sampled'",
        ),
        (
            recipe.horizon is not None and not in_place,
            f"horizon={recipe.horizon} belongs to update='in_place': leave it out",
        ),
        (
            recipe.density_weight > 0 and (recipe.normalized or recipe.loss is not Loss.KL),
            f"density_weight={recipe.density_weight} needs normalized=False and loss='kl': it is a term of "
            "UMAP's loss",
        ),
        (
            recipe.density_weight > 0 and in_place,
            f"density_weight={recipe.density_weight} needs the radii of all points at once, which "
            "update='in_place' has not: take preset('umap'), or set update='batch'",
        ),
        (
            recipe.optimizer is Optimizer.STIFFNESS and not recipe.phases,
            "optimizer='stiffness' needs phases: take them from a preset, e.g. preset('tsne').phases",
        ),
        (
            recipe.repulsion is Repulsion.MESH and recipe.n_components > 2,
            f"repulsion='mesh' needs n_components of 1 or 2, not {recipe.n_components}: set repulsion='auto'",
        ),
        (
            recipe.repulsion is Repulsion.BARNES_HUT and recipe.n_components > 3,
            f"repulsion='barnes_hut' needs n_components of 1 to 3, not {recipe.n_components}: "
            "set repulsion='auto'",
        ),
        (
            in_place and recipe.momentum > 0,
            f"update='in_place' has no summed gradient for momentum={recipe.momentum}: set momentum=0",
        ),
        (
            in_place and recipe.repulsion_mass is RepulsionMass.PER_EDGE,
            "update='in_place' draws negatives per point, not per edge: set repulsion_mass='strength'",
        ),
        (
            recipe.repulsion is not Repulsion.SAMPLED and recipe.repulsion_mass is RepulsionMass.PER_EDGE,
            f"repulsion='{recipe.repulsion}' has no negatives to draw per edge: "
            "set repulsion_mass='degree' or 'strength'",
        ),
    ]
    for contradiction, remedy in contradictions:
        if contradiction:
            raise ValueError(remedy)
