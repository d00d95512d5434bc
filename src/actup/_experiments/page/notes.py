"""The notes of the page, read from notes.md."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def note(name: str) -> str:
    """The text under a heading of notes.md."""
    return _notes()[name]


@cache
def _notes() -> dict[str, str]:
    text = files("actup._experiments.page").joinpath("notes.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", text, flags=re.M)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
