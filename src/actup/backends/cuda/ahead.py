"""The kernels that a run will need: asked for at its beginning, compiled by several threads while it goes on.

What is missing here is compiled when it is first used, so that a run only waits for it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from actup.backends.cuda.batch import request_batch
from actup.backends.cuda.compile import compilers, cupy, request_kernels
from actup.backends.cuda.graph import request_affinities, request_merge
from actup.backends.cuda.in_place import request_in_place
from actup.backends.cuda.mesh import request_mesh
from actup.backends.cuda.neighbors import METRICS, compared_by_candidates, make_plan
from actup.recipe import Recipe
from actup.switches import Initialization, Repulsion, Update


def compile_ahead(recipe: Recipe, n: int, columns: int) -> None:
    """Begin to compile what a run of a recipe needs.

    Parameters
    ----------
    recipe : Recipe
    n, columns : int
        The shape of X; 0 columns where neighbours are known.
    """
    if columns:
        k = recipe.neighbors_searched(n)
        if recipe.metric in METRICS and compared_by_candidates(n, k, recipe.metric):
            make_plan(columns, k).request(columns)
        request_kernels("rows")
        request_affinities(recipe, k)
        request_merge(recipe.symmetrization)
    if recipe.initialization in (Initialization.PCA, Initialization.SPECTRAL):
        request_kernels("spectrum")
        request_kernels("start")
    request_kernels("layout_graph")
    if recipe.update is Update.IN_PLACE:
        request_in_place(recipe)
        request_kernels("matchings")
    else:
        repulsion = recipe.repulsion_for(n)
        request_batch(recipe, repulsion is Repulsion.MESH, repulsion is Repulsion.SAMPLED)
        if repulsion is Repulsion.MESH:
            request_mesh(recipe)
    _request_of_cupy(cupy().cuda.runtime.getDevice())


@cache
def _request_of_cupy(device: int) -> None:
    """Have CuPy compile what it is used for: copies between types, in sorting and in running sums."""
    cp = cupy()

    def use() -> None:
        with cp.cuda.Device(device):
            counts, sums = cp.zeros(2, np.int32), cp.zeros(3, np.int64)
            cp.argsort(counts)
            cp.cumsum(sums[:2], out=sums[1:])
            numbers = cp.zeros((2, 2), np.float32)
            numbers.astype(np.float64)
            cp.sort(numbers, axis=1)
            cp.argsort(cp.zeros(2, np.uint64))
            cp.cumsum(counts, dtype=np.int64, out=sums[1:])

    compilers().submit(use)
