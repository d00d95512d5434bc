"""Point links that leave docs/, such as ../README.md, to the repository on the web."""

import re
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

_LINK = re.compile(r"(\]\()(\.\./[^)\s#]*)(#[^)\s]*)?(\))")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the rewriting of sources."""
    app.add_config_value("repository", "", "env")
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace links to files outside docs/ in the text of a page.

    Parameters
    ----------
    app : Sphinx
    docname : str
        The page.
    source : list of str
        Its text, the only element, which is replaced.
    """
    root = Path(app.srcdir).parent
    folder = Path(app.srcdir, docname).parent

    def outside(match: re.Match) -> str:
        target = (folder / match[2]).resolve()
        if target.is_relative_to(app.srcdir) or not target.is_relative_to(root):
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        path = PurePosixPath(target.relative_to(root))
        return f"{match[1]}{app.config.repository}/{kind}/main/{path}{match[3] or ''}{match[4]}"

    source[0] = _LINK.sub(outside, source[0])
