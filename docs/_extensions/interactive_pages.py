"""Write the interactive pages that pages of the documentation show in a frame."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits
from sphinx.application import Sphinx

import actup
from actup.viewer import write_page

FOLDER = "_static/maps"  # below the built pages


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages after a build of HTML."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write_digits(Path(app.outdir, FOLDER) / "digits.html")


def write_digits(path: Path) -> Path:
    """Write the page of the digits that "Your first map" makes."""
    X, digits = load_digits(return_X_y=True)
    maps = {"UMAP": actup.UMAP(random_state=0).fit(X), "t-SNE": actup.TSNE(random_state=0).fit(X)}
    return write_page(path, maps, digits, images=X.reshape(-1, 8, 8), title="Handwritten digits")
