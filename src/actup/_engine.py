"""Imports the compiled engine for this processor: the best level it has, or the one ACTUP_CPU names.

"plain" is level v2 with a neighbour search in plain C++, as processors other than x86-64 run it.
"""

from __future__ import annotations

import importlib
import os

from actup import _processor

_LEVELS = ("plain", "v2", "v3", "v4")


def _choose_level() -> str:
    best = _processor.level()
    wanted = os.environ.get("ACTUP_CPU", best)
    if wanted == best:
        return best
    if best not in _LEVELS or wanted not in _LEVELS or wanted > best:
        offered = _LEVELS[: _LEVELS.index(best) + 1] if best in _LEVELS else (best,)
        raise ImportError(
            f"ACTUP_CPU={wanted!r} is not one of {', '.join(offered)}, which this processor can run"
        )
    return wanted


level = _choose_level()
engine = importlib.import_module(f"actup._engine_{'v2' if level == 'plain' else level}")
