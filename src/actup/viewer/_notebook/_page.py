"""What a page in a notebook's frame has besides the others: it tells the notebook its selection."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from actup.viewer._assembly import Addition


@cache
def frame_addition() -> Addition:
    """The script that reports the selection."""
    script = files("actup.viewer._notebook").joinpath("frame.js").read_text(encoding="utf-8")
    return Addition((script,))
