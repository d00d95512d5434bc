"""lazy_names(): public names of a package that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str], elsewhere: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        The module that each public name comes from. A submodule maps to its own dotted path
        (``"datasets"`` to ``"actup.datasets"``).
    elsewhere : mapping of str to str, default=None
        Names that programs for other libraries look for here, and what to use instead, for errors.

    Returns
    -------
    tuple of two functions
        ``__getattr__`` and ``__dir__``, to be assigned in the package.
    """

    def __getattr__(name: str) -> object:
        if name not in homes:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{_hint(name, homes, elsewhere or {})}",
                name=name,
            )
        module = import_module(homes[name])
        if homes[name] == f"{package}.{name}":
            return module
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next access needs no call
        return value

    def __dir__() -> list[str]:
        return sorted(set(vars(sys.modules[package])) | set(homes))

    return __getattr__, __dir__


def _hint(name: str, homes: Mapping[str, str], elsewhere: Mapping[str, str]) -> str:
    """What to use instead of a name that does not exist; empty if nobody knows."""
    from actup._suggestions import closest_name  # not above: it would slow ``import actup`` down

    if name in elsewhere:
        return f": use {elsewhere[name]}"
    close = None if name.startswith("_") else closest_name(name, homes)
    return "" if close is None else f": did you mean {close!r}?"
