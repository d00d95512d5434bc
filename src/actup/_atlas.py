"""write_atlas(): a map with its data and neighbours as the parquet file that Embedding Atlas shows."""

from __future__ import annotations

import os
import reprlib
from numbers import Integral
from typing import Any

import numpy as np

from actup._device import to_host
from actup._maps import map_of
from actup._output_path import output_path
from actup._pipeline import Embedding
from actup._whole_file import whole_file
from actup.estimators._base import Embedder
from actup.graph._records import Neighbors, read_lists
from actup.neighbors import nearest_neighbors


def write_atlas(
    path: str | os.PathLike[str],
    embedding: Any,
    frame: Any = None,
    *,
    neighbors: Any = None,
    x: str = "projection_x",
    y: str = "projection_y",
    neighbors_column: str = "neighbors",
) -> None:
    """Write a map as a parquet file for Embedding Atlas, with the rows it shows.

    ``embedding-atlas FILE --x projection_x --y projection_y --neighbors neighbors`` then opens the map as it
    is, without computing another one. The file is written as a whole or not at all. Needs the package
    pyarrow (``pip install 'actup[parquet]'``).

    Parameters
    ----------
    path : str or path-like
        The file, which ends in ".parquet"; one that exists is replaced, missing folders are created.
    embedding : array-like of shape (n, 2), fitted estimator, or result of ``actup.embed``
        The map.
    frame : DataFrame of pandas or polars, pyarrow Table or dict of columns, default=None
        What to show of every point: n rows, in the order of the map. Anything else that ``pyarrow.table``
        takes will do, such as record batches and relations of DuckDB.
    neighbors : Neighbors, tuple of (indices, distances), int or None, default=None
        The nearest other points of every point. An int: search that many among the data that an estimator was
        fitted to. None: those of a result of ``actup.embed``; for other maps no neighbours are written.
    x, y : str, default="projection_x", "projection_y"
        The names of the columns of coordinates.
    neighbors_column : str, default="neighbors"
        The name of the column of neighbours: structs of the lists "ids", numbered from 0, and "distances".
        As in Embedding Atlas' own files, a point is the first of its own neighbours.

    See Also
    --------
    actup.viewer.write_page : A page of its own, which needs no server.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow.parquet
    >>> from sklearn.datasets import load_digits
    >>> import actup
    >>> X, y = load_digits(return_X_y=True)
    >>> model = actup.UMAP(n_epochs=20, random_state=0).fit(X[:200])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "digits.parquet"
    ...     actup.write_atlas(path, model, {"digit": y[:200]}, neighbors=5)
    ...     table = pyarrow.parquet.read_table(path)
    >>> table.column_names, table.num_rows
    (['digit', 'projection_x', 'projection_y', 'neighbors'], 200)
    """
    path = output_path(path, "a parquet file", ".parquet", ".pq")
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError("write_atlas needs the package pyarrow: pip install 'actup[parquet]'") from error
    places = _read_map(embedding)
    lists = _read_neighbors(embedding, neighbors, len(places))
    table = _as_table(pa, frame, len(places))
    for name, value in (("x", x), ("y", y), ("neighbors_column", neighbors_column)):
        if not isinstance(value, str) or not _is_unicode(value):
            raise ValueError(f"{name}={reprlib.repr(value)} must be a text that UTF-8 can hold")
    columns = {x: pa.array(places[:, 0]), y: pa.array(places[:, 1])}
    if lists is not None:
        columns[neighbors_column] = _structs(pa, lists)
    if len(columns) < 2 + (lists is not None):
        raise ValueError(f"x={x!r}, y={y!r}, neighbors_column={neighbors_column!r} must be different names")
    if table is None:
        table = pa.table(columns)
    else:
        for name, values in columns.items():
            if name in table.column_names:
                raise ValueError(f"frame has a column {name!r} already: drop it, or give another name")
            table = table.append_column(name, values)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        try:
            parquet.write_table(table, unfinished)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise _unfit_columns(error) from None


def _read_map(embedding: Any) -> np.ndarray:
    """The coordinates of a map in two dimensions, as float32."""
    try:
        places = np.asarray(to_host(map_of(embedding, "embedding")))
    except ValueError:
        raise ValueError("embedding is no table of numbers: give (n, 2) real numbers") from None
    if places.ndim != 2 or places.shape[1] != 2 or places.dtype.kind not in "biuf":
        raise ValueError(
            f"embedding has shape {places.shape} of {places.dtype}, but Embedding Atlas shows maps of two "
            "dimensions: give (n, 2) real numbers"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        places = places.astype(np.float32)
    if not np.isfinite(places).all():
        row = int(np.isfinite(places).all(axis=1).argmin())
        raise ValueError(f"embedding has NaN or values too large for float32 in row {row}: leave it out")
    return places


def _read_neighbors(embedding: Any, given: Any, n: int) -> Neighbors | None:
    """The lists of neighbours to write, or None."""
    if isinstance(given, Integral) and not isinstance(given, bool):
        given = _search(embedding, int(given))
    elif given is None and isinstance(embedding, Embedding):
        given = embedding.neighbors
    if given is None:
        return None
    if isinstance(given, tuple | list) and len(given) in (2, 3):
        given = read_lists(given[0], given[1], ("neighbors[0]", "neighbors[1]"))
    if not isinstance(given, Neighbors):
        raise TypeError(
            f"neighbors={reprlib.repr(given)} must be Neighbors, (indices, distances) or a number"
        )
    ids = to_host(given.indices)
    if len(ids) != n:
        raise ValueError(f"neighbors has {len(ids)} rows, but the map has {n} points")
    if ids.size and not 0 <= ids.min() <= ids.max() < n:
        raise ValueError(f"neighbors has ids {ids.min()} to {ids.max()}, but the map has points 0 to {n - 1}")
    return given


def _search(embedding: Any, n_neighbors: int) -> Neighbors:
    """The nearest neighbours among the data that an estimator was fitted to."""
    rows = embedding._training.rows if isinstance(embedding, Embedder) else None
    if rows is None:
        raise ValueError(
            f"neighbors={n_neighbors} needs an estimator that was fitted to rows: give their neighbours, "
            f"neighbors=actup.nearest_neighbors(X, {n_neighbors})"
        )
    recipe = embedding.recipe_
    return nearest_neighbors(
        to_host(rows),
        n_neighbors,
        metric=recipe.metric,
        metric_kwds=dict(recipe.metric_kwds),
        n_jobs=embedding.n_jobs,
    )


def _as_table(pa: Any, frame: Any, n: int) -> Any:
    """The caller's columns as a pyarrow Table of n rows; None if there are none."""
    if frame is None:
        return None
    if hasattr(frame, "iloc"):  # of pandas
        table = _read_pandas(pa, frame)
    elif hasattr(frame, "to_arrow"):  # of polars
        table = frame.to_arrow()
    else:
        table = _read_columns(pa, frame) if isinstance(frame, dict) else _read_arrow(pa, frame)
    if table.num_rows != n:
        raise ValueError(f"frame has {table.num_rows} rows, but the map has {n} points")
    return table


def _read_pandas(pa: Any, frame: Any) -> Any:
    """A data frame of pandas as a pyarrow Table."""
    try:
        return pa.Table.from_pandas(frame)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _unfit_columns(error) from None


def _unfit_columns(error: Exception) -> ValueError:
    reason = ": ".join(str(part) for part in error.args)
    return ValueError(
        f"frame has columns that parquet cannot hold ({reason}): give each of them values of one type, such "
        "as texts"
    )


def _read_arrow(pa: Any, frame: Any) -> Any:
    """Columns of any kind that pyarrow reads, such as record batches, as a pyarrow Table."""
    try:
        return pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise TypeError(
            f"frame is a {type(frame).__name__}: give a data frame, a pyarrow Table or a dict of columns "
            f"(pyarrow says: {error})"
        ) from None


def _read_columns(pa: Any, columns: dict[Any, Any]) -> Any:
    """A dict of columns as a pyarrow Table."""
    arrays = {}
    for name, values in columns.items():
        if not isinstance(name, str) or not _is_unicode(name):
            raise ValueError(f"frame has a column {name!r}: a name must be a text that UTF-8 can hold")
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise ValueError(
                f"frame has a column {name!r} that parquet cannot hold ({error}): give values of one type, "
                "one for each point"
            ) from None
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"frame has columns of different lengths: {lengths}")
    return pa.table(arrays)


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: not one with half of a surrogate pair."""
    return text.isascii() or text.encode("utf-8", "replace").decode("utf-8") == text


def _structs(pa: Any, neighbors: Neighbors) -> Any:
    """Lists of neighbours as a column of structs {"ids", "distances"}, each point before its neighbours."""
    own = np.arange(len(neighbors))[:, None]
    ids = np.hstack([own, to_host(neighbors.indices)])
    distances = np.hstack([np.zeros_like(own, np.float32), to_host(neighbors.distances)])
    offsets = pa.array(np.arange(0, ids.size + 1, ids.shape[1]), pa.int64())
    fields = {"ids": ids.ravel(), "distances": distances.ravel()}
    lists = [pa.LargeListArray.from_arrays(offsets, pa.array(values)) for values in fields.values()]
    return pa.StructArray.from_arrays(lists, names=list(fields))
