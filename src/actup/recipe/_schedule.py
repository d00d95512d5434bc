"""Schedule: what changes from epoch to epoch of a layout, as arrays that every backend reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from actup.recipe._recipe import Recipe


class Role(StrEnum):
    """What a phase is for."""

    EXAGGERATE = "exaggerate"  # strong attraction gathers the clusters
    ANNEAL = "anneal"  # attraction falls to its late value
    EXPAND = "expand"  # the map unfolds; in the normalised setting until repulsion no longer wins
    SETTLE = "settle"  # what still moves comes to rest


@dataclass(frozen=True)
class Phase:
    """A part of the descent of optimizer "stiffness"."""

    role: Role
    epochs: int
    momentum: float
    rate: float = 1.9  # steps per unit of force over stiffness; stable below 1 + momentum
    floor: float = 0.3  # least stiffness, relative to that of a point whose neighbours are all close


@dataclass(frozen=True)
class Schedule:
    """Arrays with one value per epoch, float32.

    In the epochs of ``expansion`` the normalised setting watches the balance of the map: once attraction
    wins, the points are stopped, and ``rested_momentum`` replaces the momentum of the rest of that phase.
    """

    learning_rate: np.ndarray
    momentum: np.ndarray
    exaggeration: np.ndarray
    step_cap: np.ndarray
    stiffness_floor: np.ndarray
    expansion: tuple[int, int] = (0, 0)
    rested_momentum: float = 0.95

    def __len__(self) -> int:
        return len(self.learning_rate)


_ANNEALED = 1.2  # what the annealing ends at, times the late exaggeration
_MANY = 60_000  # points whose expansion needs no more epochs than the phase has
_LARGE = 500_000  # points that need twice the epochs to gather in clusters
_SMALL = 2_000  # points that need time to settle
_FEW = 4_000  # points that a slower annealing brings to a lower loss, at no cost worth counting


def falling_schedule(recipe: Recipe, n_samples: int) -> Schedule:
    """For optimizers "step" and "gains": a learning rate that falls, attraction exaggerated at first."""
    epochs = recipe.n_epochs(n_samples)
    progress = np.arange(epochs) / max(epochs, 1)
    fall = np.ones(epochs)
    if recipe.decay_start < 1:
        falling = np.clip((progress - recipe.decay_start) / (1 - recipe.decay_start), 0, 1)
        fall = (1 - falling) ** recipe.decay_power
    early = np.arange(epochs) < recipe.exaggeration_share * epochs
    return Schedule(
        learning_rate=np.float32(recipe.first_learning_rate(n_samples) * fall),
        momentum=np.full(epochs, recipe.momentum, np.float32),
        exaggeration=np.where(early, recipe.exaggeration, recipe.late_exaggeration).astype(np.float32),
        step_cap=np.float32(recipe.step_cap * fall),
        stiffness_floor=np.ones(epochs, np.float32),
    )


def phased_schedule(recipe: Recipe, n_samples: int) -> Schedule:
    """For optimizer "stiffness": phase after phase."""
    lengths = phase_lengths(recipe, n_samples)
    late = recipe.late_exaggeration
    exaggeration = {
        Role.EXAGGERATE: lambda n: np.full(n, recipe.exaggeration),
        Role.ANNEAL: lambda n: np.geomspace(recipe.exaggeration, _ANNEALED * late, n),
        Role.EXPAND: lambda n: np.full(n, late),
        Role.SETTLE: lambda n: np.full(n, late),
    }

    def each(value) -> np.ndarray:
        parts = [np.broadcast_to(value(phase, n), n) for phase, n in zip(recipe.phases, lengths, strict=True)]
        return np.concatenate(parts).astype(np.float32)

    expanding = np.flatnonzero(each(lambda phase, n: phase.role is Role.EXPAND))
    return Schedule(
        learning_rate=each(lambda phase, n: recipe.first_learning_rate(n_samples) * phase.rate),
        momentum=each(lambda phase, n: phase.momentum),
        exaggeration=each(lambda phase, n: exaggeration[phase.role](n)),
        step_cap=each(lambda phase, n: recipe.step_cap),
        stiffness_floor=each(lambda phase, n: phase.floor),
        expansion=(int(expanding[0]), int(expanding[-1]) + 1) if expanding.size else (0, 0),
    )


def phase_lengths(recipe: Recipe, n_samples: int) -> list[int]:
    """The epochs of each phase: those of the recipe, grown with n, or their share of ``epochs``."""
    lengths = [_grown(phase, recipe, n_samples) for phase in recipe.phases]
    if recipe.epochs is None:
        return lengths
    ends = np.rint(np.cumsum(lengths) * recipe.epochs / max(sum(lengths), 1)).astype(int)
    return np.diff(ends, prepend=0).tolist()


def _grown(phase: Phase, recipe: Recipe, n_samples: int) -> int:
    if phase.role in (Role.EXAGGERATE, Role.ANNEAL):
        far_from_its_place = n_samples >= _LARGE or recipe.starts_anywhere
        slowly = phase.role is Role.ANNEAL and recipe.normalized and n_samples <= _FEW
        return 2 * phase.epochs if far_from_its_place or slowly else phase.epochs
    if phase.role is Role.EXPAND and n_samples > _MANY:  # the map's size grows with time, at every n
        return min(4 * phase.epochs, round(phase.epochs * (n_samples / _MANY) ** 0.5))
    if phase.role is Role.SETTLE and recipe.normalized and n_samples <= _SMALL:
        return max(200, phase.epochs)
    if phase.role is Role.SETTLE and recipe.normalized and recipe.starts_anywhere:
        return 4 * phase.epochs  # at high momentum, points that came from afar are still on their way
    return phase.epochs
