"""actup score: how good a map is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import typer

from actup._cli.existing_maps import is_saved_model, read_map_file
from actup._cli.making import OF_DATA, InputOptions, load_rows, reject_ignored, reject_max_memory
from actup._cli.options import Files, PreparingOptions, ReadingOptions, RunningOptions
from actup._cli.reporting import InputError, show
from actup._cli.scores import report_as_json, score_map

if TYPE_CHECKING:
    from actup.quality import QualityReport


@dataclass(frozen=True)
class ScoreOptions:
    """Which map to measure, and how to print it."""

    map: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="MAP",
            help="The map of these rows: npy, or csv or parquet as actup embed writes them. A saved model "
            "needs none.",
            show_default=False,
        ),
    ] = None
    metric: Annotated[
        Literal["euclidean", "cosine"] | None,
        typer.Option(
            help="Distance between rows of the data. Default: that of a saved model, or euclidean.",
            show_default=False,
        ),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False


def command(
    files: Files,
    options: ScoreOptions,
    reading: ReadingOptions,
    preparing: PreparingOptions,
    running: RunningOptions,
) -> None:
    """Measure how good a map is: neighbour recall, trustworthiness, label accuracy, losses.

    \b
    actup score cells.csv --label type --map map.npy
    actup score model.actup --label types.npy
    """
    reject_max_memory(running)
    inputs = InputOptions(files, reading, preparing, running)
    if is_saved_model(files):
        given = [] if options.map is None else ["--map"]
        reject_ignored(inputs, "is a saved model, which has its rows and its map with it", OF_DATA, *given)
        report = _score_model(files[0], reading, options, running)
    else:
        if options.map is None:
            raise InputError(f"--map is missing: give the map of {files[0]}, or a saved model (.actup)")
        map_file = read_map_file(options.map)
        metric = options.metric or "euclidean"
        chosen = load_rows(inputs, metric)
        report = score_map(chosen, map_file.places_of(chosen), running, metric=metric)
    show(report_as_json(report) if options.json else report)


def _score_model(
    path: str, reading: ReadingOptions, options: ScoreOptions, running: RunningOptions
) -> QualityReport:
    """Measure a saved model by the rows and the graph that it holds."""
    import actup
    from actup._cli.existing_maps import choose_of_model

    model = actup.load(path)
    training = getattr(model, "_training", None)
    if training is None or training.rows is None:
        raise InputError(f"{path} was saved without its rows: give the data and --map")
    chosen = choose_of_model(model, path, reading)
    recipe = model.recipe_
    return score_map(
        chosen,
        np.asarray(model.embedding_),
        running,
        metric=options.metric or str(recipe.metric),
        graph=model.graph_,
        kernel=recipe.kernel(),
        of_model=True,
    )
