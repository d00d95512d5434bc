"""New rows on a finished map, on the GPU: their neighbours among the training data, and a place for each."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from actup.backends._cuda.arrays import free_bytes, to_device, to_host
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.graph import directed_weights
from actup.backends._cuda.launch import start
from actup.backends._cuda.neighbors import directions, scan
from actup.backends._cuda.state import force_macros
from actup.graph._records import Neighbors, on_gpu
from actup.recipe._recipe import Recipe
from actup.transform._placement import Placement

# The metrics that are searched here, as scan.cu numbers their sums.
_SCANNED = {"euclidean": 0, "cosine": 0, "correlation": 0, "manhattan": 1, "chebyshev": 2}
_MOST_SCANNED = 2500  # neighbours whose lists fit in a block's memory
_ROWS_AT_ONCE = 16_384
_SHARE = 0.6  # of the free memory that a search may take

_TYPES = {"int": np.int32, "bool": np.int32, "float": np.float32}
_PLACEMENT = np.dtype(  # the struct of _native/placement.h
    [
        ("seed", np.uint64),
        ("curve", np.float32, 3),
        *((field.name, _TYPES[field.type]) for field in fields(Placement)[2:]),
    ]
)


def query_neighbors(X, X_new, k: int, metric: str) -> Neighbors | None:
    """The k rows of X nearest to every row of X_new, by looking at all of them in float32.

    Parameters
    ----------
    X : array of shape (n, columns)
        On the device or not.
    X_new : cupy.ndarray of shape (m, columns), float32
    k : int
        From 1 to n.
    metric : str or callable

    Returns
    -------
    Neighbors or None
        On the device. None if the metric is not searched here, or if there is no room for two copies of X.
    """
    cp = cupy()
    n, columns = X.shape
    if metric not in _SCANNED or k > _MOST_SCANNED or 8 * n * (columns + 1) > _SHARE * free_bytes():
        return None
    angular = metric in ("cosine", "correlation")

    def compared(rows):
        rows = to_device(rows)
        return directions(rows, metric == "correlation") if angular else rows

    block = min(len(X_new), _ROWS_AT_ONCE)
    points = cp.empty((n + block, columns + angular), np.float32)  # scan.cu reads all rows from one array
    points[:n] = compared(X)
    ids, sums = cp.empty((len(X_new), k), np.int32), cp.empty((len(X_new), k), np.float32)
    for begin in range(0, len(X_new), block):
        part = slice(begin, min(begin + block, len(X_new)))
        to = cp.arange(part.stop - begin, dtype=np.int32)
        points[n : n + len(to)] = compared(X_new[part])
        rows = to + np.int32(n)
        scan(points, rows, _SCANNED[metric], ids[part], sums[part], bounded=False, points=n, to=to)
    distances = cp.sqrt(sums) if metric == "euclidean" else sums / 2 if angular else sums
    return Neighbors(ids, distances, engine="exact", recall=1.0)


def place_rows(neighbors: Neighbors, embedding, recipe: Recipe, placement: Placement, threads: int = 0):
    """Where new rows lie on a map; see ``actup.backends``. The result lies where the neighbours do."""
    cp = cupy()
    ids, weights = directed_weights(neighbors, recipe, of_new_rows=True)
    points = to_device(embedding)
    places = cp.empty((len(ids), points.shape[1]), np.float32)
    macros = {**force_macros(recipe), "NORMALIZED": int(recipe.normalized)}
    kernel = load_kernels("transform", fast_math=True, **macros).get_function("place_rows")
    size = (np.int32(len(ids)), np.int32(ids.shape[1]))
    settings = cp.asarray(np.frombuffer(_record(placement).tobytes(), np.uint8))
    arguments = (points, np.int64(len(points)), ids, weights, *size, settings, places)
    start(kernel, 32 * len(ids), *arguments)
    return places if on_gpu(neighbors.indices) else to_host(places)


def _record(placement: Placement) -> np.ndarray:
    record = np.zeros((), _PLACEMENT)
    for field in fields(Placement):
        record[field.name] = getattr(placement, field.name)
    return record
