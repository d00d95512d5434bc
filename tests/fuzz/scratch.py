"""A folder for the files of cases: in memory where a system has that, so that nothing waits for a disc."""

from __future__ import annotations

import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="actup-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None)
