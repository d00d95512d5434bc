"""actup view: a map, or data, as a page in the browser."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from actup._cli.chosen import Chosen, choose, read_files
from actup._cli.existing_maps import (
    choose_of_model,
    columns_beside,
    coordinates_of,
    is_saved_model,
)
from actup._cli.files import Table
from actup._cli.files.formats import STANDARD_INPUT
from actup._cli.files.table import Matrix
from actup._cli.making import InputOptions, announce, find_clusters, fit_map, load_rows, map_title
from actup._cli.methods import Method, make_estimator
from actup._cli.options import (
    ClusterOptions,
    Files,
    PreparingOptions,
    ReadingOptions,
    RunningOptions,
    Title,
)
from actup._cli.outputs import Result, check_outputs, write_outputs
from actup._cli.records import Switches
from actup._cli.reporting import InputError, note


@dataclass(frozen=True)
class ViewOptions:
    """How to show it."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the page. Default: a temporary file.",
            show_default=False,
            rich_help_panel="Output",
        ),
    ] = None
    open: Annotated[bool, typer.Option(help="Open the page in the browser.", rich_help_panel="Output")] = True
    live: Annotated[
        bool,
        typer.Option("--live", help="Show the layout of data while it runs.", rich_help_panel="Output"),
    ] = False
    title: Title = None
    method: Method = "umap"


def command(
    files: Files,
    options: ViewOptions,
    reading: ReadingOptions,
    preparing: PreparingOptions,
    running: RunningOptions,
    clustering: ClusterOptions,
    switches: Switches,
) -> None:
    """Show a map, or data, as an interactive page in the browser.

    A saved model, an array of at most three columns, and a table with columns x and y are maps and shown as
    they are. Of anything else a map is made first.

    \b
    actup view map.parquet --label type
    actup view cells.csv --label type --live
    """
    inputs = InputOptions(files, reading, preparing, running)
    if options.output is not None:
        check_outputs([options.output], files, 2)
        if options.output.suffix.lower() != ".html":
            raise InputError(f"-o {options.output}: a page is an html file; actup embed writes other kinds")
    if options.live:
        _follow_live(inputs, options, switches)
        return
    found = _find_map(inputs, options, switches)
    if found is None:
        return
    (name, model), chosen = found
    clusters = find_clusters(model, chosen, running) if clustering.cluster else None
    output = options.output or _temporary_page(files[0])
    write_outputs([output], Result({name: model}, chosen, map_title(options.title, files), {}, clusters))
    print(output, flush=True)
    if options.open:
        typer.launch(output.resolve().as_uri())


def _temporary_page(file: str) -> Path:
    """A path in a new folder of the caller's own, which stays there for the browser."""
    name = "map" if file == STANDARD_INPUT else Path(file).stem
    return Path(tempfile.mkdtemp(prefix="actup-")) / f"{name}.html"


def _find_map(
    inputs: InputOptions, options: ViewOptions, switches: Switches
) -> tuple[tuple[str, Any], Chosen] | None:
    """The map that the files hold, or one of their data, and what is shown with it; None after a dry run."""
    files, reading = inputs.files, inputs.reading
    if is_saved_model(files):
        import actup

        model = actup.load(files[0])
        return (type(model).__name__, model), choose_of_model(model, files[0], reading)
    table = read_files(files, reading)
    Y = None if reading.columns or reading.array else coordinates_of(table)
    if Y is not None:
        return ("map", Y), _columns_of_map(table, Y, reading)
    made = _make_map(inputs, options, switches, table)
    return None if made is None else ((options.method, made[0]), made[1])


def _columns_of_map(table: Table, Y: np.ndarray, reading: ReadingOptions) -> Chosen:
    """What is shown with the points of a map: the columns that the caller names, the others as hover."""
    shown = columns_beside(table)
    bare = Table(table.source, shown, {"map": Matrix(Y)}, table.ids if table.ids in shown else None)
    chosen = choose(bare, replace(reading, array="map"))
    others = {name: values for name, values in shown.items() if name not in chosen.shown_columns()}
    return chosen if reading.hover else replace(chosen, hover={**chosen.hover, **others})


def _make_map(
    inputs: InputOptions, options: ViewOptions, switches: Switches, table: Table
) -> tuple[Any, Chosen] | None:
    """A map of data, and what is shown with it; None after a dry run."""
    recipe = make_estimator(options.method, switches.given, inputs.running)._recipe()
    chosen = load_rows(inputs, recipe.metric, table)
    if announce(chosen, recipe, inputs.running):
        return None
    return fit_map(chosen, options.method, switches.given, inputs.running), chosen


def _follow_live(inputs: InputOptions, options: ViewOptions, switches: Switches) -> None:
    """Show the layout of data while it runs, until the page is closed or Ctrl-C is pressed."""
    import actup

    if options.output is not None:
        raise InputError(f"-o {options.output}: a live page is not a file; leave out --live, or -o")
    model = make_estimator(options.method, switches.given, inputs.running)
    recipe = model._recipe()
    chosen = load_rows(inputs, recipe.metric)
    if announce(chosen, recipe, inputs.running):
        return
    result = Result({}, chosen, map_title(options.title, inputs.files))
    with actup.live(chosen.X, model, browser=options.open, **result.page_options()) as session:
        print(session.url, flush=True)
        note("Ctrl-C or the page's End button ends the session", inputs.running.quiet)
        session.wait()
