"""Publish a version of the documentation: ``python versions.py SITE HTML NAME``.

SITE is a folder with one subfolder for each version, as the web server shows it. HTML, the pages of one
version, become SITE/NAME. A release ("1.4.2") also becomes ``stable``, unless a newer one is there;
``latest`` is the main branch. ``versions.json`` lists what the switch on the pages offers, and ``index.html``
leads to the stable pages, or to the latest before there is a release.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

ADDRESS = "https://actup.github.io/actup/"

_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def publish(site: Path, html: Path, name: str) -> None:
    """Put the pages of a version into the site.

    Parameters
    ----------
    site, html : pathlib.Path
        The folder of the whole site, and that of the pages.
    name : str
        "latest", or the number of a release.
    """
    if name != "latest" and not _RELEASE.fullmatch(name):
        raise ValueError(f"NAME={name!r} must be 'latest' or a release such as '1.4.2'")
    _replace(site / name, html)
    releases = sorted(
        (path.name for path in site.iterdir() if _RELEASE.fullmatch(path.name)),
        key=lambda release: tuple(int(number) for number in release.split(".")),
        reverse=True,
    )
    if releases and releases[0] == name:
        _replace(site / "stable", html)
    entries = [{"name": "latest", "version": "latest", "url": f"{ADDRESS}latest/"}]
    for release in releases:
        newest = release == releases[0]
        entry = {
            "name": f"{release} (stable)" if newest else release,
            "version": release,
            "url": f"{ADDRESS}{'stable' if newest else release}/",
        }
        entries.append({**entry, "preferred": True} if newest else entry)
    (site / "versions.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    start = "stable" if releases else "latest"
    (site / "index.html").write_text(
        '<!DOCTYPE html><meta charset="utf-8"><title>ActUp</title>'
        f'<meta http-equiv="refresh" content="0; url={start}/">\n',
        encoding="utf-8",
    )
    (site / ".nojekyll").touch()  # GitHub would leave out folders that begin with _


def _replace(folder: Path, html: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(html, folder)


def main() -> None:
    """Read the arguments and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("html", type=Path)
    parser.add_argument("name")
    options = parser.parse_args()
    publish(options.site, options.html, options.name)


if __name__ == "__main__":
    main()
