"""warn_user(): warnings that point at the caller's own line, however deep in ActUp they arise."""

from __future__ import annotations

import os
import sys
import warnings

_OURS = os.path.dirname(__file__) + os.sep


def warn_user(message: str) -> None:
    """Warn as if the first line outside ActUp and scikit-learn's wrappers had done it."""
    level, frame = 1, sys._getframe()
    while frame is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def _is_ours(file: str) -> bool:
    sklearn = sys.modules.get("sklearn")
    theirs = os.path.dirname(sklearn.__file__) + os.sep if sklearn else _OURS
    return file.startswith((_OURS, theirs))
