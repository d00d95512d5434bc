"""The saved state of a layout: arrays by name, and a description of the layout that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from actup.recipe._recipe import Recipe

_DESCRIPTION = "layout"  # the entry that describes the layout


class StateOwner:
    """Describes a layout, labels its state and rejects the states of others.

    Parameters
    ----------
    kind : str
        Backend and kind of layout.
    n : int
        Number of points.
    recipe : Recipe
    seed : int
    """

    def __init__(self, kind: str, n: int, recipe: Recipe, seed: int):
        described = {"kind": kind, "points": n, "seed": seed}
        described |= {field.name: getattr(recipe, field.name) for field in fields(Recipe)}
        self._description = {name: _as_text(value) for name, value in described.items()}

    def labelled(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arrays of a state with the description of their layout."""
        lines = [f"{name}={value}" for name, value in self._description.items()]
        return {_DESCRIPTION: np.array(lines), **arrays}

    def checked(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arrays of a state that ``labelled`` made for the same layout; other states are rejected."""
        if _DESCRIPTION not in state:
            raise ValueError(f"state has no entry {_DESCRIPTION!r}: give what state() of a layout returned")
        lines = np.asarray(state[_DESCRIPTION]).tolist()
        found = dict(str(line).partition("=")[::2] for line in lines)
        for name in [*self._description, *found]:
            own, other = self._description.get(name), found.get(name)
            if own != other:
                raise ValueError(
                    f"state is of a layout with {name}={other}, this one has {name}={own}: restore it into a "
                    "layout of the same recipe, seed, points and backend"
                )
        return {name: array for name, array in state.items() if name != _DESCRIPTION}


def read_state(arrays: Mapping[str, np.ndarray], name: str, like: np.ndarray) -> np.ndarray:
    """A copy of one array of a state, which must have the shape and type of another."""
    array = arrays.get(name)
    if array is None or array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(
            f"state has no {name!r} of shape {like.shape} and type {like.dtype}: it was damaged, or is of "
            "another layout"
        )
    return array.copy()


def progress_arrays(epoch: int, steering: tuple[float, float]) -> dict[str, np.ndarray]:
    """The epochs that have been run and the factors of ``steer``, as arrays of a state."""
    return {"epoch": np.array([epoch], np.float64), "steering": np.array(steering, np.float64)}


def read_progress(arrays: Mapping[str, np.ndarray], n_epochs: int) -> tuple[int, tuple[float, float]]:
    """What ``progress_arrays`` wrote."""
    epoch = float(read_state(arrays, "epoch", np.empty(1))[0])
    if not (0 <= epoch <= n_epochs and epoch.is_integer()):
        raise ValueError(f"state has epoch {epoch}, but must have one from 0 to {n_epochs}: it was damaged")
    exaggeration, repulsion = read_state(arrays, "steering", np.empty(2)).tolist()
    return int(epoch), (exaggeration, repulsion)


def _as_text(value: object) -> str:
    """The same text in every process."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_as_text, value))})"
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    if value is None or isinstance(value, bool | int | float | str):
        return str(value)
    return type(value).__qualname__
