"""Assembles the interactive page: packs the data and puts style, program and data into one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from actup._maps import align_maps, read_maps
from actup.plotting._colors import MISSING, SEQUENTIAL
from actup.plotting._scene import (
    Classes,
    Values,
    dense_spots,
    read_captions,
    read_labels,
    spread_line,
)
from actup.viewer._images import pack_images

# In the order in which they use each other; the browser sees them as one program.
PROGRAM = ("data.js", "draw.js", "camera.js", "selection.js", "page.js")


def write_page(
    path,
    maps: Mapping,
    labels=None,
    captions=None,
    hover=None,
    images=None,
    title="ActUp",
    *,
    label_kind="auto",
) -> Path:
    """Write one HTML file that shows maps of the same points and morphs between them.

    The page needs no network and no other file. Everything it shows is treated as text, whatever it contains.

    Parameters
    ----------
    path : str or path-like
        The file to write; missing folders are made.
    maps : mapping of str to array-like of shape (n,), (n, 1) or (n, 2)
        Embeddings by name, turned the same way round by :func:`align_maps`. One-dimensional maps are drawn as
        a line of points that pile up where they are many.
    labels : array-like of shape (n,), optional
        Classes or values of the points.
    captions : mapping of str to str, optional
        Line under a map, by map name.
    hover : sequence of n, optional
        Text of every point for its tooltip and the search.
    images : array-like of shape (n, height, width) or (n, height, width, 3 or 4), optional
        Small picture of every point for its tooltip.
    title : str
        Title of the page.
    label_kind : {"auto", "classes", "values"}
        Whether labels name classes or measure values.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    maps = _flat_maps(maps)
    n = len(next(iter(maps.values())))
    scene = read_labels(labels, n, label_kind)
    captions = read_captions(captions, maps)
    data = {
        "count": n,
        "maps": [_pack_map(name, Y, captions[name], scene) for name, Y in maps.items()],
        "classes": _pack_classes(scene) if isinstance(scene, Classes) else None,
        "values": _pack_values(scene) if isinstance(scene, Values) else None,
        "hover": None if hover is None else _read_hover(hover, n),
        "images": None if images is None else pack_images(images, n),
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Half of a surrogate pair cannot be written as UTF-8: it becomes a question mark.
    path.write_bytes(_assemble(data, str(title)).encode("utf-8", "replace"))
    return path


def _flat_maps(maps: Mapping) -> dict[str, np.ndarray]:
    flat = {}
    for name, Y in read_maps(maps).items():
        if Y.shape[1] > 2:
            raise ValueError(
                f"maps[{name!r}] has {Y.shape[1]} dimensions, the page shows 1 or 2; choose columns, such as "
                "Y[:, :2], or embed with n_components=2"
            )
        flat[name] = spread_line(Y) if Y.shape[1] == 1 else Y
    return align_maps(flat)


def _pack_map(name: str, Y: np.ndarray, caption: str, scene) -> dict:
    """Coordinates as 16-bit steps from the smallest to the largest of each axis, far finer than a pixel."""
    low = Y.min(axis=0)
    size = np.ptp(Y, axis=0)
    steps = np.rint((Y - low) / np.where(size > 0, size, 1.0) * 65535.0)
    # An axis without extent sits in the middle of its zero size wherever its steps are.
    packed = {"name": name, "caption": caption, "low": low.tolist(), "size": size.tolist()}
    packed["packed"] = _base64(steps, "<u2")
    if isinstance(scene, Classes):
        spots = dense_spots(Y, scene.codes, len(scene.names))
        packed["anchors"] = [spot[0].tolist() if len(spot) else None for spot in spots]
    return packed


def _pack_classes(classes: Classes) -> dict:
    names, colors, codes = list(classes.names), list(classes.colors), classes.codes
    if (codes < 0).any():
        codes = np.where(codes < 0, len(names), codes)
        names.append("missing")
        colors.append(MISSING)
    if len(names) > 65536:
        raise ValueError(
            f"labels name {len(names)} classes, the page shows at most 65536; use hover for the names"
        )
    return {"names": names, "colors": colors, "codes": _base64(codes, "<u2")}


def _pack_values(values: Values) -> dict:
    known = values.values[np.isfinite(values.values)]
    return {
        "values": _base64(values.values, "<f4"),
        "low": values.low,
        "high": values.high,
        "clipped": [bool((known < values.low).any()), bool((known > values.high).any())],
        "stops": list(SEQUENTIAL),
    }


def _read_hover(hover: Sequence, n: int) -> list[str]:
    if isinstance(hover, str) or len(hover) != n:
        raise ValueError(f"hover must have one text for each of the {n} points, got {len(hover)} of them")
    return [str(text) for text in hover]


def _base64(numbers: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype=dtype).tobytes()).decode("ascii")


def _assemble(data: dict, title: str) -> str:
    folder = files(__package__)
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    program = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in PROGRAM)
    # Only this style and this program may act, and pictures come from the page itself.
    policy = (
        f"default-src 'none'; script-src '{_digest(program)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(title), policy=policy, style=style, script=program, data=_json_for_html(data)
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json_for_html(data: dict) -> str:
    """JSON that no HTML parser can mistake for a tag or the end of the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
