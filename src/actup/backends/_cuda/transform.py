"""New rows on a finished map, on the GPU: their neighbours among the training rows, and their placement."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from actup._device import on_gpu
from actup._typing import Array
from actup.backends._cuda.arrays import free_bytes, to_device, to_host
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.graph import directed_weights
from actup.backends._cuda.launch import WARP, launch
from actup.backends._cuda.neighbors import ANGULAR, GPU_METRICS, comparable_rows
from actup.backends._cuda.scan import MAX_SCAN_K, scan
from actup.backends._cuda.state import force_macros, upload
from actup.graph._records import Neighbors
from actup.recipe._recipe import Recipe
from actup.transform._placement import Placement, check_ids

_CHUNK_ROWS = 16_384  # new rows that are searched at a time
_MAX_MEMORY_SHARE = 0.6  # of the free memory, for two copies of X

_DTYPES = {"int": np.int32, "bool": np.int32, "float": np.float32}
_PLACEMENT = np.dtype(  # the struct of _native/transform/placement.h, field by field
    [
        ("seed", np.uint64),
        ("curve", np.float32, 3),
        *((field.name, _DTYPES[str(field.type)]) for field in fields(Placement)[2:]),
    ]
)


def query_neighbors(X: Array, X_new: Array, k: int, metric: str) -> Neighbors | None:
    """The k rows of X nearest to every row of X_new, by comparing all pairs in float32.

    Parameters
    ----------
    X : array of shape (n, columns)
        On the device or the host.
    X_new : cupy.ndarray of shape (m, columns), float32
    k : int
        From 1 to n.
    metric : str or callable

    Returns
    -------
    Neighbors or None
        On the device. None if this backend does not search by the metric, or if two copies of X do not fit
        into memory.
    """
    cp = cupy()
    n, columns = X.shape
    if metric not in GPU_METRICS or metric == "inner_product" or k > MAX_SCAN_K:
        return None
    if 8 * n * (columns + 1) > _MAX_MEMORY_SHARE * free_bytes():
        return None
    angular = metric in ANGULAR
    chunk = min(len(X_new), _CHUNK_ROWS)
    points = cp.empty((n + chunk, columns + angular), np.float32)  # scan.cu reads all rows from one array
    points[:n] = comparable_rows(to_device(X), metric)
    ids, sums = cp.empty((len(X_new), k), np.int32), cp.empty((len(X_new), k), np.float32)
    for begin in range(0, len(X_new), chunk):
        part = slice(begin, min(begin + chunk, len(X_new)))
        to = cp.arange(part.stop - begin, dtype=np.int32)
        points[n : n + len(to)] = comparable_rows(to_device(X_new[part]), metric)
        rows = to + np.int32(n)
        scan(points, rows, metric, ids[part], sums[part], bounded=False, points=n, to=to)
    distances = cp.sqrt(sums) if metric == "euclidean" else sums / 2 if angular else sums
    return Neighbors(ids, distances, "exact", 1.0)


def place_rows(
    neighbors: Neighbors, embedding: Array, recipe: Recipe, placement: Placement, threads: int = 0
) -> Array:
    """Place new rows on a map; see ``actup.backends``. The result is on the device if the neighbours are."""
    cp = cupy()
    check_ids(neighbors, len(embedding))
    ids, weights = directed_weights(neighbors, recipe, of_new_rows=True)
    points = to_device(embedding)
    places = cp.empty((len(ids), points.shape[1]), np.float32)
    macros = {**force_macros(recipe), "NORMALIZED": int(recipe.normalized)}
    kernel = load_kernels("transform", fast_math=True, **macros).get_function("place_rows")
    size = (np.int32(len(ids)), np.int32(ids.shape[1]))
    arguments = (points, np.int64(len(points)), ids, weights, *size, upload(_record(placement)), places)
    launch(kernel, WARP * len(ids), *arguments)
    return places if on_gpu(neighbors.indices) else to_host(places)


def _record(placement: Placement) -> np.ndarray:
    """The placement as the struct that the kernel reads."""
    record = np.zeros((), _PLACEMENT)
    for field in fields(Placement):
        record[field.name] = getattr(placement, field.name)
    return record
