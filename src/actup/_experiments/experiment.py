"""Run, Scale and Experiment: the three records every experiment is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from actup.recipe._recipe import Recipe

if TYPE_CHECKING:
    from actup._experiments.results import Found


@dataclass(frozen=True)
class Scale:
    """How large a reproduction is: all points and several seeds, or a quick look."""

    points: int | None = None  # of a data set, at most; None: all
    seeds: int = 3

    def of(self, whole: int | None = None) -> int | None:
        """How many points of a set of which ``whole`` would be used (None: all there are)."""
        sizes = [size for size in (self.points, whole) if size is not None]
        return min(sizes, default=None)


QUICK = Scale(points=2_000, seeds=1)


@dataclass(frozen=True)
class Run:
    """One thing to compute: a measure of a recipe on a data set, for one seed."""

    data: str
    recipe: Recipe
    seed: int = 0
    measure: str = "map"  # one of measures.MEASURES
    points: int | None = None  # None: all the data set has
    label: str = field(default="", compare=False)  # for the reader; no part of what the run is

    @property
    def key(self) -> str:
        """Names the run: the same for the same data, recipe, seed and measure, whatever asks for it.

        A switch that is new in Recipe, and that nobody has turned, leaves the names of old runs as they are.
        """
        described = [self.data, self.points, self.seed, self.measure, changed_switches(self.recipe)]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]


def changed_switches(recipe: Recipe) -> dict:
    """The switches in which a recipe differs from the plainest one."""
    plain = asdict(Recipe())
    return {name: value for name, value in asdict(recipe).items() if value != plain[name]}


@dataclass(frozen=True)
class Experiment:
    """A question, the runs that answer it, and how the answer is shown.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
    about : str
        What the paper says, in a sentence or two.
    runs : callable
        Gives the runs for a ``Scale``.
    render : callable
        Turns what was found into Markdown, and draws the pictures it shows.
    timing : bool
        Whether the figures are times, which need a quiet machine.
    """

    name: str
    title: str
    about: str
    runs: Callable[[Scale], list[Run]]
    render: Callable[[Found], str]
    timing: bool = False
