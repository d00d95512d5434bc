"""Options in records: a command takes dataclasses, typer sees each of their fields as an option."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from actup._cli.reporting import discard_standard_output, writing_to_standard_output


@dataclass(frozen=True)
class Switches:
    """The switches of the recipe that the caller gave, by the names of Recipe's fields."""

    given: Mapping[str, Any]


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """A function for typer with one parameter for each field of the records that a command takes.

    Parameters
    ----------
    command : callable
        Its parameters are annotated with dataclasses, whose fields are ``Annotated`` with an option, with
        ``Switches``, or with options themselves.
    """
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    parameters = [parameter for name, kind in hints.items() for parameter in _parameters(name, kind)]
    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)

    @wraps(command)
    def run(**values: Any) -> None:
        try:
            command(**{name: _gather(name, kind, values) for name, kind in hints.items()})
            with writing_to_standard_output():
                sys.stdout.flush()
        except BrokenPipeError:  # the reader of the output, such as ``head``, has closed it
            discard_standard_output()

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(name: str, kind: Any) -> list[inspect.Parameter]:
    """The parameters that typer sees in place of one parameter of a command."""
    if kind is Switches:
        from actup._cli.switches import switch_parameters

        return switch_parameters()
    if not is_dataclass(kind):
        return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind)]
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name], default=_default(field)
        )
        for field in fields(kind)
    ]


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _gather(name: str, kind: Any, values: Mapping[str, Any]) -> Any:
    """The value of one parameter of a command, from the values of the parameters that typer saw."""
    if kind is Switches:
        from actup._cli.switches import given_switches

        return Switches(given_switches(values))
    if not is_dataclass(kind):
        return values[name]
    make: Any = kind
    gathered = {}
    for field in fields(kind):
        value = values[field.name]
        if value is None and field.default_factory is not MISSING:  # typer gives None for an empty list
            value = field.default_factory()
        gathered[field.name] = value
    return make(**gathered)
