"""Variants of a method side by side: the runs, the table and the picture that several experiments share."""

from __future__ import annotations

from dataclasses import dataclass

from actup.experiments.embeddings import panel_of
from actup.experiments.experiment import Run, Scale
from actup.experiments.notes import note
from actup.experiments.pictures import draw_maps
from actup.experiments.results import Found
from actup.experiments.tables import quality, table
from actup.recipe import Recipe


@dataclass(frozen=True)
class Variants:
    """Recipes on data sets, both by the names their columns and rows have.

    Attributes
    ----------
    name : str
        Of the picture, and of the note if there is one.
    sets : dict of str to str
        Titles of the data sets.
    recipes : dict of str to Recipe
    noted : bool
        Whether notes.md has something to say.
    """

    name: str
    sets: dict[str, str]
    recipes: dict[str, Recipe]
    noted: bool = False

    def runs(self, scale: Scale) -> list[Run]:
        return [run for data in self.sets for name in self.recipes for run in self._seeds(scale, data, name)]

    def render(self, found: Found) -> str:
        rows = [
            [title, *(quality(found, self._seeds(found.scale, data, name)) for name in self.recipes)]
            for data, title in self.sets.items()
        ]
        parts = [table(["data", *self.recipes], rows)]
        if self.noted:
            parts.append(note(self.name))
        return "\n\n".join([*parts, found.draw(self.name, lambda path: self._draw(path, found))])

    def _seeds(self, scale: Scale, data: str, name: str) -> list[Run]:
        return [
            Run(data, self.recipes[name], seed, points=scale.of(), label=name) for seed in range(scale.seeds)
        ]

    def _draw(self, path, found: Found) -> None:
        rows = [
            [panel_of(found, self._seeds(found.scale, data, name)[0]) for name in self.recipes]
            for data in self.sets
        ]
        draw_maps(path, rows, list(self.sets.values()), list(self.recipes))
