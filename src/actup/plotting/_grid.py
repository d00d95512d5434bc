"""Where the panels of a gallery are placed on the figure."""

from __future__ import annotations

import math
from dataclasses import dataclass

PANEL_INCHES = 4.4
TITLE_INCHES = 0.4
CAPTION_INCHES = 0.42
MARGIN_INCHES = 0.18
HEADING_INCHES = 0.5
ASIDE_INCHES = 1.1


@dataclass(frozen=True)
class Grid:
    """The panels of a gallery, at fixed positions: class names are placed before anything is drawn.

    Attributes
    ----------
    panels : int
        Number of panels.
    columns : int
        Number of panels in a row.
    heading : bool
        Whether there is a line above all panels.
    aside : bool
        Whether there is a strip to the right of the panels, for a legend or a colour bar.
    """

    panels: int
    columns: int
    heading: bool
    aside: bool

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure in inches."""
        rows = math.ceil(self.panels / self.columns)
        width = self.columns * (PANEL_INCHES + MARGIN_INCHES) + MARGIN_INCHES
        height = rows * (PANEL_INCHES + TITLE_INCHES + CAPTION_INCHES)
        return width + self.aside * ASIDE_INCHES, height + self.heading * HEADING_INCHES

    def cell(self, panel: int) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of a panel in figure coordinates."""
        width, height = self.size
        row, column = divmod(panel, self.columns)
        left = MARGIN_INCHES + column * (PANEL_INCHES + MARGIN_INCHES)
        top = height - self.heading * HEADING_INCHES - TITLE_INCHES
        bottom = top - row * (PANEL_INCHES + TITLE_INCHES + CAPTION_INCHES) - PANEL_INCHES
        return left / width, bottom / height, PANEL_INCHES / width, PANEL_INCHES / height

    def aside_anchor(self) -> tuple[float, float]:
        """Left edge and middle of the strip beside the panels."""
        return (self.size[0] - ASIDE_INCHES) / self.size[0], 0.5

    def aside_bar(self) -> tuple[float, float, float, float]:
        """Box of a colour bar in the strip beside the panels."""
        width, height = self.size
        bar = min(0.6 * height, PANEL_INCHES)
        return (width - 0.85 * ASIDE_INCHES) / width, 0.5 - 0.5 * bar / height, 0.12 / width, bar / height
