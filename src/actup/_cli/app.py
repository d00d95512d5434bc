"""The table of commands, and how one of them is run: its options are made only when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

import actup
from actup._cli.help_page import SectionedCommand
from actup._cli.records import flattened
from actup._cli.reporting import exit_status, show

# To add a command: a module of commands/ with a function ``command``, and its row here.
COMMANDS = {
    "embed": "Make a map of a file: npy, csv, parquet, html, png, pdf, svg or a saved model.",
    "view": "Show a map, or data, as an interactive page in the browser.",
    "score": "Measure how good a map is.",
    "compare": "Make maps of several recipes and show them side by side.",
    "spectrum": "Make a page with a slider from t-SNE to UMAP.",
    "reproduce": "Run the experiments of the paper and write a page with their tables and pictures.",
    "datasets": "List the data sets that can be loaded by name, and where they are.",
    "info": "Print versions, processor, GPU, threads, memory and caches.",
}

_HELP_WIDTH = 110  # characters, on terminals that are as wide
_COMPLETION_VARIABLE = "_ACTUP_COMPLETE"  # set by shells that ask for completions


def run(arguments: list[str]) -> int:
    """Run the command that the arguments name and return the exit status."""
    # The options of `embed` come from Recipe, whose import takes longer than printing the list of commands.
    named = next((argument for argument in arguments if argument in COMMANDS), None)
    wanted = None if os.environ.get(_COMPLETION_VARIABLE) else named or ""
    return exit_status(lambda: make_app(wanted)(arguments, prog_name="actup", standalone_mode=False))


def make_app(wanted: str | None = None) -> typer.Typer:
    """The program, in which only the wanted command has its options; None: all commands have them."""
    app = typer.Typer(
        name="actup",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"max_content_width": _HELP_WIDTH, "help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_ABOUT)(_program)
    for name, about in COMMANDS.items():
        function = _command(name) if wanted in (None, name) else _without_options
        app.command(name, cls=SectionedCommand, short_help=about)(function)
    return app


_ABOUT = (
    "Maps of high-dimensional data: t-SNE, UMAP and everything between them.\n\n"
    "First map: actup embed cells.csv --label type -o map.html"
)


def _print_version(wanted: bool) -> None:
    if wanted:
        show(f"actup {actup.__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that stand before the name of a command."""


def _command(name: str) -> Callable[..., Any]:
    return flattened(import_module(f"actup._cli.commands.{name}").command)


def _without_options() -> None:
    """Stand for a command that these arguments do not name."""
