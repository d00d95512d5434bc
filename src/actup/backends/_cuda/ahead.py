"""Requests the kernels of a run when it begins, so that threads compile them while it goes on.

A kernel that is not requested here is compiled when it is first used, and the run waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from actup.backends._cuda.batch import request_batch
from actup.backends._cuda.candidates import make_plan
from actup.backends._cuda.compile import compilers, cupy, request_kernels
from actup.backends._cuda.graph import request_affinities, request_merge
from actup.backends._cuda.in_place import request_in_place
from actup.backends._cuda.mesh import new_fourier_plans, request_mesh
from actup.backends._cuda.neighbors import GPU_METRICS, may_use_cells, uses_candidates
from actup.backends._cuda.state import repulsion_on_gpu
from actup.backends._cuda.tree import request_tree
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Repulsion, Update
from actup.start._landmarks import LANDMARKS, landmark_recipe, uses_landmarks

_FIRST_GRID_SIDES = (512, 1024)  # of the grids that most runs transform first


def compile_common() -> None:
    """Start to compile the kernels that most runs need, while X is copied to the device."""
    for name in ("checks", "layout_graph", "rows", "start", "spectrum"):
        request_kernels(name)
    _warm_up_cupy(cupy().cuda.runtime.getDevice())


def compile_ahead(recipe: Recipe, n: int, columns: int) -> None:
    """Start to compile the kernels that a run of a recipe needs.

    Parameters
    ----------
    recipe : Recipe
    n, columns : int
        The shape of X; 0 columns if neighbours are given.
    """
    if columns:
        k = recipe.neighbors_searched(n)
        if recipe.metric in GPU_METRICS and uses_candidates(n, k, recipe.metric):
            make_plan(columns, k).request(columns)
            if may_use_cells(n, columns, k, recipe.metric, recipe.recall):
                make_plan(columns, k, in_cells=True).request(columns)
                request_kernels("cells")
        request_affinities(recipe, k)
        request_merge(recipe.symmetrization)
        if uses_landmarks(recipe, n):
            request_kernels("cells")
            compile_ahead(landmark_recipe(recipe.n_components), LANDMARKS, columns)
    if recipe.update is Update.IN_PLACE:
        request_in_place(recipe)
        request_kernels("matchings")
        return
    repulsion = repulsion_on_gpu(recipe, n)
    if repulsion is Repulsion.BARNES_HUT:
        request_tree(recipe)
    if repulsion is Repulsion.MESH:
        request_mesh(recipe)
        _warm_up_transforms(cupy().cuda.runtime.getDevice())
    request_batch(recipe, repulsion)


@cache
def _warm_up_cupy(device: int) -> None:
    """Make CuPy load and compile what a run uses of it: sorts, cumulative sums, type casts, products."""
    cp = cupy()

    def sort_edges() -> None:
        counts, sums = cp.zeros(2, np.int32), cp.zeros(3, np.int64)
        cp.argsort(counts)
        cp.cumsum(sums[:2], out=sums[1:])
        cp.cumsum(counts, dtype=np.int64, out=sums[1:])

    def find_eigenvectors() -> None:
        single = cp.zeros((2, 2), np.float32)
        double = single.astype(np.float64)
        double.T @ double
        single @ single

    def sort_numbers() -> None:
        cp.sort(cp.zeros((2, 2), np.float32), axis=1)
        cp.argsort(cp.zeros(2, np.uint64))

    for work in (sort_edges, find_eigenvectors, sort_numbers):
        compilers().submit(_on_device, device, work)


@cache
def _warm_up_transforms(device: int) -> None:
    """Make cuFFT load and compile what the first grids need."""

    def make_plans() -> None:
        for side in _FIRST_GRID_SIDES:
            new_fourier_plans(side, side)

    compilers().submit(_on_device, device, make_plans)


def _on_device(device: int, work: Callable[[], None]) -> None:
    with cupy().cuda.Device(device):
        work()
