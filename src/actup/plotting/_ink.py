"""How labels colour pixels that several points share: classes mix their colours, values are averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from actup.plotting._colors import MISSING, linear_rgb, ramp, to_linear
from actup.plotting._scene import Classes, Values


class Ink(Protocol):
    """What colours points: numbers of each point, and the colour that belongs to their means."""

    def channels(self, points: slice) -> list[np.ndarray]:
        """Return the numbers of some points, one array per channel."""
        ...

    def mixed(self, means: list[np.ndarray], count: int) -> np.ndarray:
        """Return the linear RGB of ``count`` pixels, shape (count, 3), from the means of their points."""
        ...


@dataclass(frozen=True)
class PlainInk:
    """One colour for all points."""

    color: str

    def channels(self, points: slice) -> list[np.ndarray]:
        return []

    def mixed(self, means: list[np.ndarray], count: int) -> np.ndarray:
        return np.broadcast_to(linear_rgb([self.color])[0], (count, 3))


class ClassInk:
    """The colours of classes, mixed as light in proportion to the numbers of points."""

    def __init__(self, classes: Classes) -> None:
        self._codes = classes.codes
        self._table = linear_rgb([*classes.colors, MISSING]).astype(np.float32)

    def channels(self, points: slice) -> list[np.ndarray]:
        codes = self._codes[points]
        return [self._table[codes, channel] for channel in range(3)]

    def mixed(self, means: list[np.ndarray], count: int) -> np.ndarray:
        return np.stack(means, axis=1)


class ValueInk:
    """The colour of the mean value; missing values mix in their grey."""

    def __init__(self, values: Values) -> None:
        size = values.high - values.low
        position = (values.values - values.low) / (size if size > 0 else 1.0)
        self._position = np.clip(position, 0.0, 1.0).astype(np.float32)

    def channels(self, points: slice) -> list[np.ndarray]:
        position = self._position[points]
        known = np.isfinite(position)
        return [np.where(known, position, np.float32(0.0)), known.astype(np.float32)]

    def mixed(self, means: list[np.ndarray], count: int) -> np.ndarray:
        position, known = means
        colors = to_linear(ramp(position / np.maximum(known, 1e-9), 0.0, 1.0) / 255.0)
        grey = linear_rgb([MISSING])[0]
        return np.asarray(grey + known[:, None] * (colors - grey))


def make_ink(scene: Classes | Values | None, plain: str) -> Ink:
    """Return the ink of labels; points without labels are all of the colour ``plain``."""
    if scene is None:
        return PlainInk(plain)
    return ClassInk(scene) if isinstance(scene, Classes) else ValueInk(scene)
