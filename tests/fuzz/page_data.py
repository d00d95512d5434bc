"""Read a written page back and compare it with what was given.

ActUp itself has no reader of pages in Python: a browser reads them. What is compared here is what
``tests/page_file.py`` unpacks as the browser does.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .oracle import Wrong, count_rows

_STEPS = 2**15  # of a map's width: an axis has twice as many, most of them within the bulk


def check_page(text: str, maps: Any, options: dict[str, Any]) -> None:
    """Raise ``Wrong`` unless a page holds the maps and texts it was given, and no text has become a tag."""
    if len(re.findall("<script", text)) != len(re.findall("</script>", text)) or "alert(1)</script>" in text:
        raise Wrong("a text of the page's data has become a part of the page")
    page = _read(text)
    given = list(maps.values() if isinstance(maps, dict) else maps if isinstance(maps, list) else [maps])
    if isinstance(maps, list) and any(np.ndim(Y) < 2 for Y in given):
        given = [maps]  # a list of rows
    if len(page.data["maps"]) != len(given):
        raise Wrong(f"a page of {len(given)} maps has {len(page.data['maps'])}")
    # Maps of one axis get a second one; several are turned to resemble each other.
    if len(given) == 1 and np.shape(given[0])[1:] == (2,):
        _check_places(page.map(0), np.asarray(given[0], np.float64))
    n = count_rows(given[0])
    for column in page.data.get("columns", []):
        if "codes" in column and len(page.array(column["codes"])) != n:
            raise Wrong(f"a column of {n} points has {len(page.array(column['codes']))} codes")
    hover = options.get("hover")
    lists = list(hover.values()) if isinstance(hover, dict) else [hover]
    wanted = [texts for texts in lists if _are_texts(texts, n)]
    shown = [page.texts(i) for i in range(len(page.data.get("texts", [])))]
    for texts in wanted:
        if [text.encode("utf-8", "replace").decode() for text in texts] not in shown:
            raise Wrong(f"the page has other texts than {texts!r:.300}: {shown!r:.600}")


def _check_places(shown: np.ndarray, Y: np.ndarray) -> None:
    """Points that have a place must be where they were, relative to their centre and to the map's width."""
    if shown.shape != Y.shape:
        raise Wrong(f"a map of shape {Y.shape} has shape {shown.shape} on its page")
    placed = np.isfinite(Y).all(axis=1)
    shown, Y = shown[placed], Y[placed]
    if not len(Y):
        return
    with np.errstate(all="ignore"):
        Y = Y - Y[0]
        shown = shown - shown[0]
        width = np.abs(Y).max()
        if np.isfinite(width) and width and np.abs(shown - Y).max() > width / _STEPS * 40:
            raise Wrong(f"places on the page differ by {np.abs(shown - Y).max()} on a map of width {width}")


def _are_texts(values: Any, n: int) -> bool:
    return isinstance(values, list) and len(values) == n and all(isinstance(text, str) for text in values)


def _read(text: str) -> Any:
    folder = str(Path(__file__).parents[1])  # of what several folders of tests share
    if folder not in sys.path:
        sys.path.append(folder)
    from page_file import PageFile

    return PageFile(text)
