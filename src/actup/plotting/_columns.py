"""Read what a picture is made of: the map of a model or table, and one or several columns of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from actup._maps import map_of, read_map
from actup.neighbors._tables import arrow_matrix, as_table, frame_columns, is_arrow_table, is_frame


def read_model_or_map(model_or_Y: Any) -> np.ndarray:
    """Return the map of a model or result, an array or a data frame as float64, shape (n, n_components).

    Points without a place are NaN.
    """
    if isinstance(model_or_Y, Mapping):
        raise TypeError(
            "Y is a mapping: actup.plot draws one map, actup.plotting.plot_gallery a mapping of names to maps"
        )
    Y = as_table(map_of(model_or_Y), "Y")
    if is_frame(Y):
        Y = arrow_matrix(Y) if is_arrow_table(Y) else np.asarray(Y)
        if Y.dtype == object or Y.dtype.kind not in "iufb":
            raise TypeError(
                "Y is a data frame with columns that are no numbers: give those of the map, such as "
                "frame[['x', 'y']], and a column of labels apart"
            )
    return read_map(Y, allow_gaps=True)


def read_columns(columns: Any, n: int) -> dict[str, Any]:
    """Return columns of labels or values by name; one column alone has its own name, or "".

    Parameters
    ----------
    columns : array-like of shape (n,), mapping, data frame, list of array-likes, or None
    n : int
        Number of points.
    """
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return {str(name): column for name, column in columns.items()}
    if is_frame(columns):
        return {str(name): column for name, column in frame_columns(as_table(columns, "labels"))}
    if isinstance(columns, list | tuple) and columns and all(_is_column(column, n) for column in columns):
        return {
            str(getattr(column, "name", None) or index + 1): column for index, column in enumerate(columns)
        }
    return {str(getattr(columns, "name", None) or ""): columns}


def _is_column(column: Any, n: int) -> bool:
    return not isinstance(column, str | bytes) and hasattr(column, "__len__") and len(column) == n
