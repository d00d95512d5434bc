"""Assemble the HTML file: template, style, program and packed data, under a strict security policy."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

# The scripts are concatenated in this order: each uses only those before it when it is loaded.
SCRIPTS = (
    "packing.js",
    "texts.js",
    "columns.js",
    "grid.js",
    "frame.js",
    "maps.js",
    "data.js",
    "density.js",
    "camera.js",
    "view.js",
    "painter_webgl.js",
    "painter_pixels.js",
    "renderer.js",
    "names.js",
    "overlay.js",
    "polygon.js",
    "selection.js",
    "legend.js",
    "pictures.js",
    "tooltip.js",
    "gestures.js",
    "mapbar.js",
    "exports.js",
    "link.js",
    "info.js",
    "keys.js",
    "page.js",
    "tools.js",
    "interface.js",
)


@dataclass(frozen=True)
class Addition:
    """What a page has besides those that are written to files.

    Attributes
    ----------
    scripts : tuple of str
        Programs that run after those of the page.
    style : str
        CSS after that of the page.
    connects : bool
        Whether the page may talk to the server that it comes from.
    """

    scripts: tuple[str, ...]
    style: str = ""
    connects: bool = False


_NO_ADDITION = Addition(())


def assemble(
    data: dict[str, Any],
    blobs: list[str],
    sheets: list[str],
    title: str,
    addition: Addition | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    data : dict
        What JSON can hold.
    blobs, sheets : list of str
        Compressed arrays and PNG files, in base64, which ``data`` refers to by number.
    title : str
    addition : Addition, default=None
    """
    addition = addition or _NO_ADDITION
    folder = files("actup.viewer").joinpath("page")
    style = folder.joinpath("page.css").read_text(encoding="utf-8") + addition.style
    scripts = [folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS]
    program = "\n".join([*scripts, *addition.scripts])
    # The browser accepts this style and this program only, and pictures embedded in the page.
    policy = (
        f"default-src 'none'; script-src '{digest(program)}'; style-src '{digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    ) + ("; connect-src 'self'" if addition.connects else "")
    packed = [_carrier(f"blob-{k}", text) for k, text in enumerate(blobs)]
    packed += [_carrier(f"sheet-{k}", text) for k, text in enumerate(sheets)]
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(title),
        policy=policy,
        style=style,
        script=program,
        data=_json_for_html(data),
        blobs="\n".join(packed),
    )


def _carrier(name: str, text: str) -> str:
    """An element that carries base64 and that the browser neither shows nor runs."""
    return f'<script type="text/plain" id="{name}">{text}</script>'


def digest(text: str) -> str:
    """Return the hash of an inline style or script as a content security policy writes it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json_for_html(data: dict[str, Any]) -> str:
    """Return JSON that no HTML parser can mistake for a tag or the end of the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
