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
    panel : float
        Side of a panel in inches.
    foot : float
        Height of the strip under each panel, for a caption or a colour bar, in inches.
    """

    panels: int
    columns: int
    heading: bool
    aside: bool
    panel: float = PANEL_INCHES
    foot: float = CAPTION_INCHES

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure in inches."""
        rows = math.ceil(self.panels / self.columns)
        width = self.columns * (self.panel + MARGIN_INCHES) + MARGIN_INCHES
        height = rows * (self.panel + TITLE_INCHES + self.foot)
        return width + self.aside * ASIDE_INCHES, height + self.heading * HEADING_INCHES

    def cell(self, index: int) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of a panel in figure coordinates."""
        width, height = self.size
        row, column = divmod(index, self.columns)
        left = MARGIN_INCHES + column * (self.panel + MARGIN_INCHES)
        top = height - self.heading * HEADING_INCHES - TITLE_INCHES
        bottom = top - row * (self.panel + TITLE_INCHES + self.foot) - self.panel
        return left / width, bottom / height, self.panel / width, self.panel / height

    def aside_anchor(self) -> tuple[float, float]:
        """Left edge and middle of the strip beside the panels."""
        return (self.size[0] - ASIDE_INCHES) / self.size[0], 0.5

    def aside_bar(self) -> tuple[float, float, float, float]:
        """Box of a colour bar in the strip beside the panels."""
        width, height = self.size
        bar = min(0.6 * height, self.panel)
        return (width - 0.85 * ASIDE_INCHES) / width, 0.5 - 0.5 * bar / height, 0.12 / width, bar / height

    def foot_bar(self, index: int) -> tuple[float, float, float, float]:
        """Box of a colour bar under a panel."""
        left, bottom, width, _ = self.cell(index)
        inch = 1 / self.size[1]
        return left + 0.15 * width, bottom - 0.16 * inch, 0.7 * width, 0.09 * inch
