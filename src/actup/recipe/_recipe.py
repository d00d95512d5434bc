"""Recipe: every switch of the paper and every default, as one frozen value; cookbook.py names the good ones.

A recipe says completely what a run does; nothing else in the package holds a default. A switch is one
field with one value, so that an experiment is ``recipe.but(normalized=True)`` and nothing more. How the
fields act on the points, epoch by epoch, is written down in docs/layout.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import lru_cache
from numbers import Real
from typing import get_args, get_type_hints

import numpy as np

from actup.neighbors._metrics import canonical_metric
from actup.recipe._schedule import Phase, Schedule, falling_schedule, phase_lengths, phased_schedule
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


@dataclass(frozen=True)
class Recipe:
    """A complete description of a run. Make one from a preset: ``preset("umap").but(epochs=100)``."""

    # the graph
    n_neighbors: int = 15  # counts the point itself, as umap-learn does; unless perplexities say it
    perplexity: float = 30.0  # affinity "gaussian" only; three times as many neighbours are searched
    perplexities: tuple[float, ...] = ()  # affinity "multiscale" only; three times the largest are searched
    sigma: float | None = None  # affinity "fixed_sigma" only: its width, in the unit of the distances
    metric: str | Callable = "euclidean"  # a name that actup.neighbors._api knows, or a function of two rows
    metric_kwds: tuple[tuple[str, object], ...] = ()  # its parameters; given as a dict
    affinity: Affinity = Affinity.UMAP
    distance: Distance = Distance.PSEUDO
    symmetrization: Symmetrization = Symmetrization.UMAP
    # the start
    n_components: int = 2
    initialization: Initialization = Initialization.SPECTRAL
    start_extent: Extent = Extent.BOX
    start_size: float = 10.0
    # the low-dimensional kernel (1 + a d^(2b)/dof)^-dof; a and b None: fitted to min_dist and spread
    a: float | None = None
    b: float | None = None
    min_dist: float = 0.1
    spread: float = 1.0
    dof: float = 1.0  # degrees of freedom: less than 1 gives heavier tails, and more and finer clusters
    # forces
    normalized: bool = False
    partition: float | None = None  # Z over n²: about 100/n is t-SNE's, 0.2 UMAP's; None: what the map has
    loss: Loss = Loss.KL
    symmetric_attraction: bool = False
    sampling: Sampling = Sampling.EXHAUSTIVE
    repulsion: Repulsion = Repulsion.SAMPLED
    negatives: int = 64
    repulsion_mass: RepulsionMass = RepulsionMass.STRENGTH
    repulsion_rate: float = 3.15  # with STRENGTH: as much as one negative per edge on a k = 15 fuzzy graph
    non_edge_weight: NonEdgeWeight = NonEdgeWeight.ONE
    repulsion_epsilon: float = 0.01
    mesh_spacing: float | None = None  # repulsion "mesh": distance of the grid's lines; None: see spacing()
    theta: float = 0.5  # repulsion "barnes_hut": how wide a group may be, relative to its distance
    horizon: float | None = None  # update "in_place": how many RMS radii repulsion may push a point out
    # the descent
    update: Update = Update.BATCH
    optimizer: Optimizer = Optimizer.STEP
    epochs: int | None = None  # None: see n_epochs()
    prune: bool = True  # drop edges weaker than the largest weight over the number of epochs
    learning_rate: float = 1.0
    learning_rate_unit: LearningRateUnit = LearningRateUnit.ONE
    decay_start: float = 0.0  # share of the epochs before the learning rate begins to fall
    decay_power: float = 1.5  # it then falls as (1 - progress)^power; 0: constant
    momentum: float = 0.5
    exaggeration: float = 1.0  # attraction is multiplied by this ...
    exaggeration_share: float = 0.0  # ... in this share of the epochs; optimizer "stiffness": in its phases
    late_exaggeration: float = 1.0  # and by this afterwards: 1 is t-SNE, about 4 looks like UMAP
    step_cap: float = 4.0  # optimizers "step", "stiffness": longest step; falls with the learning rate
    force_scale: float = 1.0  # optimizer "gains": multiplies the force before gains and clip
    gradient_clip: float | None = (
        1.0  # optimizer "gains": bound on force times gain, per coordinate; None: no
    )
    phases: tuple[Phase, ...] = ()  # optimizer "stiffness": what it does one after the other

    def __post_init__(self):
        _parse_switches(self)
        _check_ranges(self)
        _refuse_contradictions(self)

    def but(self, **changes) -> Recipe:
        """The same recipe with some fields changed."""
        unknown = sorted(set(changes) - {field.name for field in fields(self)})
        if unknown:
            raise TypeError(
                f"{unknown[0]!r} is not a switch of Recipe; the switches are {', '.join(switches())}"
            )
        return replace(self, **changes)

    def n_epochs(self, n_samples: int) -> int:
        """The number of epochs for this many points."""
        if self.epochs is not None:
            return self.epochs
        if self.optimizer is Optimizer.STIFFNESS:
            return sum(phase_lengths(self, n_samples))
        if self.normalized:
            return 500
        return 500 if n_samples <= 10_000 else 200

    def schedule(self, n_samples: int) -> Schedule:
        """What changes from epoch to epoch, for this many points."""
        make = phased_schedule if self.optimizer is Optimizer.STIFFNESS else falling_schedule
        return make(self, n_samples)

    def first_learning_rate(self, n_samples: int) -> float:
        """The learning rate before it falls, its unit included."""
        return self.learning_rate * (n_samples if self.learning_rate_unit is LearningRateUnit.POINTS else 1)

    @property
    def starts_anywhere(self) -> bool:
        """Whether the points start where the data did not put them."""
        return self.initialization is Initialization.RANDOM

    def repulsion_for(self, n_samples: int) -> Repulsion:
        """The repulsion that "auto" stands for: all pairs while they are few, then the fastest fit one."""
        if self.repulsion is not Repulsion.AUTO:
            return self.repulsion
        planar = self.n_components <= 2
        if n_samples <= (_VERY_FEW if planar and not self.normalized else _FEW):
            return Repulsion.EXACT
        if planar:
            return Repulsion.MESH
        return Repulsion.BARNES_HUT if self.n_components == 3 else Repulsion.SAMPLED

    def spacing(self, n_samples: int) -> float:
        """The distance of the mesh's lines: as wide as the sharpest feature of the repulsion allows."""
        if self.mesh_spacing is not None:
            return self.mesh_spacing
        if not self.normalized and self.loss is Loss.KL:
            return 0.15  # UMAP's repulsion is nearly singular
        if self.loss is Loss.FROBENIUS:
            return 0.35  # the square of the kernel is narrower
        return 0.7 if n_samples >= 60_000 else 0.5  # errors of many points cancel

    def kernel(self) -> tuple[float, float]:
        """The kernel scalars a and b, fitted if they are not given."""
        if self.a is not None and self.b is not None:
            return self.a, self.b
        return fit_kernel(self.min_dist, self.spread)

    def neighbors_searched(self, n_samples: int) -> int:
        """How many other points' distances the graph needs, per point."""
        scales = self.scales()
        wanted = math.floor(3 * max(scales)) if scales else self.n_neighbors - 1
        return max(0, min(n_samples - 1, wanted))

    def scales(self) -> tuple[float, ...]:
        """The perplexities that rows of similarities are made for; none if the affinity has no perplexity."""
        match self.affinity:
            case Affinity.GAUSSIAN:
                return (self.perplexity,)
            case Affinity.MULTISCALE:
                return self.perplexities
        return ()


_FEW = 4_000  # points whose pairs are all computed, where the mesh is not much faster,
_VERY_FEW = 500  # and where it is: the unnormalised repulsion costs more per pair, and its maps are smaller


def switches() -> list[str]:
    """The names of all switches."""
    return [field.name for field in fields(Recipe)]


_TYPES = get_type_hints(Recipe)
_ENUMS = {name: kind for name, kind in _TYPES.items() if isinstance(kind, type) and issubclass(kind, StrEnum)}
_BOOLEANS = [name for name, kind in _TYPES.items() if kind is bool]
_OPTIONAL = [name for name, kind in _TYPES.items() if type(None) in get_args(kind)]


def _parse_switches(recipe: Recipe) -> None:
    """Turn strings into enum values, at the edge and nowhere else."""
    phases = recipe.phases
    if not isinstance(phases, list | tuple) or not all(isinstance(phase, Phase) for phase in phases):
        raise TypeError(f"phases={phases!r} must be a sequence of Phase")
    object.__setattr__(recipe, "phases", tuple(phases))
    object.__setattr__(recipe, "metric", canonical_metric(recipe.metric))
    object.__setattr__(recipe, "metric_kwds", _parse_parameters(recipe.metric_kwds))
    object.__setattr__(recipe, "perplexities", _parse_perplexities(recipe.perplexities))
    for name, kind in _ENUMS.items():
        value = getattr(recipe, name)
        try:
            object.__setattr__(recipe, name, kind(value))
        except ValueError:
            allowed = ", ".join(repr(str(member)) for member in kind)
            raise ValueError(f"{name}={value!r} is not one of {allowed}") from None


def _parse_parameters(values: object) -> tuple[tuple[str, object], ...]:
    """Names and values, in order, as something that can be compared and hashed: arrays become tuples."""

    def frozen(value: object) -> object:
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value

    if not isinstance(values, Mapping | tuple):
        raise TypeError(f"metric_kwds={values!r} must be a dict of the metric's parameters")
    return tuple(sorted((name, frozen(value)) for name, value in dict(values).items()))


def _parse_perplexities(values: object) -> tuple[float, ...]:
    """A tuple, from any sequence of numbers; each is checked as ``perplexity`` is."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if not isinstance(values, list | tuple):
        raise TypeError(f"perplexities={values!r} must be a sequence of numbers")
    for value in values:
        _check_number("perplexities", value, float)
        if value < 1:
            raise ValueError(f"perplexities={values!r} must each be at least 1")
    return tuple(map(float, values))


_INT = 2**31 - 1  # the compiled code counts in 32 bits
_EPOCHS = 2**24  # whole numbers up to here are exact in float32, which decides when an edge acts

# name: (type, lowest, highest, whether the lowest itself is allowed)
_RANGES = {
    "n_neighbors": (int, 2, _INT, True),
    "perplexity": (float, 1, math.inf, True),
    "sigma": (float, 0, math.inf, False),
    "n_components": (int, 1, _INT, True),
    "start_size": (float, 0, math.inf, False),
    "a": (float, 0, math.inf, False),
    "b": (float, 0, math.inf, False),
    "min_dist": (float, 0, math.inf, True),
    "spread": (float, 1e-6, 1e6, True),
    "dof": (float, 0, math.inf, False),
    "partition": (float, 0, math.inf, False),
    "negatives": (int, 1, _INT, True),
    "repulsion_rate": (float, 0, math.inf, True),
    "repulsion_epsilon": (float, 0, math.inf, False),
    "epochs": (int, 0, _EPOCHS, True),
    "learning_rate": (float, 0, math.inf, False),
    "decay_start": (float, 0, 1, True),
    "decay_power": (float, 0, math.inf, True),
    "momentum": (float, 0, 1, True),
    "exaggeration": (float, 0, math.inf, False),
    "exaggeration_share": (float, 0, 1, True),
    "late_exaggeration": (float, 0, math.inf, False),
    "mesh_spacing": (float, 0, math.inf, False),
    "theta": (float, 0, math.inf, True),
    "horizon": (float, 0, math.inf, False),
    "step_cap": (float, 0, math.inf, False),
    "force_scale": (float, 0, math.inf, False),
    "gradient_clip": (float, 0, math.inf, False),
}


def _check_ranges(recipe: Recipe) -> None:
    for name, (kind, lowest, highest, inclusive) in _RANGES.items():
        value = getattr(recipe, name)
        if value is None and name in _OPTIONAL:
            continue
        _check_number(name, value, kind)
        if value < lowest or (value == lowest and not inclusive):
            raise ValueError(
                f"{name}={value!r} must be {'at least' if inclusive else 'greater than'} {lowest}"
            )
        if value > highest:
            raise ValueError(f"{name}={value!r} must be at most {highest}")
        object.__setattr__(recipe, name, kind(value))
    for name in _BOOLEANS:
        value = getattr(recipe, name)
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={value!r} must be True or False")
        object.__setattr__(recipe, name, bool(value))
    if (recipe.a is None) != (recipe.b is None):
        raise ValueError(
            f"a={recipe.a} and b={recipe.b}: give both, or neither to fit them to min_dist and spread"
        )
    if recipe.a is None and recipe.min_dist > recipe.spread:
        raise ValueError(f"min_dist={recipe.min_dist} must be at most spread={recipe.spread}")


def _check_number(name: str, value: object, kind: type) -> None:
    """Refuse what is no finite number, or no whole one where one is needed; NumPy's numbers are welcome."""
    wanted = "an integer" if kind is int else "a number"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be {wanted}")
    if not -math.inf < value < math.inf:
        raise ValueError(f"{name}={value!r} must be finite")
    if kind is int and value != int(value):
        raise TypeError(f"{name}={value!r} must be {wanted}")


def _refuse_contradictions(recipe: Recipe) -> None:
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
            f"partition={recipe.partition} needs as many negatives for every point: "
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


@lru_cache(maxsize=64)  # a stage that asks again should not wait for the fit
def fit_kernel(min_dist: float, spread: float) -> tuple[float, float]:
    """The a and b for which 1/(1 + a d^(2b)) is closest to UMAP's wanted curve.

    The curve is 1 up to ``min_dist`` and falls as exp(-(d - min_dist)/spread) beyond it; least squares over
    300 distances from 0 to 3 ``spread``, as umap-learn does, so that the same parameters give the same map.
    Distances are measured in units of ``spread``. The unknowns are the logarithms of a and b, found by Gauss
    and Newton's method from 0; written out, since scipy.optimize takes a hundred times as long to import.
    """
    distance = np.linspace(0, 3, 300)[1:]  # at 0 the kernel is 1 whatever a and b are
    wanted = np.exp(-np.maximum(distance - min_dist / spread, 0))

    def kernel(logarithms):
        a, b = np.exp(logarithms)
        return 1 / (1 + a * distance ** (2 * b))

    def misfit(logarithms):
        return np.sum((kernel(logarithms) - wanted) ** 2)

    at = np.zeros(2)
    for _ in range(100):
        found = kernel(at)
        slope = -found * (1 - found)  # by the logarithm of a
        slopes = np.column_stack([slope, slope * 2 * np.exp(at[1]) * np.log(distance)])
        step = np.linalg.lstsq(slopes, wanted - found, rcond=None)[0]
        while np.abs(step).max() > 1e-12 and misfit(at + step) > misfit(at):
            step /= 2
        at += step
        if np.abs(step).max() <= 1e-12:
            break
    a, b = np.exp(at)
    return float(a / spread ** (2 * b)), float(b)
