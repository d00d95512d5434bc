"""actup spectrum: a page with a slider from t-SNE to UMAP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer

from actup._cli.making import InputOptions, announce, load_rows, make_maps, map_title
from actup._cli.methods import make_estimator
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
from actup._given import Given

_DEFAULT_STEPS = "1,1.5,2,3,4"
_KNOWN_STEPS = {1.0: "t-SNE", 4.0: "resembles UMAP"}


@dataclass(frozen=True)
class SpectrumOptions:
    """The steps between t-SNE and UMAP, and where to show them."""

    output: OutputsOfSeveral = field(default_factory=list)
    steps: Annotated[
        str,
        typer.Option(
            metavar="NUMBER,...", help="Factors of the attraction: 1 is t-SNE, about 4 resembles UMAP."
        ),
    ] = _DEFAULT_STEPS
    title: Title = None


def command(
    files: Files,
    options: SpectrumOptions,
    reading: ReadingOptions,
    preparing: PreparingOptions,
    running: RunningOptions,
    switches: Switches,
) -> None:
    """Make a page with a slider from t-SNE to UMAP: maps whose attraction is stronger from step to step.

    Neighbours and similarities are computed once.

    \b
    actup spectrum cells.csv --label type -o spectrum.html
    """
    if "late_exaggeration" in switches.given:
        raise InputError("--late-exaggeration is what --steps change: leave it out")
    base = make_estimator("tsne", switches.given, running)._recipe()
    # The page makes a slider of names that differ in one number.
    steps = {f"exaggeration {step:g}": step for step in _read_steps(options.steps)}
    recipes = {name: base.but(late_exaggeration=step) for name, step in steps.items()}
    if options.output or not running.dry_run:
        check_outputs(options.output, files, base.n_components, several=True)
    chosen = load_rows(InputOptions(files, reading, preparing, running), base.metric)
    if announce(chosen, list(recipes.values()), running, Given()):
        return
    made = make_maps(chosen, recipes, running)
    captions = {name: _KNOWN_STEPS.get(step, "") for name, step in steps.items()}
    write_outputs(options.output, Result(made, chosen, map_title(options.title, files), captions))
    for path in options.output:
        note(f"wrote {path}", running.quiet)


def _read_steps(text: str) -> list[float]:
    try:
        steps = sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise InputError(f"--steps {text!r}: give numbers with commas, such as {_DEFAULT_STEPS}") from None
    if len(steps) < 2:
        raise InputError(f"--steps {text!r}: a slider needs at least two different numbers")
    return steps
