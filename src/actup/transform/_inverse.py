"""Rows for places of a finished map: what data would lie there.

docs/layout.md, "Rows of places", is the specification.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from actup._device import to_host
from actup._engine import engine
from actup._typing import Array, Rows
from actup.neighbors._finite_values import Role
from actup.neighbors._metrics import compares_missing
from actup.neighbors._mixed_rows import is_text
from actup.neighbors._rows import is_engine_type, read_rows
from actup.neighbors._search import SearchOptions, make_search
from actup.recipe._output_metrics import EUCLIDEAN
from actup.recipe._recipe import Recipe
from actup.transform._new_rows import TrainingRows, check_map

# Chosen with benchmarks/inverse.py: fewer make rows noisy, more make them vague.
_NEIGHBORS = 30


def rows_of_places(
    training: TrainingRows, places: Any, embedding: Array, recipe: Recipe, threads: int
) -> np.ndarray:
    """The rows that would lie at places of the map of the training data.

    Around each place, rows are taken for a linear function of places, fitted to the training rows whose
    points are nearest to it. Each row depends on its place alone, and no value leaves the range that its
    column has among these training rows.

    Parameters
    ----------
    training : TrainingRows
    places : array-like of shape (m, n_components)
        Finite numbers.
    embedding : array of shape (n, n_components)
        The map of the training data; the caller may have assigned it.
    recipe : Recipe
        The recipe of the map.
    threads : int

    Returns
    -------
    ndarray of shape (m, features), float32
        Dense, also if the training rows are sparse.

    Raises
    ------
    TypeError
        If places are no numbers.
    ValueError
        If the model was fitted to distances instead of rows, or if places do not fit the map.
    """
    training.check_has_rows("inverse_transform", "fit the model to rows")
    points = np.ascontiguousarray(to_host(check_map(embedding, len(training), recipe.n_components)))
    wanted = _read_places(places, recipe.n_components)
    if (
        isinstance(recipe.output_metric, str) and recipe.output_metric != EUCLIDEAN
    ):  # near on the sphere is not near in longitudes
        metric = engine.OutputMetric[recipe.output_metric]
        points, wanted = (
            engine.output_coordinates(metric, part).astype(np.float32) for part in (points, wanted)
        )
    k = min(_NEIGHBORS, len(training))
    found = make_search(points, "euclidean", None, SearchOptions(), threads).query(wanted, k)
    if compares_missing(recipe.metric):
        _reject_gaps_and_text(to_host(training.rows), found.indices, recipe.metric)
    rows, used, ids = _rows_used(to_host(training.rows), found.indices)
    lists = (ids, found.distances, points[used], wanted)
    result: np.ndarray
    if issparse(rows):
        offsets, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        result = engine.sparse_rows_of_places(*lists, offsets, columns, rows.data, rows.shape[1], threads)
    else:
        result = engine.rows_of_places(*lists, rows, threads)
    return result


def _reject_gaps_and_text(rows: Rows, ids: np.ndarray, metric: Any) -> None:
    """Reject training rows of which no mean can be taken, because values are missing or text."""
    values = rows[np.unique(ids)].astype(np.float64)
    for kind, found in (("missing values", np.isnan(values)), ("text", is_text(values))):
        if found.any():
            column = int(found.any(axis=0).argmax())
            raise ValueError(
                f"inverse_transform gives numbers, but the training data have {kind} in column {column}, "
                f"which metric={metric!r} compares: no row lies between two of them. "
                "actup.NeighborIndex(model.embedding_).query(places, 5) finds the samples nearest to places"
            )


def _rows_used(rows: Rows, ids: np.ndarray) -> tuple[Rows, slice | np.ndarray, np.ndarray]:
    """Rows in a type that the engine reads, which rows of the data they are, and the ids among them.

    Dense rows of the engine's types are all of the data, without a copy. Of others, those that ids name are
    converted.
    """
    if not issparse(rows) and is_engine_type(rows):
        return rows, slice(None), ids
    used, renumbered = np.unique(ids, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):
        converted = rows[used].astype(np.float32)
    if not np.isfinite(converted.data if issparse(converted) else converted).all():
        raise ValueError(
            "inverse_transform gives float32, but the training data have larger values: divide them by the "
            "largest one and fit again"
        )
    return converted, used, renumbered.reshape(ids.shape).astype(np.int32)


def _read_places(places: Any, dimensions: int) -> np.ndarray:
    """Places as C-contiguous float32, one column per dimension of the map."""
    rows = read_rows(to_host(places), "euclidean", role=Role.PLACES)
    if issparse(rows):
        raise TypeError("X is sparse, but places on a map are dense: use X.toarray()")
    if rows.shape[1] != dimensions:
        raise ValueError(
            f"X has {rows.shape[1]} columns, but inverse_transform expects places on the map, which has "
            f"{dimensions} dimensions"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        read: np.ndarray = rows.astype(np.float32, copy=False)
    finite = np.isfinite(read).all(axis=1)
    if not finite.all():
        raise ValueError(f"X has values too large for float32 in row {int(finite.argmin())}")
    return read
