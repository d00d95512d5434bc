"""The page before there are points to show: it names the stage of the run and reloads itself."""

from __future__ import annotations

import html
from importlib.resources import files
from string import Template
from typing import Any

from actup.viewer._assembly import digest

_TEXTS = {
    "neighbors": "Searching for the nearest neighbours",
    "graph": "Making the graph of similarities",
    "start": "Finding where the points start",
    "layout": "Preparing the layout",
}


def waiting_page(title: str, status: dict[str, Any]) -> bytes:
    """Return the page for a status without a layout, as bytes of HTML.

    Parameters
    ----------
    title : str
    status : dict
        The session's status.
    """
    text = _TEXTS.get(status.get("stage", ""), "Waiting for the fit to begin")
    if status["state"] in ("failed", "ended"):
        text = status["message"] or "The session has ended"
    folder = files("actup.viewer._live")
    style = folder.joinpath("waiting.css").read_text(encoding="utf-8")
    template = folder.joinpath("waiting.html").read_text(encoding="utf-8")
    page = Template(template).substitute(
        title=html.escape(title),
        policy=f"default-src 'none'; style-src '{digest(style)}'",
        style=style,
        text=html.escape(text),
        fraction=f"{status.get('fraction', 0.0):.3f}",
    )
    return page.encode("utf-8", "replace")
