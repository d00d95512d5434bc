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
    is_saved_model,
    maps_of,
)
from actup._cli.files import Table
from actup._cli.files.formats import STANDARD_INPUT
from actup._cli.files.table import Matrix
from actup._cli.making import (
    OF_DATA,
    InputOptions,
    announce,
    find_clusters,
    fit_map,
    load_rows,
    map_title,
    reject_ignored,
    reject_max_memory,
)
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
from actup._cli.reporting import InputError, note, show
from actup._cli.switches import option_name

_DEFAULT_METHOD = "umap"
_SHOWN = "{}, which is shown as it is"


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
    method: Method = _DEFAULT_METHOD


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

    A saved model, an array of one or two columns, and a table with columns x and y are maps and shown as they
    are; several such arrays in one npz file are shown side by side. Of anything else a map is made first.

    \b
    actup view map.parquet --label type
    actup view cells.csv --label type --live
    """
    from actup.viewer._sources import is_sequence

    inputs = InputOptions(files, reading, preparing, running)
    if options.output is not None:
        check_outputs([options.output], files, 2)
        if options.output.suffix.lower() != ".html":
            raise InputError(f"-o {options.output}: a page is an html file; actup embed writes other kinds")
    if options.live:
        _follow_live(inputs, options, switches)
        return
    found = _find_maps(inputs, options, switches)
    if found is None:
        return
    maps, chosen = found
    first = next(iter(maps.values()))
    clusters = find_clusters(first, chosen, running) if clustering.cluster else None
    output = options.output or _temporary_page(files[0])
    title = map_title(options.title, files)
    result = Result(maps, chosen, title, {}, clusters, side_by_side=not is_sequence(list(maps)))
    write_outputs([output], result)
    show(output, flush=True)
    if options.open:
        typer.launch(output.resolve().as_uri())


def _temporary_page(file: str) -> Path:
    """A path in a new folder of the caller's own, which stays there for the browser."""
    name = "map" if file == STANDARD_INPUT else Path(file).stem
    return Path(tempfile.mkdtemp(prefix="actup-")) / f"{name}.html"


def _find_maps(
    inputs: InputOptions, options: ViewOptions, switches: Switches
) -> tuple[dict[str, Any], Chosen] | None:
    """The maps that the files hold, or one of their data, and what is shown with it; None after a dry run."""
    files, reading = inputs.files, inputs.reading
    if is_saved_model(files):
        import actup

        reject_max_memory(inputs.running)
        reject_ignored(inputs, _SHOWN.format("is a saved model"), OF_DATA, *_given(options, switches))
        model = actup.load(files[0])
        return {type(model).__name__: model}, choose_of_model(model, files[0], reading)
    table = read_files(files, reading)
    maps = _maps_in(table, reading)
    if maps:
        reject_max_memory(inputs.running)
        reject_ignored(inputs, _SHOWN.format("holds a map"), (), *_given(options, switches))
        return maps, _columns_of_map(table, next(iter(maps.values())), reading)
    made = _make_map(inputs, options, switches, table)
    return None if made is None else ({options.method: made[0]}, made[1])


def _given(options: ViewOptions, switches: Switches) -> list[str]:
    """The options that say how a map is made."""
    given = [option_name(name) for name in switches.given]
    return given if options.method == _DEFAULT_METHOD else ["--method", *given]


def _maps_in(table: Table, reading: ReadingOptions) -> dict[str, np.ndarray]:
    """The maps that a table holds; none if the caller chooses columns or an array to make a map of."""
    return {} if reading.columns or reading.array else maps_of(table)


def _columns_of_map(table: Table, Y: np.ndarray, reading: ReadingOptions) -> Chosen:
    """What is shown with the points of a map: the columns that the caller names, the others as hover."""
    shown = columns_beside(table)
    ids = table.ids if table.ids in shown else None
    bare = Table(table.source, shown, {"map": Matrix(Y)}, ids, table.added)
    chosen = choose(bare, replace(reading, array="map"))
    others = {name: values for name, values in shown.items() if name not in chosen.shown_columns()}
    return chosen if reading.hover else replace(chosen, hover={**chosen.hover, **others})


def _make_map(
    inputs: InputOptions, options: ViewOptions, switches: Switches, table: Table
) -> tuple[Any, Chosen] | None:
    """A map of data, and what is shown with it; None after a dry run."""
    recipe = make_estimator(options.method, switches.given, inputs.running)._recipe()
    chosen = load_rows(inputs, recipe.metric, table)
    if announce(chosen, [recipe], inputs.running):
        return None
    return fit_map(chosen, options.method, switches.given, inputs.running), chosen


def _follow_live(inputs: InputOptions, options: ViewOptions, switches: Switches) -> None:
    """Show the layout of data while it runs, until the page is closed or Ctrl-C is pressed."""
    import actup

    if options.output is not None:
        raise InputError(f"-o {options.output}: a live page is not a file; leave out --live, or -o")
    held = f"{inputs.files[0]} holds a map, whose layout cannot be watched: leave out --live"
    if is_saved_model(inputs.files):
        raise InputError(held)
    table = read_files(inputs.files, inputs.reading)
    if _maps_in(table, inputs.reading):
        raise InputError(f"{held}, or say with --columns or --array what to make a map of")
    model = make_estimator(options.method, switches.given, inputs.running)
    recipe = model._recipe()
    chosen = load_rows(inputs, recipe.metric, table)
    if announce(chosen, [recipe], inputs.running):
        return
    result = Result({}, chosen, map_title(options.title, inputs.files))
    with actup.live(chosen.X, model, browser=options.open, **result.page_options()) as session:
        show(session.url, flush=True)
        note("Ctrl-C or the page's End button ends the session", inputs.running.quiet)
        session.wait()
