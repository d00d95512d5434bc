"""Variants of a method side by side: the runs, the table and the picture that several experiments share."""

from __future__ import annotations

from dataclasses import dataclass

from actup._experiments.experiment import Run, Scale
from actup._experiments.page.pictures import draw_maps
from actup._experiments.page.tables import quality, table
from actup._experiments.paper.embeddings import keys_of, panel_of
from actup._experiments.results import Found
from actup.recipe._recipe import Recipe


@dataclass(frozen=True)
class Variants:
    """Recipes on data sets, both by the names their columns and rows have.

    Attributes
    ----------
    name : str
        Of the picture.
    sets : dict of str to str
        Titles of the data sets.
    recipes : dict of str to Recipe
    """

    name: str
    sets: dict[str, str]
    recipes: dict[str, Recipe]

    def runs(self, scale: Scale) -> list[Run]:
        return [run for data in self.sets for name in self.recipes for run in self.seeds(scale, data, name)]

    def parts(self, found: Found) -> tuple[str, str]:
        """The table, and the Markdown that shows the picture."""
        rows = [
            [title, *(quality(found, self.seeds(found.scale, data, name)) for name in self.recipes)]
            for data, title in self.sets.items()
        ]
        picture = found.draw(self.name, lambda path: self._draw(path, found))
        return table(["data", *self.recipes], rows), picture

    def seeds(self, scale: Scale, data: str, name: str) -> list[Run]:
        return [
            Run(data, self.recipes[name], seed, points=scale.of(), label=name) for seed in range(scale.seeds)
        ]

    def _draw(self, path, found: Found) -> None:
        rows = [
            [panel_of(found, self.seeds(found.scale, data, name)[0]) for name in self.recipes]
            for data in self.sets
        ]
        draw_maps(path, rows, list(self.sets.values()), list(self.recipes), keys_of(self.sets))
