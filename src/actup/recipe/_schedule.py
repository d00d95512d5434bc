"""Schedule: the values that change from epoch to epoch of a layout, as arrays that every backend reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from actup.recipe._switches import Loss, Optimizer

if TYPE_CHECKING:
    from actup.recipe._recipe import Recipe


class Role(StrEnum):
    """What a ``Phase`` is for.

    Attributes
    ----------
    EXAGGERATE : "exaggerate"
        Strong attraction gathers the clusters.
    ANNEAL : "anneal"
        The attraction falls towards its late value.
    EXPAND : "expand"
        The map unfolds. In the normalised setting, points are stopped once attraction outweighs repulsion.
    SETTLE : "settle"
        Points that still move come to rest.
    """

    EXAGGERATE = "exaggerate"
    ANNEAL = "anneal"
    EXPAND = "expand"
    SETTLE = "settle"


@dataclass(frozen=True)
class Phase:
    """A part of the descent of optimizer "stiffness".

    Attributes
    ----------
    role : Role
        What the phase is for; it decides the exaggeration and how the phase grows with the number of points.
    epochs : int
        Number of epochs, before it is adapted to the number of points.
    momentum : float
        Share of a step that is repeated in the next. In the expansion of unnormalised maps of more than
        60,000 points it is adapted to their number.
    rate : float, default=1.9
        Factor of the steps, which are force over stiffness; steps are stable below 1 + ``momentum``.
    floor : float, default=0.3
        Least stiffness that a force is divided by, relative to that of a point with close neighbours only.

    See Also
    --------
    actup.Recipe : Its field ``phases`` holds the phases of a run.

    Examples
    --------
    >>> from actup.recipe import Phase, Role, preset
    >>> Phase(Role.SETTLE, epochs=20, momentum=0.9).rate
    1.9
    >>> [str(phase.role) for phase in preset("tsne").phases]
    ['exaggerate', 'anneal', 'expand', 'settle']
    """

    role: Role
    epochs: int
    momentum: float
    rate: float = 1.9
    floor: float = 0.3


@dataclass(frozen=True)
class Schedule:
    """The values of each epoch: float32 arrays of shape (n_epochs,).

    Attributes
    ----------
    learning_rate, momentum, exaggeration, step_cap, stiffness_floor, dilation : ndarray of shape (n_epochs,)
        The values of each epoch, float32.
    expansion : tuple of (int, int), default=(0, 0)
        The first epoch of the expansion and the one after its last. In the normalised setting, points are
        stopped in the first of these epochs in which attraction outweighs repulsion.
    momentum_after_stop : float, default=0.95
        The momentum after that stop, until the expansion ends.
    """

    learning_rate: np.ndarray
    momentum: np.ndarray
    exaggeration: np.ndarray
    step_cap: np.ndarray
    stiffness_floor: np.ndarray
    dilation: np.ndarray
    expansion: tuple[int, int] = (0, 0)
    momentum_after_stop: float = 0.95

    def __len__(self) -> int:
        return len(self.learning_rate)


_ANNEALED_FACTOR = 1.2  # annealing ends at this multiple of the late exaggeration
_LONGER_EXPANSION_ABOVE_N = 60_000  # the size that a map grows to takes more time to reach
_MAX_EXPANSION_FACTOR = 4  # bounds the time that a map of millions of points takes
# An unnormalised map expands faster with more momentum, which takes no more epochs. 1/(1 - momentum) grows
# as this power of the number of points, at most threefold: to a momentum of 0.983 from 312,000 points on.
_MOMENTUM_GROWTH_POWER = 2 / 3
_MAX_MOMENTUM_FACTOR = 3.0
# More momentum needs clusters that have gathered well and more epochs to come to rest: from 135,000 points
# on, these phases grow with the square root of the number of points, up to these factors.
_LONGER_GATHERING_ABOVE_N = 135_000
_MAX_GATHERING_FACTOR = 2.0
_MAX_SETTLING_FACTOR = 1.5
# A normalised map whose expansion is watched is dilated instead of expanding longer: in all by this power of
# the number of points, up to a limit.
_MAX_DILATED_EXPANSION_FACTOR = 1.3  # its expansion takes longer too, but no more than this
_DILATION_POWER = 1.2
_MAX_DILATION = 12.0
_MAX_DILATION_PER_EPOCH = 1.03  # attraction must keep up with it
_MAX_DILATED_DIMENSIONS = 3  # further ones are not centred
_DOUBLE_GATHERING_FROM_N = 500_000  # normalised, not dilated: clusters take twice the epochs to gather
_SLOW_ANNEALING_MAX_N = 4_000  # annealing longer lowers the loss, and costs little on few points
_SLOW_ANNEALING_FACTOR = 2
_LONG_SETTLING_MAX_N = 2_000  # settling longer lowers the loss, and costs little on few points
_LONG_SETTLING_EPOCHS = 200
# The same without normalisation, where the steps of few points that repel each other are the least steady.
_LONG_UNNORMALIZED_SETTLING_MAX_N = 500
_LONG_UNNORMALIZED_SETTLING_EPOCHS = 50
_RANDOM_START_SETTLING_FACTOR = 4  # at high momentum, points that started far from their place still move

_SETTLING_SHARE = 0.1  # of the epochs of a falling learning rate


def falling_schedule(recipe: Recipe, n_samples: int) -> Schedule:
    """The schedule of optimizers "step" and "gains": a falling learning rate, exaggeration at first."""
    from actup._elementary import power

    epochs = recipe.n_epochs(n_samples)
    progress = np.arange(epochs) / max(epochs, 1)
    fall = np.ones(epochs)
    if recipe.decay_start < 1:
        falling = np.clip((progress - recipe.decay_start) / (1 - recipe.decay_start), 0, 1)
        fall = power(1 - falling, recipe.decay_power)
    early = np.arange(epochs) < recipe.exaggeration_share * epochs
    return Schedule(
        learning_rate=(recipe.first_learning_rate(n_samples) * fall).astype(np.float32),
        momentum=np.full(epochs, recipe.momentum, np.float32),
        exaggeration=np.where(early, recipe.exaggeration, recipe.late_exaggeration).astype(np.float32),
        step_cap=(recipe.step_cap * fall).astype(np.float32),
        stiffness_floor=np.ones(epochs, np.float32),
        dilation=np.zeros(epochs, np.float32),
    )


def phased_schedule(recipe: Recipe, n_samples: int) -> Schedule:
    """The schedule of optimizer "stiffness": one phase after the other."""
    lengths = phase_lengths(recipe, n_samples)
    late = recipe.late_exaggeration
    exaggeration: dict[Role, Callable[[int], np.ndarray]] = {
        Role.EXAGGERATE: lambda n: np.full(n, recipe.exaggeration),
        Role.ANNEAL: lambda n: _geometric(recipe.exaggeration, _ANNEALED_FACTOR * late, n),
        Role.EXPAND: lambda n: np.full(n, late),
        Role.SETTLE: lambda n: np.full(n, late),
    }

    def per_epoch(value: Callable[[Phase, int], np.ndarray | float]) -> np.ndarray:
        parts = [np.broadcast_to(value(phase, n), n) for phase, n in zip(recipe.phases, lengths, strict=True)]
        return np.concatenate(parts).astype(np.float32)

    expanding = np.flatnonzero(per_epoch(lambda phase, n: phase.role is Role.EXPAND))
    return Schedule(
        learning_rate=per_epoch(lambda phase, n: recipe.first_learning_rate(n_samples) * phase.rate),
        momentum=per_epoch(lambda phase, n: _adapted_momentum(phase, recipe, n_samples)),
        exaggeration=per_epoch(lambda phase, n: exaggeration[phase.role](n)),
        step_cap=per_epoch(lambda phase, n: recipe.step_cap),
        stiffness_floor=per_epoch(lambda phase, n: phase.floor),
        dilation=per_epoch(lambda phase, n: _dilation(phase, recipe, n_samples, n)),
        expansion=(int(expanding[0]), int(expanding[-1]) + 1) if expanding.size else (0, 0),
    )


def settling_recipe(recipe: Recipe, n_samples: int) -> Recipe:
    """The recipe of the last part of a descent alone, for points that are nearly where they belong.

    Optimizer "stiffness" has a phase for it; for others, it is the last tenth of the falling learning rate.
    """
    recipe = recipe.but(prune=False, density_share=1.0)  # both depend on the number of epochs
    if recipe.optimizer is Optimizer.STIFFNESS:
        lengths = phase_lengths(recipe, n_samples)
        settling = [number for number, phase in enumerate(recipe.phases) if phase.role is Role.SETTLE]
        settling = settling or [len(recipe.phases) - 1]
        return recipe.but(
            phases=tuple(recipe.phases[number] for number in settling),
            epochs=sum(lengths[number] for number in settling),
        )
    before = recipe.n_epochs(n_samples)
    epochs = round(_SETTLING_SHARE * before)
    rates = falling_schedule(recipe, n_samples).learning_rate
    fall = float(rates[before - epochs] / rates[0]) if epochs else 1.0
    return recipe.but(
        epochs=epochs,
        learning_rate=recipe.learning_rate * fall,
        step_cap=recipe.step_cap * fall,
        decay_start=max(0.0, 1 - (1 - recipe.decay_start) / _SETTLING_SHARE),
        exaggeration_share=0.0,
    )


def _geometric(first: float, last: float, n: int) -> np.ndarray:
    """``n`` values from ``first`` to ``last``, each the same multiple of the one before."""
    from actup._elementary import exp, log

    values = exp(np.linspace(log(first), log(last), n))
    values[:1] = first
    if n > 1:
        values[-1] = last
    return values


def phase_lengths(recipe: Recipe, n_samples: int) -> list[int]:
    """The number of epochs of each phase, adapted to the number of points or scaled to ``epochs`` in all."""
    lengths = [_adapted_length(phase, recipe, n_samples) for phase in recipe.phases]
    if recipe.epochs is None:
        return lengths
    if recipe.epochs and not sum(lengths):
        raise ValueError(
            f"epochs={recipe.epochs} cannot be divided among phases={recipe.phases!r}, which have no epochs: "
            "give one of them epochs"
        )
    ends = np.rint(np.cumsum(lengths) * recipe.epochs / max(sum(lengths), 1)).astype(int)
    return [int(length) for length in np.diff(ends, prepend=0)]


def _adapted_length(phase: Phase, recipe: Recipe, n_samples: int) -> int:
    """The number of epochs of a phase for this number of points."""
    from actup._elementary import log

    epochs = phase.epochs
    match phase.role:
        case Role.EXAGGERATE | Role.ANNEAL if recipe.has_random_start:
            return 2 * epochs
        case Role.EXAGGERATE | Role.ANNEAL if not recipe.normalized:
            return round(epochs * _growth(n_samples, _LONGER_GATHERING_ABOVE_N, _MAX_GATHERING_FACTOR))
        case Role.EXAGGERATE | Role.ANNEAL if n_samples >= _DOUBLE_GATHERING_FROM_N and not _dilates(recipe):
            return 2 * epochs
        case Role.ANNEAL if recipe.normalized and n_samples <= _SLOW_ANNEALING_MAX_N:
            return _SLOW_ANNEALING_FACTOR * epochs
        case Role.EXPAND if _dilates(recipe):
            needed = float(log(_whole_dilation(n_samples)) / log(_MAX_DILATION_PER_EPOCH))
            longer = _growth(n_samples, _LONGER_EXPANSION_ABOVE_N, _MAX_DILATED_EXPANSION_FACTOR)
            return max(round(epochs * longer), math.ceil(needed))
        case Role.EXPAND if recipe.normalized:
            return round(epochs * _growth(n_samples, _LONGER_EXPANSION_ABOVE_N, _MAX_EXPANSION_FACTOR))
        case Role.SETTLE if not recipe.normalized and n_samples <= _LONG_UNNORMALIZED_SETTLING_MAX_N:
            return max(_LONG_UNNORMALIZED_SETTLING_EPOCHS, epochs)
        case Role.SETTLE if not recipe.normalized:
            return round(epochs * _growth(n_samples, _LONGER_GATHERING_ABOVE_N, _MAX_SETTLING_FACTOR))
        case Role.SETTLE if n_samples <= _LONG_SETTLING_MAX_N:
            return max(_LONG_SETTLING_EPOCHS, epochs)
        case Role.SETTLE if recipe.has_random_start:
            return _RANDOM_START_SETTLING_FACTOR * epochs
    return epochs


def _adapted_momentum(phase: Phase, recipe: Recipe, n_samples: int) -> float:
    """The momentum of a phase for this number of points."""
    if phase.role is not Role.EXPAND or recipe.normalized:
        return phase.momentum
    limit = _MAX_MOMENTUM_FACTOR
    growth = _growth(n_samples, _LONGER_EXPANSION_ABOVE_N, limit, _MOMENTUM_GROWTH_POWER)
    return 1 - (1 - phase.momentum) / growth


def _dilates(recipe: Recipe) -> bool:
    """Whether maps of many points are dilated: those that are centred and whose expansion is watched."""
    return recipe.normalized and recipe.loss is Loss.KL and recipe.n_components <= _MAX_DILATED_DIMENSIONS


def _dilation(phase: Phase, recipe: Recipe, n_samples: int, epochs: int) -> float:
    """The share by which a map grows in each epoch of a phase, besides what the forces do."""
    if phase.role is not Role.EXPAND or not _dilates(recipe) or not epochs:
        return 0.0
    from actup._elementary import power

    return float(power(_whole_dilation(n_samples), 1 / epochs)) - 1


def _whole_dilation(n_samples: int) -> float:
    """The factor by which all epochs of an expansion together dilate a map."""
    return _growth(n_samples, _LONGER_EXPANSION_ABOVE_N, _MAX_DILATION, _DILATION_POWER)


def _growth(n_samples: int, above: int, limit: float, exponent: float = 0.5) -> float:
    """A factor that is 1 up to ``above`` points and then grows as a power of their number, up to a limit."""
    from actup._elementary import power

    return min(limit, float(power(max(1.0, n_samples / above), exponent)))
