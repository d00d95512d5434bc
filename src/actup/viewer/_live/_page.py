"""The page of a session: a page of maps with the scripts of the live layout."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from actup.viewer._assembly import Addition
from actup.viewer._page import PageContents, page_text

_SCRIPTS = ("stream.js", "live_panel.js", "live.js")  # each uses only those before it when it is loaded


@cache
def live_addition() -> Addition:
    """The scripts and the style of a live page, which may connect to the server that it comes from."""
    folder = files("actup.viewer._live")
    scripts = tuple(folder.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return Addition(scripts, folder.joinpath("live.css").read_text(encoding="utf-8"), connects=True)


def live_page(model: Any, contents: PageContents) -> Callable[[np.ndarray], bytes]:
    """Return a function that makes the page for places of the points.

    Parameters
    ----------
    model : estimator
        Its class names the map.
    contents : PageContents
    """

    def make_page(places: np.ndarray) -> bytes:
        text = page_text({type(model).__name__: places}, contents, live_addition())
        return text.encode("utf-8", "replace")

    return make_page
