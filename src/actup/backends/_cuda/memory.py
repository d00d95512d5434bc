"""The model of the GPU's memory: which arrays of a run are on the device at a time.

Names are those of the files of this folder. The search takes as much of the free memory as makes it fast
(``candidates.py``), so that its estimate depends on how much is free.
"""

from __future__ import annotations

from actup.backends._cuda.arrays import free_bytes
from actup.backends._cuda.candidates import make_plan, search_bytes, search_room
from actup.backends._cuda.cells import CHUNK_SCORES, count_cells
from actup.backends._cuda.neighbors import ANGULAR, GPU_METRICS, may_use_cells, uses_candidates
from actup.backends._cuda.subspace import block_width
from actup.backends._memory._map import mesh_lines
from actup.backends._memory._shape import Moment, RunShape, graph_bytes
from actup.recipe._switches import Initialization, Optimizer, Repulsion, Update
from actup.start._landmarks import LANDMARKS, uses_landmarks

_SORT_BYTES = 24.0  # of an edge while edges are sorted by target: keys and numbers, twice, and their result
_MESH_CELL_BYTES = 100.0  # cells, grids, spectra and influence, and what Fourier transforms take
_USUAL_PROBES = 8  # cells that a row is compared with; the data decide
_TREE_BYTES = 12.0  # of a point: nodes, and sums of q


def host_moments(shape: RunShape) -> dict[str, list[Moment]]:
    """What is in the host's memory: X, and what is copied back at the end."""
    data = shape.data()
    read = {"X in float32": 0.0 if shape.is_engine_type else 4.0 * shape.stored}
    results = shape.graph() | {"map": 8.0 * shape.recipe.n_components * shape.rows}
    return {
        "read": [data | read],
        "neighbors": [data],
        "graph": [data],
        "start": [data],
        "layout": [data | results | (shape.lists() if shape.keeps_neighbors else {})],
    }


def device_moments(shape: RunShape) -> dict[str, list[Moment]]:
    """What is on the device."""
    n, d, k = shape.rows, shape.recipe.n_components, shape.k
    rows: Moment = {"X": 0.0 if shape.sparse else float(shape.engine_bytes)}
    if shape.recipe.metric in ANGULAR:
        rows |= {"directions": 4.0 * n * (shape.columns + 1)}
    sorting = {"sorted lists": 8.0 * n * k, "edges by target": _SORT_BYTES * n * k, "counts": 24.0 * n}
    kept = rows | (shape.lists() if shape.keeps_neighbors else {})
    return {
        "read": [rows],
        "neighbors": [rows | shape.lists() | moment for moment in _search(shape)],
        "graph": [rows | shape.lists() | sorting | shape.graph()],
        "start": [kept | shape.graph() | moment for moment in _start(shape)],
        "layout": [kept | shape.graph() | {"start": 4.0 * d * n} | _layout(shape)],
    }


def _search(shape: RunShape) -> list[Moment]:
    metric, n, k = shape.recipe.metric, shape.rows, shape.k
    if metric not in GPU_METRICS or not shape.searches or not uses_candidates(n, k, str(metric)):
        return [{}]
    free = max(0.0, free_bytes() - shape.engine_bytes - 8.0 * n * k)
    if may_use_cells(n, shape.columns, k, str(metric), shape.recipe.recall):
        cells = count_cells(n)
        index = {"labels and order": 12.0 * n, "cells around cells": 16.0 * cells**2}
        plan = make_plan(shape.columns, k, in_cells=True)
        keys = {"keys": plan.needed_bytes_in_cells(n, 0)}
        searched = float(n) * (plan.row_bytes + _USUAL_PROBES * plan.query_bytes)
        candidates = {"queries and candidates": min(search_room(free), searched)}
        return [index | _scores(n, cells), index | keys | candidates]
    return [{"keys, queries and candidates": search_bytes(n, shape.columns, k, free)}]


def _scores(rows: int, centers: int) -> Moment:
    return {"distances to centres": 4.0 * min(CHUNK_SCORES, rows * centers)}


def _start(shape: RunShape) -> list[Moment]:
    n, d = shape.rows, shape.recipe.n_components
    moments: list[Moment] = [{"start, in double precision too": 24.0 * d * n}]
    if shape.has_start or shape.recipe.initialization is not Initialization.SPECTRAL:
        return moments
    if not shape.sparse and uses_landmarks(shape.recipe, n):
        return [*moments, {"landmarks of points": 12.0 * n} | _scores(n, LANDMARKS)]
    width = block_width(d + 1)
    vectors = {"blocks of vectors": 3 * 4.0 * width * n, "normalised weights": 4.0 * shape.edges}
    return [*moments, vectors | {"degrees": 16.0 * n}]


def _layout(shape: RunShape) -> Moment:
    recipe, n, d = shape.recipe, shape.rows, shape.recipe.n_components
    edges = graph_bytes(n, shape.edges)
    if recipe.update is Update.IN_PLACE:
        colouring = {"edges by colour": 3 * edges, "colours": 16.0 * n}
        return {"edges of the layout": edges, "points": 16.0 * d * n} | colouring
    arrays = {
        "edges of the layout": edges,
        "points, forces and steps": 16.0 * d * n,
        "order, labels, masses": 24.0 * n,
        "stiffness": 4.0 * n if recipe.optimizer is Optimizer.STIFFNESS else 0.0,
    }
    if recipe.repulsion_for(n) is Repulsion.MESH:
        arrays["mesh"] = _MESH_CELL_BYTES * mesh_lines(recipe, n) ** min(d, 2)
    if recipe.repulsion_for(n) is Repulsion.BARNES_HUT:
        arrays["tree"] = _TREE_BYTES * n
    return arrays
