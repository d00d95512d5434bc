"""Adapt links of Markdown pages, which work on GitHub, to the built pages.

A link to a program of the gallery leads to its page, and a link that leaves docs/ leads to the repository on
the web.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the rewriting of sources."""
    app.add_config_value("repository", "", "env")
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the links of a page.

    Parameters
    ----------
    app : Sphinx
    docname : str
        The page.
    source : list of str
        Its text, the only element, which is replaced.
    """
    folder = Path(app.srcdir, docname).parent

    def replace(match: re.Match[str]) -> str:
        target = adapted(match[2], folder, Path(app.srcdir), app.config.repository)
        return f"{match[1]}{target}{match[3] or ''}{match[4]}"

    source[0] = _LINK.sub(replace, source[0])


def adapted(link: str, folder: Path, docs: Path, repository: str) -> str:
    """The link of the built page that stands for a relative link of a page in ``folder``."""
    target = (folder / link).resolve()
    if target.is_relative_to(docs / "gallery"):
        name = target.relative_to(docs / "gallery")
        name = name.with_name("index.rst") if name.name == "GALLERY_HEADER.rst" else name.with_suffix(".rst")
        return Path(os.path.relpath(docs / "examples" / name, folder)).as_posix()
    if target.is_relative_to(docs) or not target.is_relative_to(docs.parent):
        return link
    kind = "tree" if target.is_dir() else "blob"
    return f"{repository}/{kind}/main/{target.relative_to(docs.parent).as_posix()}"
