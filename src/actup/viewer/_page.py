"""write_page: one HTML file that shows maps of the same points."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from actup._output_path import output_path
from actup._suggestions import PICTURE_NAMES, explain_unknown_keywords
from actup._values import read_flag
from actup._whole_file import whole_file
from actup.plotting._scene import Values, read_captions, read_labels
from actup.viewer._assembly import Addition, assemble
from actup.viewer._clusters import cluster_columns, main_layer, pack_layers, read_layers
from actup.viewer._columns import (
    Column,
    label_column_name,
    limit_classes,
    pack_column,
    pack_values,
    read_column,
    table_columns,
)
from actup.viewer._images import pack_images
from actup.viewer._neighbors import read_distortion, read_neighbors, shown_neighbors
from actup.viewer._packing import Blobs
from actup.viewer._sources import flat_maps, is_sequence, read_info, read_sources
from actup.viewer._texts import add_names, read_hover


@dataclass(frozen=True)
class PageContents:
    """What a page shows besides its maps; :func:`write_page` explains the fields."""

    labels: ArrayLike | None = None
    captions: Mapping[str, str] | None = None
    hover: Any = None
    images: ArrayLike | None = None
    title: str = "ActUp"
    label_kind: str | Mapping[str, str] = "auto"
    columns: Any = None
    clusters: Any = None
    neighbors: Any = None
    distortion: Any = None
    info: Mapping[str, Mapping[str, object]] | None = None
    side_by_side: bool = False


_DISTORTION_NOTE = "Share of a point's nearest points in the data that are also nearest on the map."


@explain_unknown_keywords(PICTURE_NAMES)
def write_page(
    path: str | os.PathLike[str],
    maps: Any,
    labels: ArrayLike | None = None,
    captions: Mapping[str, str] | None = None,
    hover: Any = None,
    images: ArrayLike | None = None,
    title: str = "ActUp",
    *,
    label_kind: str | Mapping[str, str] = "auto",
    columns: Any = None,
    clusters: Any = None,
    neighbors: Any = None,
    distortion: Any = None,
    info: Mapping[str, Mapping[str, object]] | None = None,
    side_by_side: bool = False,
) -> Path:
    """Write one HTML file that shows maps of the same points.

    The page needs no network and no other file. It has zoom, search, tooltips, a lasso and a legend, colours
    the points by any column, morphs between maps or shows them side by side, and saves tables and pictures.
    All labels, captions and texts are shown as plain text, never interpreted as HTML. The file is written
    aside and renamed: it is whole or absent.

    Parameters
    ----------
    path : str or path-like
        The file to write, by convention with the suffix ".html"; one of another kind of file, such as ".png",
        is rejected. Missing folders are created.
    maps : array-like of shape (n,), (n, 1) or (n, 2), fitted model, or mapping of str to these
        Maps by name, or one map. They are rotated and mirrored by :func:`align_maps`. A one-dimensional map
        is drawn as a line of points that spread out where they are dense. Results of ``actup.embed`` and
        ``actup.embed_many`` are maps too. If the names of at least three maps differ in one number that
        increases or decreases, as in "exaggeration 1", "exaggeration 2", ..., they get a slider. Points
        without a place (NaN) on one of the maps, such as disconnected samples of UMAP, are not shown; all
        others keep their row numbers.
    labels : array-like of shape (n,), default=None
        Classes, values or dates of the points: the first column to colour by. It is called "label", or by the
        name of a pandas or polars series. Points without a label (None, NaN, NaT, pandas' NA, masked) are
        grey, and the legend lists them last, as "missing". Of more than 1,000 classes, the largest keep their
        names and colours; the names of the others are added to the texts of their points. If all labels
        differ, they are such texts only.
    captions : mapping of str to str, default=None
        Line under a map, by map name.
    hover : sequence of length n, mapping of str to such, or data frame, default=None
        Texts of the points, for the tooltip and the search. Columns of a mapping or a data frame become
        fields of the tooltip.
    images : array-like of shape (n, height, width) or (n, height, width, 3 or 4), default=None
        Small picture of every point, for its tooltip.
    title : str, default="ActUp"
        Title of the page.
    label_kind : {"auto", "classes", "values"} or mapping of str to these, default="auto"
        Whether labels are classes or values on a scale. ``"auto"`` takes text, Booleans, whole numbers with
        at most 128 and dates with at most 12 distinct values as classes. A mapping says it of ``columns``, by
        name.
    columns : mapping of str to array-like of shape (n,), or data frame, default=None
        Further columns to colour by, each read as ``labels`` are.
    clusters : Clusters, default=None
        What ``actup.find_clusters`` returns: its layers become names on the map, the finer ones when the view
        is closer, and columns to colour by.
    neighbors : array-like of shape (n, k), Neighbors, "auto" or False, default=None
        Ids of the nearest points in the data space, which are marked when the pointer is on a point.
        ``"auto"`` takes them from the first model among the maps. None does so too, up to 250,000 points;
        False: none.
    distortion : array-like of shape (n,), mapping of map name to such, "auto" or False, default=None
        How badly each point is placed, as a column to colour by. ``"auto"``, and None where neighbours are
        shown: the share of a point's neighbours in the data that are among its nearest points on each map.
    info : mapping of str to mapping of str to object, default=None
        Sections of the panel about the maps, such as quality figures. Those of the models (recipe, seed,
        recall, seconds) are there without it; a section of the name of a map is added to its model's.
    side_by_side : bool, default=False
        Whether several maps are shown side by side at first, unless the window is as narrow as a phone's.

    Returns
    -------
    pathlib.Path
        The file written.

    Warns
    -----
    UserWarning
        If there are more than 1,000 classes, or points without a place.

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
    path = page_path(path)
    contents = PageContents(
        labels=labels,
        captions=captions,
        hover=hover,
        images=images,
        title=title,
        label_kind=label_kind,
        columns=columns,
        clusters=clusters,
        neighbors=neighbors,
        distortion=distortion,
        info=info,
        side_by_side=side_by_side,
    )
    return write_text(path, page_text(maps, contents))


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page, whole or not at all; missing folders are created."""
    path = page_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        # An unpaired surrogate cannot be written as UTF-8: it becomes a question mark.
        unfinished.write_bytes(text.encode("utf-8", "replace"))
    return path


def page_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a page to write; its suffix must not name another kind of file."""
    return output_path(path, "a page", ".html", ".htm")


def page_text(maps: Any, contents: PageContents, addition: Addition | None = None) -> str:
    """The text of the file that :func:`write_page` writes; ``addition``: further scripts of the page."""
    sources = read_sources(maps)
    arrays = flat_maps(sources)
    n = len(next(iter(arrays.values())))
    captions = read_captions(contents.captions, arrays)
    texts = read_hover(contents.hover, n)
    layers = read_layers(contents.clusters, n)
    given = _read_columns(contents, n, texts)
    read = given + cluster_columns(layers)
    lists = read_neighbors(contents.neighbors, sources, n)
    kept = read_distortion(contents.distortion, arrays, lists, asked=contents.neighbors is not None)
    sections = read_info(contents.info, sources)
    pictures: dict[str, Any] | None = None if contents.images is None else pack_images(contents.images, n)
    sheets = [] if pictures is None else pictures.pop("sheets")
    side_by_side = read_flag(contents.side_by_side, "side_by_side")
    blobs = Blobs()
    data = {
        "count": n,
        "title": str(contents.title),
        "sequence": is_sequence(list(arrays)),
        "sideBySide": side_by_side and len(arrays) > 1,
        "maps": [{"name": name, "caption": captions[name], **blobs.add_map(Y)} for name, Y in arrays.items()],
        "hidden": np.flatnonzero(np.isnan(next(iter(arrays.values()))[:, 0])).tolist(),
        "columns": [pack_column(column, blobs) for column in read] + _pack_distortion(kept, read, blobs),
        "firstColumn": 0 if given or not layers else main_layer(contents.clusters),
        "layers": pack_layers(layers, blobs),
        "texts": [{"name": name, **blobs.add_texts(field)} for name, field in texts.items()],
        "neighbors": None if lists is None else _pack_neighbors(shown_neighbors(lists), n, blobs),
        "images": pictures,
        "info": sections,
    }
    return assemble(data, blobs.texts, sheets, str(contents.title), addition)


def _read_columns(contents: PageContents, n: int, texts: dict[str, list[str]]) -> list[Column]:
    """Labels and further columns; names of classes that the legend leaves out are added to the texts."""
    labels, label_kind = contents.labels, contents.label_kind
    given = [] if contents.columns is None else list(table_columns(contents.columns, n, "columns"))
    kinds = label_kind if isinstance(label_kind, Mapping) else {}
    own_kind = "auto" if isinstance(label_kind, Mapping) else label_kind
    for kind in (own_kind, *kinds.values()):
        read_labels(None, n, kind)  # rejects an unknown kind
    name = label_column_name(labels, {name for name, _ in given})
    read = [] if labels is None else [read_column(name, labels, n, own_kind)]
    for name, column in given:
        read.append(read_column(name, column, n, kinds.get(name, "auto"), f"columns[{name!r}]"))
    shown = []
    for column in read:
        limited, names = limit_classes(column)
        add_names(texts, names, n)
        if limited is not None:
            shown.append(limited)
    return shown


def _pack_distortion(
    kept: tuple[str, list[Values | None]] | None, columns: list[Column], blobs: Blobs
) -> list[dict[str, Any]]:
    if kept is None:
        return []
    name, values = kept
    while any(column.name == name for column in columns):
        name += "_"
    note = _DISTORTION_NOTE if kept[0] == "neighbours kept" else ""
    return [pack_values(name, values, blobs, note=note)]


def _pack_neighbors(lists: np.ndarray, n: int, blobs: Blobs) -> dict[str, Any]:
    return {"width": lists.shape[1], "ids": blobs.add_whole_numbers(lists, min(int(lists.min()), 0), n - 1)}
