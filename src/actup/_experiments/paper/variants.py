"""Variants of a method: runs, table and picture in the form that several experiments share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from actup._experiments.experiment import Run, Scale
from actup._experiments.page.pictures import draw_maps
from actup._experiments.page.tables import accuracy_and_v, table
from actup._experiments.paper.embeddings import legends_for, map_panel
from actup._experiments.results import Findings
from actup.recipe import Recipe


@dataclass(frozen=True)
class Variants:
    """Recipes to compare on data sets: one column of the table for each recipe, one row for each data set.

    Attributes
    ----------
    name : str
        The name of the picture.
    datasets : dict of str to str
        Titles of the data sets by name.
    recipes : dict of str to Recipe
        Recipes by the titles of their columns.
    """

    name: str
    datasets: dict[str, str]
    recipes: dict[str, Recipe]

    def runs(self, scale: Scale) -> list[Run]:
        """The runs of all seeds of all recipes on all data sets."""
        return [
            run for data in self.datasets for name in self.recipes for run in self.seeds(scale, data, name)
        ]

    def parts(self, findings: Findings) -> tuple[str, str]:
        """The table, and the Markdown that shows the picture."""
        rows = [
            [
                title,
                *(accuracy_and_v(findings, self.seeds(findings.scale, data, name)) for name in self.recipes),
            ]
            for data, title in self.datasets.items()
        ]
        picture = findings.draw(self.name, lambda path: self._draw(path, findings))
        return table(["data", *self.recipes], rows), picture

    def seeds(self, scale: Scale, data: str, name: str) -> list[Run]:
        """The runs of all seeds of one recipe on one data set."""
        return [
            Run(data, self.recipes[name], seed, points=scale.limit(), label=name)
            for seed in range(scale.seeds)
        ]

    def _draw(self, path: Path, findings: Findings) -> None:
        rows = [
            [map_panel(findings, self.seeds(findings.scale, data, name)[0]) for name in self.recipes]
            for data in self.datasets
        ]
        draw_maps(path, rows, list(self.datasets.values()), list(self.recipes), legends_for(self.datasets))
