"""Assemble the interactive page: style, program and packed data in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from actup._maps import align_maps, read_maps
from actup.plotting._colors import SEQUENTIAL
from actup.plotting._scene import (
    Classes,
    Values,
    dense_spots,
    name_largest,
    read_captions,
    read_labels,
    spread_line,
)
from actup.viewer._images import pack_images

# The scripts are concatenated in this order: each uses only those before it.
_SCRIPTS = ("data.js", "draw.js", "camera.js", "selection.js", "page.js")
_LARGEST_STEP = 65535  # largest coordinate in 16 bits


def write_page(
    path: str | os.PathLike[str],
    maps: Mapping[str, ArrayLike],
    labels: ArrayLike | None = None,
    captions: Mapping[str, str] | None = None,
    hover: Sequence[object] | None = None,
    images: ArrayLike | None = None,
    title: str = "ActUp",
    *,
    label_kind: str = "auto",
) -> Path:
    """Write one HTML file that shows maps of the same points and morphs between them.

    The page needs no network and no other file. All labels, captions and texts are shown as plain text, never
    interpreted as HTML.

    Parameters
    ----------
    path : str or path-like
        The file to write; missing folders are created.
    maps : mapping of str to array-like of shape (n,), (n, 1) or (n, 2)
        Maps by name. They are rotated and mirrored by :func:`align_maps`. A one-dimensional map is drawn as a
        line of points that spread out where they are dense.
    labels : array-like of shape (n,), default=None
        Classes or values of the points. Points without a label (None, NaN, NaT, pandas' NA, masked) are grey,
        and the legend lists them last, as "missing". Of more than 1,000 classes, the largest keep their names
        and colours; the names of the others are added to the texts of their points. If all labels differ,
        they are such texts only.
    captions : mapping of str to str, default=None
        Line under a map, by map name.
    hover : sequence of length n, default=None
        Text of every point, for its tooltip and the search.
    images : array-like of shape (n, height, width) or (n, height, width, 3 or 4), default=None
        Small picture of every point, for its tooltip.
    title : str, default="ActUp"
        Title of the page.
    label_kind : {"auto", "classes", "values"}, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans and whole numbers
        with at most 128 distinct values as classes.

    Returns
    -------
    pathlib.Path
        The file written.

    Warns
    -----
    UserWarning
        If there are more than 1,000 classes.

    See Also
    --------
    align_maps : Rotates and mirrors maps of the same points.
    actup.plotting.plot_gallery : Draws maps side by side as a static picture.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from actup.viewer import write_page
    >>> iris = load_iris()
    >>> maps = {"sepals": iris.data[:, :2], "petals": iris.data[:, 2:]}
    >>> with TemporaryDirectory() as folder:
    ...     path = write_page(f"{folder}/iris.html", maps, iris.target_names[iris.target])
    ...     path.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    arrays = _flat_maps(maps)
    n = len(next(iter(arrays.values())))
    scene, texts = _read_scene(labels, n, label_kind, None if hover is None else _read_hover(hover, n))
    captions = read_captions(captions, arrays)
    data = {
        "count": n,
        "maps": [_pack_map(name, Y, captions[name], scene) for name, Y in arrays.items()],
        "classes": _pack_classes(scene) if isinstance(scene, Classes) else None,
        "values": _pack_values(scene) if isinstance(scene, Values) else None,
        "hover": texts,
        "images": None if images is None else pack_images(images, n),
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # An unpaired surrogate cannot be written as UTF-8: it becomes a question mark.
    path.write_bytes(_assemble(data, str(title)).encode("utf-8", "replace"))
    return path


def _flat_maps(maps: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Return the maps with two dimensions each, aligned."""
    flat = {}
    for name, Y in read_maps(maps).items():
        if Y.shape[1] > 2:
            raise ValueError(
                f"maps[{name!r}] has {Y.shape[1]} dimensions, the page shows 1 or 2; choose columns, such as "
                "Y[:, :2], or embed with n_components=2"
            )
        flat[name] = spread_line(Y) if Y.shape[1] == 1 else Y
    return align_maps(flat)


def _pack_map(name: str, Y: np.ndarray, caption: str, scene: Classes | Values | None) -> dict[str, Any]:
    """Pack the coordinates of each axis as 16-bit steps between its ends, far finer than a pixel."""
    low = Y.min(axis=0)
    size = np.ptp(Y, axis=0)
    steps = np.rint((Y - low) / np.where(size > 0, size, 1.0) * float(_LARGEST_STEP))
    packed: dict[str, Any] = {"name": name, "caption": caption, "low": low.tolist(), "size": size.tolist()}
    packed["packed"] = _base64(steps, "<u2")
    if isinstance(scene, Classes):
        spots = dense_spots(Y, scene.codes, len(scene.names) - scene.has_rest)
        packed["anchors"] = [spot[0].tolist() if len(spot) else None for spot in spots]
    return packed


def _read_scene(
    labels: ArrayLike | None, n: int, label_kind: str, texts: list[str] | None
) -> tuple[Classes | Values | None, list[str] | None]:
    """Read the labels, and add the names of classes that the legend leaves out to the points' texts."""
    scene = read_labels(labels, n, label_kind)
    if not isinstance(scene, Classes):
        return scene, texts
    shown = name_largest(scene, "; tooltips and the search still name them")
    if shown is scene:
        return scene, texts
    unnamed = scene.codes >= 0
    if shown is not None:
        unnamed &= shown.codes == len(shown.names) - 1
    texts = [""] * n if texts is None else texts
    for point in np.flatnonzero(unnamed):
        name = scene.names[scene.codes[point]]
        texts[point] = f"{name}\n{texts[point]}" if texts[point] else name
    return shown, texts


def _pack_classes(classes: Classes) -> dict[str, Any]:
    names, colors = zip(*classes.entries(), strict=True)
    # Missing labels are the last entry. At most 1,000 classes have names, so that 16 bits are enough.
    codes = np.where(classes.codes < 0, len(names) - 1, classes.codes)
    return {"names": names, "colors": colors, "codes": _base64(codes, "<u2")}


def _pack_values(values: Values) -> dict[str, Any]:
    known = values.values[np.isfinite(values.values)]
    return {
        "values": _base64(values.values, "<f4"),
        "low": values.low,
        "high": values.high,
        "clipped": [bool((known < values.low).any()), bool((known > values.high).any())],
        "stops": list(SEQUENTIAL),
    }


def _read_hover(hover: Sequence[object], n: int) -> list[str]:
    if isinstance(hover, str) or len(hover) != n:
        raise ValueError(f"hover must have one text for each of the {n} points, got {len(hover)} of them")
    return [str(text) for text in hover]


def _base64(numbers: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype=dtype).tobytes()).decode("ascii")


def _assemble(data: dict[str, Any], title: str) -> str:
    """Fill the page's template with title, security policy, style, program and data."""
    folder = files("actup.viewer").joinpath("page")
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    program = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    # The browser accepts this style and this program only, and pictures embedded in the page.
    policy = (
        f"default-src 'none'; script-src '{_digest(program)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(title), policy=policy, style=style, script=program, data=_json_for_html(data)
    )


def _digest(text: str) -> str:
    """Return the hash of an inline style or script as a content security policy writes it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json_for_html(data: dict[str, Any]) -> str:
    """Return JSON that no HTML parser can mistake for a tag or the end of the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
