"""Lets functions that numba compiles call the distances between two vectors.

numba finds ``offer_to_numba`` as an entry point of this package and calls it before it first compiles. The
module of distances calls it too, in case it is imported after that. Neither imports the other's module.
"""

from __future__ import annotations

import inspect
import sys

_MODULES = ("_count_distances", "_presence_distances", "_vector_distances")
_offered: set[str] = set()


def offer_to_numba() -> None:
    """Register the distances with numba, if both are loaded; numba compiles them when they are called."""
    package = __name__.rpartition(".")[0]
    if "numba" not in sys.modules or f"{package}.distances" not in sys.modules:
        return
    from numba.extending import register_jitable

    for name in _MODULES:
        module = sys.modules.get(f"{package}.{name}")
        if module is None or name in _offered:
            continue
        _offered.add(name)
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                register_jitable(function)
