"""Options made from the fields of Recipe: a new switch of the recipe is an option without further code."""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from actup._suggestions import closest_name
from actup.recipe import Phase, Recipe, Role

_PANEL = "Switches of the recipe (default: as the method has them)"
_SHORTER_NAMES = {"n_neighbors": "--neighbors", "n_components": "--dimensions"}
_OPTIONS_OF_PARAMETERS = {  # of estimators, which no recipe has
    "random_state": "--seed",
    "n_epochs": "--epochs",
    "max_iter": "--epochs",
    "init": "--initialization",
    "early_exaggeration": "--exaggeration",
    "max_memory": "--max-memory",
    "n_jobs": "--jobs",
    "backend": "--backend",
}
# What the docstring of Recipe says for programs only.
_OWN_TEXTS = {
    "metric": "Distance between rows: euclidean, cosine, manhattan, correlation, jaccard, gower, ...",
    "metric_kwds": "Parameters of the metric, such as p=3 of minkowski.",
}


@dataclass(frozen=True)
class _Kind:
    """How a field of the recipe is given on the command line.

    Attributes
    ----------
    annotation : type
        What typer parses.
    read : callable
        Makes the recipe's value of what typer parsed.
    metavar : str or None
        What the help shows as the value; None: typer's own word.
    """

    annotation: Any
    read: Callable[[Any], Any]
    metavar: str | None = None


def switch_parameters() -> list[inspect.Parameter]:
    """One parameter for each field of Recipe, for typer; the default None means that it was not given."""
    texts = _documented_fields()
    parameters = []
    for name, kind in _kinds().items():
        option = typer.Option(
            *_option_names(name, kind),
            help=_OWN_TEXTS.get(name, texts.get(name, "")),
            metavar=kind.metavar,
            show_default=False,
            rich_help_panel=_PANEL,
        )
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind.annotation | None, option],
            )
        )
    return parameters


def given_switches(values: Mapping[str, Any]) -> dict[str, Any]:
    """The switches that the caller gave, as values of Recipe's fields."""
    return {name: kind.read(values[name]) for name, kind in _kinds().items() if values[name] is not None}


def read_switch(name: str, text: str) -> Any:
    """The value of a switch from text such as ``perplexity=50`` has it, for recipes in one word."""
    if name not in _kinds():
        close = closest_name(name, _kinds())
        hint = "see the options of actup embed --help" if close is None else f"did you mean {close!r}?"
        raise ValueError(f"{name!r} is no switch of a recipe: {hint}")
    kind = _kinds()[name]
    if kind.annotation is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{name}={text}: give true or false")
        return text.lower() == "true"
    if kind.annotation in (int, float):
        try:
            return kind.annotation(text)
        except ValueError:
            raise ValueError(
                f"{name}={text}: give {'a whole number' if kind.annotation is int else 'a number'}"
            ) from None
    return kind.read(text)


def option_name(name: str) -> str:
    """The option of a field of the recipe."""
    return _SHORTER_NAMES.get(name, f"--{name.replace('_', '-')}")


def in_words_of_options(
    text: str, others: Mapping[str, str] | None = None, *, everywhere: bool = False
) -> str:
    """A message about parameters of Python as one about the options.

    Parameters
    ----------
    text : str
    others : mapping of str to str, default=None
        Options of parameters besides those of estimators and recipes; "" leaves the value alone.
    everywhere : bool, default=False
        Whether to change more than a parameter at the beginning.
    """
    others = others or {}

    def translated(found: re.Match[str]) -> str:
        name, value = found[1], found[2] or ""
        if name in others:
            option = others[name]
        elif name in _OPTIONS_OF_PARAMETERS:
            option = _OPTIONS_OF_PARAMETERS[name]
        elif name in _kinds():
            option = option_name(name)
        else:
            return found[0]
        if value and name in _kinds() and _kinds()[name].annotation is bool:
            return option if value == "True" else f"--no-{option[2:]}"
        return f"{option} {value}" if option else value

    place = r"\b" if everywhere else r"^"
    return re.sub(place + r"([a-z_]+)=(True\b|False\b)?", translated, text)


def _option_names(name: str, kind: _Kind) -> list[str]:
    plain = f"--{name.replace('_', '-')}"
    names = [_SHORTER_NAMES[name], plain] if name in _SHORTER_NAMES else [plain]
    return [f"{plain}/--no-{plain[2:]}"] if kind.annotation is bool else names


@cache
def _kinds() -> dict[str, _Kind]:
    hints = get_type_hints(Recipe)
    return {field.name: _kind_of(field.name, hints[field.name]) for field in fields(Recipe)}


def _kind_of(name: str, hint: Any) -> _Kind:
    """How a field of this type is given."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _Kind(Literal[tuple(str(member) for member in hint)], hint)
    if hint in (bool, int, float, str):
        return _Kind(hint, hint)
    parts = get_args(hint)
    if get_origin(hint) is tuple and parts and parts[-1] is Ellipsis:
        if parts[0] is float:
            return _Kind(str, lambda text: _read_numbers(name, text), "NUMBER,...")
        if parts[0] is Phase:
            return _Kind(str, _read_phases, "ROLE:EPOCHS:MOMENTUM[:RATE[:FLOOR]],...")
        if get_origin(parts[0]) is tuple:
            return _Kind(str, lambda text: _read_pairs(name, text), "NAME=VALUE,...")
    raise TypeError(f"Recipe.{name} has the type {hint}: say in _kind_of how the command line reads it")


def _read_numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{option_name(name)} {text!r}: give numbers with commas, e.g. 30,300") from None


def _read_pairs(name: str, text: str) -> dict[str, Any]:
    """``p=3`` or ``V=[1,2],w=[1,0]`` as a dict: values are JSON, or else text."""
    found: dict[str, Any] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", text):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise ValueError(f"{option_name(name)} {text!r}: give NAME=VALUE, e.g. p=3")
        try:
            found[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            found[key.strip()] = value.strip()
    return found


def _read_phases(text: str) -> tuple[Phase, ...]:
    """``settle:20:0.9,...`` as phases, whose numbers are in the order of Phase's fields."""
    phases = []
    for part in text.split(","):
        role, *numbers = part.split(":")
        try:
            epochs, *others = numbers
            phases.append(Phase(Role(role.strip()), int(epochs), *map(float, others)))
        except (ValueError, TypeError):
            names = ":".join(field.name for field in fields(Phase))
            raise ValueError(f"--phases {part!r}: give {names}, e.g. settle:20:0.9") from None
    return tuple(phases)


def _documented_fields() -> dict[str, str]:
    """What the docstring of Recipe says of each field, in a sentence, without Python's None."""
    text = inspect.cleandoc(Recipe.__doc__ or "")
    section = text.partition("Attributes\n----------\n")[2].partition("\n\nSee Also")[0]
    found: dict[str, str] = {}
    for names, about in re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n?)+)", section, re.M):
        sentences = re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join(about.split()))
        shown = re.sub(r"; None: [^.]*", "", sentences[0]).replace("``", "")
        found.update(dict.fromkeys(names.split(", "), shown))
    return found
