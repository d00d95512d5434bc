"""Write equations as MathML, which browsers draw themselves: pages need no script and no network."""

import html

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (_write_inline, None), (_write_display, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_inline(translator: nodes.NodeVisitor, node: nodes.math) -> None:
    translator.body.append(_mathml(node, display=False))
    raise nodes.SkipNode


def _write_display(translator: nodes.NodeVisitor, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math-display"))
    translator.body.append(_mathml(node, display=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="equation-number">({number})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _mathml(node: nodes.Element, display: bool) -> str:
    """The MathML of an equation in TeX's notation; the TeX itself, with a warning, if it is unknown."""
    code = node.astext()
    try:
        return latex2mathml.tex2mathml(code, as_block=display)
    except MathError as error:
        _LOGGER.warning("equation %r: %s", code, error, location=node)
        return f"<code>{html.escape(code)}</code>"
