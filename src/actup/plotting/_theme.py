"""Light and dark: the colours of everything on a picture but the points."""

from __future__ import annotations

from dataclasses import dataclass

from actup._values import read_name

INK = "#22252b"
QUIET_INK = "#6b7280"


@dataclass(frozen=True)
class Theme:
    """Colours of a picture.

    Attributes
    ----------
    background : str
    ink, quiet_ink : str
        Of names and titles; of captions, notes and numbers.
    plain : str
        Of points without labels.
    backdrop : str
        Of the points that a facet shows behind its own.
    deep : str
        The colour that the densest parts of a map are drawn towards.
    depth : float
        How far, from 0 to 1.
    pane : str
        The walls behind a map of three dimensions.
    """

    background: str
    ink: str
    quiet_ink: str
    plain: str
    backdrop: str
    deep: str
    depth: float
    pane: str


_THEMES = {
    "light": Theme("#ffffff", INK, QUIET_INK, "#0072b2", "#c9cdd4", "#000000", 0.4, "#f7f7fa"),
    "dark": Theme("#14161a", "#f1f3f6", "#9aa3b0", "#56b4e9", "#3c424c", "#ffffff", 0.08, "#1c1f25"),
}


def read_theme(theme: str) -> Theme:
    """Return the theme of a name."""
    return _THEMES[read_name(theme, "theme", _THEMES)]
