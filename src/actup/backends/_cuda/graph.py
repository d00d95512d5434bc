"""From neighbours to the symmetric graph on the GPU; equal to the CPU's result up to rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actup._device import array_module, on_gpu
from actup._engine import engine
from actup._threads import BackgroundCall, count_threads
from actup._typing import Array
from actup.backends._cpu import affinity_graph as affinity_graph_on_host
from actup.backends._cuda.arrays import device_graph, host_graph, host_neighbors, to_device
from actup.backends._cuda.compile import cupy, load_kernels, request_kernels
from actup.backends._cuda.constants import (
    DISTANCE_FAULT,
    DUPLICATE_FAULT,
    ID_FAULT,
    PANEL,
    PARTIAL_SUMS,
    THREADS,
)
from actup.backends._cuda.launch import WARP, launch
from actup.graph._memberships import row_affinities
from actup.graph._records import Graph, Neighbors
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity, Distance, Symmetrization

_MERGE_THREADS = 128  # per thread block; a thread merges the two lists of a row

_FAULTS = {
    DISTANCE_FAULT: "neighbour distances must be finite, at least 0 and ascending in every row",
    ID_FAULT: "neighbour ids must be other rows of the data: from 0 to n - 1, not the row's own",
    DUPLICATE_FAULT: "neighbour ids must differ within a row",
}


def affinity_graph(neighbors: Neighbors, recipe: Recipe, threads: int = 0) -> Graph:
    """The symmetric graph of similarities p(i,j).

    Parameters
    ----------
    neighbors : Neighbors
        On the device or the host; so is the result.
    recipe : Recipe
        Its ``affinity``, ``distance``, ``symmetrization``, ``scales()`` and ``sigma``. The kernels do not
        have other values of ``set_op_mix_ratio`` and ``local_connectivity`` than 1, nor disconnected
        neighbours: the CPU computes such graphs.
    threads : int
        For the graphs that the CPU computes.
    """
    if recipe.union_share() != 1 or _subtracts_other(recipe) or _has_disconnected(neighbors):
        on_host = affinity_graph_on_host(host_neighbors(neighbors), recipe, threads)
        return device_graph(on_host) if on_gpu(neighbors.indices) else on_host
    ids, weights = directed_weights(neighbors, recipe)
    graph = symmetric_graph(ids, weights, recipe.symmetrization)
    return graph if on_gpu(neighbors.indices) else host_graph(graph)


def _subtracts_other(recipe: Recipe) -> bool:
    """Whether the affinity subtracts another distance than the nearest, which the kernels do not."""
    return recipe.affinity is Affinity.UMAP and recipe.subtracted_neighbor() != 1


def _has_disconnected(neighbors: Neighbors) -> bool:
    """Whether a row has neighbours at infinite distances, which come last."""
    return bool(array_module(neighbors.distances).isinf(neighbors.distances[:, -1:]).any())


def request_affinities(recipe: Recipe, k: int) -> BackgroundCall[Any]:
    """Start to compile the kernels that compute a recipe's similarities of k neighbours."""
    several = recipe.affinity is Affinity.MULTISCALE  # the kernel's "gaussian" takes any number of scales
    affinity = Affinity.GAUSSIAN if several else recipe.affinity
    return request_kernels(
        "affinities",
        AFFINITY=engine.Affinity[affinity.value].value,
        PER_LANE=math.ceil(k / WARP),
        PSEUDO=int(recipe.distance is Distance.PSEUDO),
    )


def request_merge(symmetrization: Symmetrization) -> BackgroundCall[Any]:
    """Start to compile the kernels that make a graph symmetric."""
    return request_kernels("merge", SYMMETRIZATION=engine.Symmetrization[symmetrization.value].value)


def directed_weights(
    neighbors: Neighbors, recipe: Recipe, *, of_new_rows: bool = False
) -> tuple[Array, Array]:
    """p(j|i) of every neighbour: ids ascending in every row, and weights; both (n, k) on the device.

    Neighbours of new rows may have the number of the row itself, because they number the training rows.
    """
    cp = cupy()
    ids, distances = to_device(neighbors.indices, np.int32), to_device(neighbors.distances)
    n, k = ids.shape
    sorted_ids, weights = cp.empty_like(ids), cp.empty_like(distances)
    if not k:
        return sorted_ids, weights
    if _subtracts_other(recipe):
        on_host = cp.asarray(row_affinities(host_neighbors(neighbors).distances, recipe, count_threads(None)))
        order = cp.argsort(ids, axis=1)
        return cp.take_along_axis(ids, order, axis=1), cp.take_along_axis(on_host, order, axis=1)
    widths = recipe.scales() if recipe.affinity is not Affinity.FIXED_SIGMA else (recipe.sigma,)
    faults = cp.zeros(1, cp.int32)
    kernels = request_affinities(recipe, k).result()
    totals = cp.empty(PARTIAL_SUMS, cp.float64)
    kernels.get_function("sum_distances")(
        (PARTIAL_SUMS,), (THREADS,), (distances, np.int64(distances.size), totals)
    )
    arguments = (
        ids, distances, np.int32(n), np.int32(k), totals, cp.asarray(np.array(widths or (0.0,))),
        np.int32(len(widths)), sorted_ids, weights, faults,
    )  # fmt: skip
    launch(kernels.get_function("affinities"), WARP * n, *arguments)
    found = int(faults.get()[0])
    for fault, message in _FAULTS.items():
        if found & fault and not (of_new_rows and fault == ID_FAULT):
            raise ValueError(message)
    return sorted_ids, weights


def symmetric_graph(ids: Array, weights: Array, symmetrization: Symmetrization) -> Graph:
    """Merge both directions of every edge into one symmetric graph.

    Parameters
    ----------
    ids : cupy.ndarray of shape (n, k), int32
        Ascending in every row.
    weights : cupy.ndarray of shape (n, k), float32
    symmetrization : Symmetrization
    """
    cp = cupy()
    n, k = ids.shape
    targets = ids.ravel()
    incoming = cp.argsort(targets, kind="stable")  # edges by target, then by source: rows were in order
    kernels = request_merge(symmetrization).result()
    in_offsets = cp.empty(n + 1, cp.int64)
    size = (np.int64(targets.size), np.int32(n))
    launch(kernels.get_function("target_offsets"), targets.size + 1, targets, incoming, *size, in_offsets)
    lists = (ids, weights, np.int32(n), np.int32(k), in_offsets, incoming)
    counts = cp.empty(n, cp.int64)
    launch(kernels.get_function("count_edges"), n, *lists, counts, threads=_MERGE_THREADS)
    offsets = cp.zeros(n + 1, cp.int64)
    cp.cumsum(counts, out=offsets[1:])
    edges = int(offsets[n:].get()[0])
    merged = (cp.empty(edges, cp.int32), cp.empty(edges, cp.float32))
    launch(kernels.get_function("write_edges"), n, *lists, offsets, *merged, threads=_MERGE_THREADS)
    return Graph(offsets, *merged)


def connected_components(graph: Graph) -> tuple[int, Array]:
    """The number of components of a graph on the device, and the component of every point.

    Components are numbered by their smallest point, as SciPy does: ``labels`` (n,) from 0 to the number - 1.
    """
    cp = cupy()
    n = len(graph)
    roots = cp.empty(n, cp.int32)
    count = cp.zeros(1, cp.int32)
    kernels = load_kernels("spectrum")
    launch(kernels.get_function("number_points"), n, np.int32(n), roots)
    join = kernels.get_function("join_components")
    launch(join, PANEL * n, graph.offsets, graph.indices, np.int32(n), roots)
    launch(kernels.get_function("flatten_components"), n, np.int32(n), roots, count)
    found = int(count.get()[0])
    return found, roots if found == 1 else cp.searchsorted(cp.unique(roots), roots)
