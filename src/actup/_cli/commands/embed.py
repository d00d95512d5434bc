"""actup embed: a map of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer

from actup._cli.making import InputOptions, announce, find_clusters, fit_map, load_rows, map_title
from actup._cli.methods import Method, make_estimator
from actup._cli.options import (
    ClusterOptions,
    Files,
    OutOfCoreOptions,
    Outputs,
    PreparingOptions,
    ReadingOptions,
    RunningOptions,
    Title,
)
from actup._cli.out_of_core import embed_files
from actup._cli.outputs import Result, check_outputs, write_outputs
from actup._cli.preparation import warn_of_unsaved_preparation
from actup._cli.records import Switches
from actup._cli.reporting import InputError, note


@dataclass(frozen=True)
class EmbedOptions:
    """What to make and where to write it."""

    output: Outputs = field(default_factory=list)
    method: Method = "umap"
    title: Title = None
    write_neighbors: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Neighbours of every row that a parquet file gets, for Embedding Atlas.",
            rich_help_panel="Output",
        ),
    ] = 0


def command(
    files: Files,
    options: EmbedOptions,
    reading: ReadingOptions,
    preparing: PreparingOptions,
    running: RunningOptions,
    clustering: ClusterOptions,
    out_of_core: OutOfCoreOptions,
    switches: Switches,
) -> None:
    """Make a map of a file.

    \b
    actup embed cells.csv --label type -o map.html
    actup embed X.npy --method tsne --perplexity 50 -o map.npy -o map.png
    actup embed rows/ --work scratch --memory 5GB -o map.parquet
    """
    recipe = make_estimator(options.method, switches.given, running)._recipe()  # rejects what cannot be run
    inputs = InputOptions(files, reading, preparing, running)
    if out_of_core.are_given():
        _reject_options_of_memory(options, clustering)
        embed_files(inputs, recipe, options.output, out_of_core)
        return
    if options.output or not running.dry_run:
        check_outputs(options.output, files, recipe.n_components)
    if (
        options.write_neighbors
        and options.output
        and all(path.suffix.lower() != ".parquet" for path in options.output)
    ):
        raise InputError("--write-neighbors adds a column to parquet: give -o FILE.parquet, or leave it out")
    chosen = load_rows(inputs, recipe.metric)
    if announce(chosen, [recipe], running):
        return
    warn_of_unsaved_preparation(chosen, options.output)
    model = fit_map(chosen, options.method, switches.given, running)
    clusters = find_clusters(model, chosen, running) if clustering.cluster else None
    title = map_title(options.title, files)
    result = Result({options.method: model}, chosen, title, {}, clusters, options.write_neighbors)
    write_outputs(options.output, result)
    for path in options.output:
        note(f"wrote {path}", running.quiet)


def _reject_options_of_memory(options: EmbedOptions, clustering: ClusterOptions) -> None:
    """Reject options that are of no use where a map is written part by part."""
    given = {
        "--cluster": clustering.cluster,
        "--title": options.title,
        "--write-neighbors": options.write_neighbors,
    }
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise InputError(f"{name} does not go with --work, which writes coordinates only: leave it out")
