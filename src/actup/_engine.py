"""Imports the compiled engine: the best level that this processor can run, or the one ACTUP_CPU names.

"plain" is level v2 with a neighbour search in plain C++, as processors other than x86-64 run it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING

from actup import _processor

__all__ = ["engine", "level"]

_LEVELS = ("plain", "v2", "v3", "v4")


def _module_name(level: str) -> str:
    return f"actup._engine_{'v2' if level == 'plain' else level}"


def _is_built(level: str) -> bool:
    """Whether this installation has the level; wheels have all of them, ``make develop`` builds one."""
    return importlib.util.find_spec(_module_name(level)) is not None


def _choose_level() -> str:
    best = _processor.level()
    runnable = _LEVELS[: _LEVELS.index(best) + 1] if best in _LEVELS else (best,)
    offered = [level for level in runnable if _is_built(level)]
    if not offered:
        raise ImportError(f"ActUp was not built for this processor ({best}): install it again")
    wanted = os.environ.get("ACTUP_CPU", offered[-1])
    if wanted not in offered:
        raise ImportError(
            f"ACTUP_CPU={wanted!r} is not one of {', '.join(offered)}, which this processor can run"
        )
    return wanted


level = _choose_level()
if TYPE_CHECKING:
    from actup import _engine_generic as engine  # the engines of all levels have the same interface
else:
    engine = importlib.import_module(_module_name(level))
