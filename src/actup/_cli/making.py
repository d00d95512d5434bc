"""From files to a map: what the commands that make maps share."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._cli.chosen import Chosen, choose, read_files
from actup._cli.estimate import OF_FIT, estimate_map
from actup._cli.files import Table
from actup._cli.files.formats import STANDARD_INPUT
from actup._cli.methods import make_estimator
from actup._cli.options import PreparingOptions, ReadingOptions, RunningOptions, given_options
from actup._cli.preparation import prepare_rows
from actup._cli.reporting import InputError, note, show, shows_progress, stop_if_interrupted
from actup._given import Given
from actup._memory import lean_enough
from actup._threads import count_threads
from actup.backends import choose_backend, load_backend

if TYPE_CHECKING:
    from actup.estimators._base import Embedder
    from actup.recipe import Recipe

_MAX_NAMED_COLUMNS = 3
# The options for reading data that a saved model has no use for.
OF_DATA = ("format", "array", "columns", "exclude", "delimiter", "header")


@dataclass(frozen=True)
class InputOptions:
    """What to read and how to prepare and run it: what every command that makes maps is told."""

    files: list[str]
    reading: ReadingOptions
    preparing: PreparingOptions
    running: RunningOptions


def load_rows(inputs: InputOptions, metric: Any, table: Table | None = None) -> Chosen:
    """Read the files, choose columns and prepare rows, and say in one line what they are.

    Parameters
    ----------
    inputs : InputOptions
    metric : str
        The metric of the map: "gower" takes text too.
    table : Table, default=None
        What the files hold, if they were read already.
    """
    table = read_files(inputs.files, inputs.reading) if table is None else table
    chosen = choose(table, inputs.reading, metric == "gower", inputs.preparing.one_hot)
    running = inputs.running
    chosen = prepare_rows(
        chosen, inputs.preparing, metric, running.seed, count_threads(running.jobs, "--jobs")
    )
    note(_summary(chosen), running.quiet)
    return chosen


def announce(
    chosen: Chosen, recipes: Sequence[Recipe], running: RunningOptions, given: Given = OF_FIT
) -> bool:
    """Print the estimate of a run if it was asked for, or a line if the run is long.

    Parameters
    ----------
    chosen : Chosen
    recipes : sequence of Recipe
        Those of all maps that are made.
    running : RunningOptions
    given : Given, default=OF_FIT
        What of the run decides about its memory besides rows and recipe.

    Returns
    -------
    bool
        Whether the run is only to be estimated.

    Raises
    ------
    MemoryError
        If a map cannot stay within ``--max-memory``.
    """
    from actup._pipeline import adapt_to_size

    threads = count_threads(running.jobs, "--jobs")
    backend = load_backend(choose_backend(running.backend, chosen.X, len(chosen)))
    leans = [lean_enough(running.max_memory, chosen.X, recipe, given, threads, backend) for recipe in recipes]
    longest = max(range(len(recipes)), key=lambda i: recipes[i].neighbors_searched(len(chosen)))
    recipe, given = adapt_to_size(recipes[longest], len(chosen)), replace(given, lean=leans[longest])
    estimate = estimate_map(chosen.X, recipe, threads, len(recipes), backend.name, given)
    if running.dry_run:
        show(estimate.describe(running.max_memory))
        return True
    line = estimate.announcement()
    if line is not None:
        note(line, running.quiet)
    return False


def reject_max_memory(running: RunningOptions) -> None:
    """Reject a limit of the memory of a map where no map is made."""
    if running.max_memory is not None:
        raise InputError(
            f"--max-memory {running.max_memory}: limits the memory of making a map, but the map is there "
            "already: leave it out"
        )


def reject_ignored(inputs: InputOptions, held: str, reading: Collection[str] = (), *others: str) -> None:
    """Reject options that make no difference where the map, or its rows, are there already.

    Parameters
    ----------
    inputs : InputOptions
    held : str
        What the files hold and why nothing changes it.
    reading : collection of str
        The fields of ReadingOptions that make no difference.
    *others : str
        Options that were given besides and make none either.
    """
    given = [f"--{name}" for name in given_options(inputs.reading) if name in reading]
    given += [f"--{name.replace('_', '-')}" for name in given_options(inputs.preparing)]
    given += others
    if inputs.running.dry_run:
        given.append("--dry-run")
    if given:
        raise InputError(f"{', '.join(given)}: {inputs.files[0]} {held}: leave it out")


def fit_map(chosen: Chosen, method: str, switches: Mapping[str, Any], running: RunningOptions) -> Embedder:
    """Make the map, with a progress bar on a terminal; Ctrl-C ends the command."""
    model = make_estimator(method, switches, running, verbose=shows_progress(running.quiet))
    begin = time.perf_counter()
    model.fit(chosen.X)
    stop_if_interrupted()
    names = chosen.feature_names()
    if names is not None:
        model.feature_names_in_ = np.array(names, object)  # as if it were fitted to a data frame
    recipe = model.recipe_
    note(
        f"{type(model).__name__} map of {len(chosen):,} rows in {time.perf_counter() - begin:.1f} s "
        f"({model.n_epochs_} epochs, {recipe.neighbors_searched(len(chosen))} neighbours)",
        running.quiet,
    )
    return model


def make_maps(chosen: Chosen, recipes: Mapping[str, Recipe], running: RunningOptions) -> dict[str, Any]:
    """Make a map for each of several recipes, as results of ``actup.embed``; Ctrl-C ends the command."""
    from actup import embed_many
    from actup.progress import Progress

    begin = time.perf_counter()
    with Progress(verbose=shows_progress(running.quiet)) as progress:
        made = embed_many(
            chosen.X,
            list(recipes.values()),
            names=list(recipes),
            seed=running.seed,
            threads=running.jobs,
            backend=running.backend,
            progress=progress,
            max_memory=running.max_memory,
        )
    stop_if_interrupted()
    note(
        f"{len(made.results)} maps of {len(chosen):,} rows in {time.perf_counter() - begin:.1f} s",
        running.quiet,
    )
    return dict(made.results)


def find_clusters(model: Any, chosen: Chosen, running: RunningOptions) -> Any:
    """The clusters of a map, named by the words of the text column or by the labels, if there are any."""
    import actup

    texts = None if chosen.texts is None else ["" if text is None else str(text) for text in chosen.texts]
    if texts is not None:
        clusters = actup.find_clusters(model, texts=texts, n_jobs=running.jobs)
    else:  # labels would name all finer layers alike
        labels = next(iter(chosen.labels.values()), None)
        clusters = actup.find_clusters(model, labels=labels, n_layers=1, n_jobs=running.jobs)
    note(f"{len(clusters):,} clusters", running.quiet)
    return clusters


def map_title(title: str | None, files: Sequence[str]) -> str:
    """The title that was given, or the name of the first file."""
    if title is not None:
        return title
    return "ActUp" if files[0] == STANDARD_INPUT else Path(files[0]).name


def _summary(chosen: Chosen) -> str:
    count = len(chosen.names)
    if count <= _MAX_NAMED_COLUMNS:
        listed = ", ".join(chosen.names)
    else:
        listed = f"{chosen.names[0]} … {chosen.names[-1]}"
    parts = [f"{chosen.source}: {len(chosen):,} rows, {count:,} columns ({listed})"]
    for what, columns in (("label", chosen.labels), ("values", chosen.values), ("id", chosen.ids)):
        if columns:
            parts.append(f"{what} {', '.join(columns)}")
    return "; ".join(parts)
