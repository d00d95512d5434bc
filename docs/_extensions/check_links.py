"""Check that every link and picture of the built pages leads somewhere: ``python check_links.py FOLDER``.

Only links inside the folder are followed, with their anchors. Addresses in the network are not opened; but
scripts, styles and pictures must not have any.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDRESSES = {
    "a": "href",
    "img": "src",
    "script": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
}
_LOADED = ("img", "script", "iframe", "source", "video")  # by the browser, without a click


class Page(HTMLParser):
    """The ids and links of a page.

    Parameters
    ----------
    path : pathlib.Path
        The HTML file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []  # element and address
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect an element's id and address."""
        values = dict(attrs)
        self.ids.update(value for name in ("id", "name") if (value := values.get(name)))
        address = values.get(_ADDRESSES.get(tag, ""))
        if address and not (tag == "link" and values.get("rel") != "stylesheet"):
            self.links.append((tag, address))


def broken_links(folder: Path) -> list[str]:
    """A line for every link of the pages below a folder that leads nowhere."""
    files = [
        path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts
    ]  # not the theme's
    pages = {path.resolve(): Page(path) for path in files}
    lines = []
    for path, page in pages.items():
        for tag, address in page.links:
            reason = _reason(address, tag, path, pages)
            if reason:
                lines.append(f"{path.relative_to(folder.resolve())}: {address}: {reason}")
    return lines


def _reason(address: str, tag: str, path: Path, pages: dict[Path, Page]) -> str:
    """Why a link leads nowhere; empty if it leads somewhere."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "is loaded from the network" if tag in _LOADED and parts.scheme != "data" else ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return "there is no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "the page has no such anchor"
    return ""


def main() -> None:
    """Print the links that lead nowhere, and exit with 1 if there are any."""
    folder = Path(sys.argv[1])
    lines = broken_links(folder)
    print("\n".join(lines) if lines else f"all links inside {folder} lead somewhere")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
