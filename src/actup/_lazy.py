"""lazy_names(): public names of a package that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        The module that each public name comes from. A submodule maps to its own dotted path
        (``"datasets"`` to ``"actup.datasets"``).

    Returns
    -------
    tuple of two functions
        ``__getattr__`` and ``__dir__``, to be assigned in the package.
    """

    def __getattr__(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(homes[name])
        if homes[name] == f"{package}.{name}":
            return module
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next access needs no call
        return value

    def __dir__() -> list[str]:
        return sorted(set(vars(sys.modules[package])) | set(homes))

    return __getattr__, __dir__
