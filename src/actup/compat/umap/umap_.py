"""``umap.umap_``: the class UMAP, and the functions that other programs import from here."""

# ruff: noqa: F401  (programs import these names from here)

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from actup.compat.umap import distances as dist
from actup.compat.umap import sparse
from actup.compat.umap._embedding import (
    find_ab_params,
    init_graph_transform,
    make_epochs_per_sample,
    noisy_scale_coords,
    simplicial_set_embedding,
)
from actup.compat.umap._estimator import UMAP
from actup.compat.umap._graph_algebra import (
    SMOOTH_K_TOLERANCE,
    discrete_metric_simplicial_set_intersection,
    fast_intersection,
    fast_metric_intersection,
    general_simplicial_set_intersection,
    general_simplicial_set_union,
    reprocess_row,
    reset_local_connectivity,
    reset_local_metrics,
)
from actup.compat.umap._graphs import (
    compute_membership_strengths,
    fuzzy_simplicial_set,
    nearest_neighbors,
    raise_disconnected_warning,
    smooth_knn_dist,
)
from actup.compat.umap._new_points import breadth_first_search, init_transform, init_update
from actup.compat.umap.spectral import spectral_layout, tswspectral_layout
from actup.compat.umap.utils import csr_unique, fast_knn_indices, submatrix, ts
from actup.graph._disconnection import _LARGEST_DISTANCES

__all__ = [
    "DISCONNECTION_DISTANCES",
    "INT32_MAX",
    "INT32_MIN",
    "UMAP",
    "compute_membership_strengths",
    "discrete_metric_simplicial_set_intersection",
    "find_ab_params",
    "fuzzy_simplicial_set",
    "general_simplicial_set_intersection",
    "general_simplicial_set_union",
    "init_graph_transform",
    "make_epochs_per_sample",
    "nearest_neighbors",
    "noisy_scale_coords",
    "raise_disconnected_warning",
    "reset_local_connectivity",
    "simplicial_set_embedding",
    "smooth_knn_dist",
]

# Bounds of random seeds, one away from those of int32.
INT32_MIN = np.iinfo(np.int32).min + 1
INT32_MAX = np.iinfo(np.int32).max - 1

# From this distance on, neighbours in a bounded metric do not count.
DISCONNECTION_DISTANCES = dict(_LARGEST_DISTANCES)

MIN_K_DIST_SCALE = 1e-3
NPY_INFINITY = np.inf
NPY_FLOATMAX = np.finfo(np.float32).max


def flatten_iter(container: Iterable[Any]) -> Iterator[Any]:
    """The elements of nested lists and tuples, one by one."""
    for element in container:
        if isinstance(element, list | tuple):
            yield from flatten_iter(element)
        else:
            yield element


def flattened(container: Iterable[Any]) -> tuple[Any, ...]:
    """The elements of nested lists and tuples."""
    return tuple(flatten_iter(container))
