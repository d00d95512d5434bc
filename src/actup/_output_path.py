"""Paths that callers give: read_path(); output_path(), whose suffix must not name another kind of file."""

from __future__ import annotations

import os
import reprlib
from pathlib import Path
from typing import Any

from actup._errors import WrongType

_PICTURE = ".png .jpg .jpeg .gif .webp .bmp .tif .tiff .svg .pdf .eps"
_TABLE = ".csv .tsv .xlsx .parquet .pq .feather .arrow .jsonl .npy .npz .mtx .h5ad"
_KINDS = {  # by name: suffixes, and what writes such files
    "a picture": (_PICTURE, "actup.plot(..., path=...) draws pictures"),
    "a table": (_TABLE, "for a table of the map, write embedding_ with NumPy, pandas or polars"),
    "a page": (".html .htm", "actup.viewer.write_page writes pages"),
    "a model": (".actup", "save() of an estimator writes models"),
    "an ONNX network": (".onnx", "to_onnx() of ParametricUMAP writes networks"),
}


def read_path(path: Any, name: str = "path") -> str:
    """A path as text; errors name the parameter of what no file system takes."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise WrongType(
            f"{name}={reprlib.repr(path)} is no path: give text, bytes or an object of pathlib"
        ) from None
    try:
        if b"\0" not in os.fsencode(text):
            return text
    except UnicodeEncodeError:
        pass
    raise ValueError(f"{name}={text!r} has characters that no path can have: leave them out")


def output_path(path: str | os.PathLike[str], writes: str, *suffixes: str) -> Path:
    """Return the path of a file to write.

    Parameters
    ----------
    path : str or path-like
        Without a suffix, or with one that is not well-known, it is taken as it is.
    writes : str
        What is written, for the error.
    *suffixes : str
        The usual suffixes of such a file, the first of which the error recommends.

    Raises
    ------
    ValueError
        If the suffix names another kind of file, which no program could read as such.
    """
    path = Path(read_path(path))
    suffix = path.suffix.lower()
    if suffix in suffixes:
        return path
    for kind, (known, remedy) in _KINDS.items():
        if suffix in known.split():
            raise ValueError(
                f"path={str(path)!r} has the suffix of {kind}, but {writes} is written: give a path that "
                f"ends in {suffixes[0]}; {remedy}"
            )
    return path
