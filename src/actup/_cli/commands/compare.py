"""actup compare: maps of several recipes, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer

from actup._cli.making import InputOptions, announce, load_rows, make_maps, map_title
from actup._cli.methods import read_recipe
from actup._cli.options import (
    Files,
    OutputsOfSeveral,
    PreparingOptions,
    ReadingOptions,
    RunningOptions,
    Title,
)
from actup._cli.outputs import Result, check_outputs, write_outputs
from actup._cli.records import Switches
from actup._cli.reporting import InputError, note
from actup._cli.scores import announce_unmeasured, caption, score_table
from actup._given import Given

_DEFAULT_RECIPES = ("umap", "tsne", "gdr_umap", "gdr_tsne")


@dataclass(frozen=True)
class CompareOptions:
    """Which recipes, and where to show them."""

    output: OutputsOfSeveral = field(default_factory=list)
    recipe: Annotated[
        list[str],
        typer.Option(
            "--recipe",
            "-r",
            metavar="RECIPE",
            help="A method or preset, with switches if you like: tsne:perplexity=50,loss=frobenius. Can be "
            f"repeated. Default: {', '.join(_DEFAULT_RECIPES)}.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    score: Annotated[bool, typer.Option(help="Measure each map, and print a table.")] = True
    title: Title = None


def command(
    files: Files,
    options: CompareOptions,
    reading: ReadingOptions,
    preparing: PreparingOptions,
    running: RunningOptions,
    switches: Switches,
) -> None:
    """Make maps of several recipes and show them side by side.

    Neighbours are searched once. Switches that are given as options hold for all recipes.

    \b
    actup compare cells.csv --label type -r umap -r tsne:perplexity=100 -o maps.html
    """
    written = options.recipe or list(_DEFAULT_RECIPES)
    repeated = next((text for text in written if written.count(text) > 1), None)
    if repeated is not None:
        raise InputError(f"--recipe {repeated} is given more than once: give each recipe once")
    recipes = {text: read_recipe(text, switches.given, running) for text in written}
    first = next(iter(recipes.values()))
    if options.output or not running.dry_run:
        check_outputs(options.output, files, first.n_components, several=True)
    chosen = load_rows(InputOptions(files, reading, preparing, running), first.metric)
    if announce(chosen, list(recipes.values()), running, Given()):
        return
    metrics = {name: str(recipe.metric) for name, recipe in recipes.items()}
    if options.score:
        announce_unmeasured(metrics.values())
    made = make_maps(chosen, recipes, running)
    captions: dict[str, str] = {}
    if options.score:
        reports = score_table(chosen, made, metrics, running)
        captions = {name: caption(report) for name, report in reports.items()}
    title = map_title(options.title, files)
    write_outputs(options.output, Result(made, chosen, title, captions, side_by_side=True))
    for path in options.output:
        note(f"wrote {path}", running.quiet)
