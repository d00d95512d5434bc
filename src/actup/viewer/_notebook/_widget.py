"""The widget of a page, made with anywidget where that is installed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np


def has_widgets() -> bool:
    """Whether widgets can be made."""
    return find_spec("anywidget") is not None


def make_widget(html: str, height: int) -> Any:
    """Return a widget that shows a page; its trait ``selection`` holds the selected points.

    Parameters
    ----------
    html : str
        The page, with ``frame.js``.
    height : int
        In CSS pixels.
    """
    return _widget_class()(html=html, height=height)


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError("the widget needs anywidget: install actup[notebook]") from error

    class PageWidget(anywidget.AnyWidget):
        """A page of maps.

        Attributes
        ----------
        selection : ndarray of shape (m,), int64
            The numbers of the selected points, ascending; empty if all or none are.
        """

        _esm = files("actup.viewer._notebook").joinpath("widget.js").read_text(encoding="utf-8")
        html = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        selected = traitlets.Bytes().tag(sync=True, from_json=lambda value, widget: bytes(value))
        selection = traitlets.Instance(np.ndarray, allow_none=False)

        @traitlets.default("selection")
        def _no_selection(self) -> np.ndarray:
            return np.zeros(0, np.int64)

        @traitlets.observe("selected")
        def _read_selected(self, change: Any) -> None:
            self.selection = np.frombuffer(bytes(change["new"]), "<u4").astype(np.int64)

    return PageWidget
