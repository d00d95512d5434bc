"""Run, Scale and Experiment: the three records that every experiment consists of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from actup.recipe import Recipe

if TYPE_CHECKING:
    from actup._experiments.results import Findings

# What a run measured, or its whole record: values that JSON can hold.
JsonDict: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction: how many points of each data set, and how many seeds."""

    points: int | None = None  # at most, of each data set; None: all
    seeds: int = 3

    def limit(self, points: int | None = None) -> int | None:
        """The smaller of this scale's number of points and ``points``, where None means all points."""
        sizes = [size for size in (self.points, points) if size is not None]
        return min(sizes, default=None)


QUICK = Scale(points=2_000, seeds=1)


@dataclass(frozen=True)
class Run:
    """One unit of work: measure something about one recipe on one data set with one seed."""

    data: str
    recipe: Recipe
    seed: int = 0
    measure: str = "map"  # a key of the table in measures.py
    points: int | None = None  # None: all points of the data set
    label: str = field(default="", compare=False)  # for progress messages; not part of the run's identity

    @property
    def key(self) -> str:
        """A hash that is the same for the same data, points, seed, measure and recipe.

        Only switches that differ from their default enter it, so a new switch in Recipe leaves the keys of
        existing results valid.
        """
        described = [self.data, self.points, self.seed, self.measure, changed_switches(self.recipe)]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]


def changed_switches(recipe: Recipe) -> JsonDict:
    """The switches whose values differ from those of ``Recipe()``."""
    defaults = asdict(Recipe())
    return {name: value for name, value in asdict(recipe).items() if value != defaults[name]}


@dataclass(frozen=True)
class Experiment:
    """A claim of the paper, the runs that test it, and how their results are shown.

    Attributes
    ----------
    name : str
        The name on the command line.
    title : str
        The heading on the page.
    claim : str
        What the paper says, in a sentence or two.
    runs : callable
        Returns the runs for a ``Scale``.
    render : callable
        Turns ``Findings`` into Markdown, and draws the pictures that it shows.
    timing : bool
        Whether the experiment measures times, and so needs an otherwise idle machine.
    """

    name: str
    title: str
    claim: str
    runs: Callable[[Scale], list[Run]]
    render: Callable[[Findings], str]
    timing: bool = False
