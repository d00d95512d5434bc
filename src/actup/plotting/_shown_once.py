"""A figure of pyplot that a notebook shows once, also if it is the value of a cell."""

from __future__ import annotations

from matplotlib import get_backend
from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure


class ShownOnce(Figure):
    """A figure that a notebook does not show as the value of a cell while pyplot is about to show it.

    The inline backend of notebooks shows all figures of pyplot at the end of a cell, and closes them. IPython
    would show the figure once more if a call that returns it is the last line of the cell.
    """

    def _ipython_display_(self) -> None:
        """Show nothing if pyplot will; else leave it to IPython, as NotImplementedError tells it."""
        if "inline" not in get_backend().lower() or not _is_open(self):
            raise NotImplementedError


def _is_open(figure: Figure) -> bool:
    """Whether a figure is one of pyplot's and has not been closed."""
    return any(manager.canvas.figure is figure for manager in Gcf.get_all_fig_managers())
