"""Imports the compiled engine: the best level that this processor can run, or the one ACTUP_CPU names.

All levels give the same results. Two are for tests: "plain" is level v2 with a neighbour search in plain C++,
as processors other than x86-64 run it, and "v4-without-vnni" is level v4 on a processor without these
instructions.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING

from actup import _processor
from actup._lazy import signals_afterwards

__all__ = ["engine", "level", "offered_levels"]

_LEVELS = ("plain", "v2", "v3", "v4-without-vnni", "v4")
_MODULE_OF = {"plain": "v2", "v4-without-vnni": "v4"}


def _module_name(level: str) -> str:
    return f"actup._engine_{_MODULE_OF.get(level, level)}"


def _is_built(level: str) -> bool:
    """Whether this installation has the level; wheels have all of them, ``make develop`` builds one."""
    return importlib.util.find_spec(_module_name(level)) is not None


def offered_levels() -> list[str]:
    """The levels that this processor can run and this installation has, the fastest last."""
    best = _processor.level()
    runnable = _LEVELS[: _LEVELS.index(best) + 1] if best in _LEVELS else (best,)
    return [level for level in runnable if _is_built(level)]


def _choose_level() -> str:
    offered = offered_levels()
    if not offered:
        raise ImportError(f"ActUp was not built for this processor ({_processor.level()}): install it again")
    wanted = os.environ.get("ACTUP_CPU") or offered[-1]  # empty means unset
    if wanted not in offered:
        raise ImportError(
            f"ACTUP_CPU={wanted!r} is not one of {', '.join(offered)}, which this processor can run"
        )
    return wanted


level = _choose_level()
if TYPE_CHECKING:
    from actup import _engine_generic as engine  # the engines of all levels have the same interface
else:
    with signals_afterwards():
        engine = importlib.import_module(_module_name(level))
