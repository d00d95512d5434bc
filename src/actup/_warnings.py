"""warn_user(): warnings that point at the caller's own line, however deep in ActUp they arise."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

_PACKAGE_FOLDER = os.path.dirname(__file__) + os.sep


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that names the first line outside ActUp and scikit-learn on the call stack."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_skipped_folders()):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _skipped_folders() -> tuple[str, ...]:
    """The folders of ActUp and, once it is imported, of scikit-learn, whose wrappers call the estimators."""
    sklearn = sys.modules.get("sklearn")
    if sklearn is None or sklearn.__file__ is None:
        return (_PACKAGE_FOLDER,)
    return _PACKAGE_FOLDER, os.path.dirname(sklearn.__file__) + os.sep
