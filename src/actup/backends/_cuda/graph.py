"""From neighbours to the symmetric graph, on the GPU; the same rows as the CPU's, to the last few bits."""

from __future__ import annotations

import math
from concurrent.futures import Future

import numpy as np

from actup.backends._cuda.arrays import host_graph, to_device
from actup.backends._cuda.compile import cupy, load_kernels, request_kernels
from actup.graph._records import Graph, Neighbors, on_gpu
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity, Distance, Symmetrization

# As the enums of bandwidth.h number them; "gaussian" takes any number of perplexities.
_AFFINITIES = {
    Affinity.UMAP: 0,
    Affinity.GAUSSIAN: 1,
    Affinity.MULTISCALE: 1,
    Affinity.FIXED_SIGMA: 2,
    Affinity.UNIFORM: 3,
}
_PARTIAL_SUMS = 1024  # as in affinities.cu
_SYMMETRIZATIONS = {Symmetrization.UMAP: 0, Symmetrization.TSNE: 1}

# The bits that affinities.cu reports, and what they mean.
_OTHER_ROWS = 2
_FAULTS = {
    1: "neighbour distances must be finite, at least 0 and ascending in every row",
    _OTHER_ROWS: "neighbour ids must be other rows of the data: from 0 to n - 1, not the row's own",
    4: "neighbour ids must differ within a row",
}


def affinity_graph(neighbors: Neighbors, recipe: Recipe, threads: int = 0) -> Graph:
    """The symmetric graph of similarities p(i,j).

    Parameters
    ----------
    neighbors : Neighbors
        On the device or not; the result lies where they do.
    recipe : Recipe
        Its ``affinity``, ``distance``, ``symmetrization``, ``scales()`` and ``sigma``.
    threads : int
        Not used: here because the other backends have it.
    """
    ids, weights = directed_weights(neighbors, recipe)
    graph = symmetric_graph(ids, weights, recipe.symmetrization)
    return graph if on_gpu(neighbors.indices) else host_graph(graph)


def request_affinities(recipe: Recipe, k: int) -> Future:
    """The kernels that make a recipe's similarities of k neighbours."""
    return request_kernels(
        "affinities",
        AFFINITY=_AFFINITIES[recipe.affinity],
        PER_LANE=math.ceil(k / 32),
        PSEUDO=int(recipe.distance is Distance.PSEUDO),
    )


def request_merge(symmetrization: Symmetrization) -> Future:
    """The kernels that make rows symmetric."""
    return request_kernels("merge", SYMMETRIZATION=_SYMMETRIZATIONS[symmetrization])


def directed_weights(neighbors: Neighbors, recipe: Recipe, *, of_new_rows: bool = False):
    """p(j|i) of every neighbour: ids ascending in every row, and weights; both (n, k) on the device.

    The ids of new rows' neighbours name other points than the rows themselves.
    """
    cp = cupy()
    ids, distances = to_device(neighbors.indices, np.int32), to_device(neighbors.distances)
    n, k = ids.shape
    sorted_ids, weights = cp.empty_like(ids), cp.empty_like(distances)
    if not k:
        return sorted_ids, weights
    widths = recipe.scales() if recipe.affinity is not Affinity.FIXED_SIGMA else (recipe.sigma,)
    faults = cp.zeros(1, cp.int32)
    kernels = request_affinities(recipe, k).result()
    totals = cp.empty(_PARTIAL_SUMS, cp.float64)
    kernels.get_function("sum_distances")(
        (_PARTIAL_SUMS,), (256,), (distances, np.int64(distances.size), totals)
    )
    arguments = (
        ids, distances, np.int32(n), np.int32(k), totals, cp.asarray(np.array(widths or (0.0,))),
        np.int32(len(widths)), sorted_ids, weights, faults,
    )  # fmt: skip
    kernels.get_function("affinities")((math.ceil(n / 8),), (256,), arguments)
    found = int(faults.get()[0])
    for bit, message in _FAULTS.items():
        if found & bit and not (of_new_rows and bit == _OTHER_ROWS):
            raise ValueError(message)
    return sorted_ids, weights


def symmetric_graph(ids, weights, symmetrization: Symmetrization) -> Graph:
    """Both directions of every edge in one symmetric row.

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
    kernels.get_function("target_offsets")(
        (math.ceil((targets.size + 1) / 256),),
        (256,),
        (targets, incoming, np.int64(targets.size), np.int32(n), in_offsets),
    )
    lists = (ids, weights, np.int32(n), np.int32(k), in_offsets, incoming)
    grid, block = (math.ceil(n / 128),), (128,)
    counts = cp.empty(n, cp.int64)
    kernels.get_function("count_edges")(grid, block, (*lists, counts))
    offsets = cp.zeros(n + 1, cp.int64)
    cp.cumsum(counts, out=offsets[1:])
    edges = int(offsets[n:].get()[0])
    merged_ids, merged_weights = cp.empty(edges, cp.int32), cp.empty(edges, cp.float32)
    kernels.get_function("write_edges")(grid, block, (*lists, offsets, merged_ids, merged_weights))
    return Graph(offsets, merged_ids, merged_weights)


def pieces(graph: Graph):
    """The connected pieces of a graph on the device: their number, and the smallest point of each point's."""
    cp = cupy()
    n = len(graph)
    parent = cp.empty(n, cp.int32)
    count = cp.zeros(1, cp.int32)
    kernels = load_kernels("spectrum")
    kernels.get_function("name_points")((math.ceil(n / 256),), (256,), (np.int32(n), parent))
    kernels.get_function("join_pieces")(
        (math.ceil(n / 32),), (256,), (graph.offsets, graph.indices, np.int32(n), parent)
    )
    kernels.get_function("flatten_pieces")((math.ceil(n / 256),), (256,), (np.int32(n), parent, count))
    return int(count.get()[0]), parent
