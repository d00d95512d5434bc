"""Collect the figures of a gallery example: those of pyplot, and those that a block assigns to ``figure``."""

from __future__ import annotations

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

VARIABLE = "figure"
_DPI = 130
_shown: set[int] = set()  # ids of figures that an earlier block has shown


def scrape(block: tuple, block_vars: dict, gallery_conf: dict, **arguments: object) -> str:
    """Save the figures of a block; return the text that shows them.

    Parameters
    ----------
    block : tuple
        Kind, content and line number of the block.
    block_vars : dict
        Variables of the example, among them the paths that pictures may be written to.
    gallery_conf : dict
        Settings of sphinx-gallery.
    **arguments
        Options that sphinx-gallery passes to every scraper; matplotlib's takes them.

    Returns
    -------
    str
        reStructuredText.
    """
    from matplotlib import pyplot

    in_pyplot = [pyplot.figure(number) for number in pyplot.get_fignums()]
    figure = block_vars["example_globals"].get(VARIABLE)
    text = matplotlib_scraper(block, block_vars, gallery_conf, **{"dpi": _DPI, **arguments})
    _shown.update(map(id, in_pyplot))
    if not isinstance(figure, Figure) or id(figure) in _shown:
        return text
    _shown.add(id(figure))
    block_vars["example_globals"].setdefault("_kept_figures", []).append(figure)  # so that ids stay unique
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=_DPI)
    return text + figure_rst([path], gallery_conf["src_dir"])
