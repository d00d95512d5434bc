"""Memory of the reference backend, which keeps matrices of all pairs of points."""

from __future__ import annotations

from actup.backends._memory._map import graph_moments, start_moments
from actup.backends._memory._search import read_moments, search_moments
from actup.backends._memory._shape import Lean, Moment, RunShape
from actup.backends._reference.neighbors import REFERENCE_METRICS
from actup.recipe._switches import Initialization

# Bytes of a pair of points, as measured. Forces take more with every dimension of the map.
_SIMILARITY_BYTES, _EIGENVECTOR_BYTES, _DENSITY_BYTES = 24.0, 52.0, 24.0
_FORCE_BYTES, _FORCE_BYTES_PER_DIMENSION = 45.0, 16.0


def reference_moments(shape: RunShape) -> dict[str, list[Moment]]:
    """Of every stage, what is in memory at the times at which much is."""
    pairs, recipe, lean = float(shape.rows) ** 2, shape.recipe, Lean()
    search = search_moments(shape, lean)
    if shape.searches and not shape.sparse and recipe.metric in REFERENCE_METRICS:
        double = {"X in double precision": 8.0 * shape.stored, "differences of rows": 16.0 * shape.stored}
        search = [shape.data() | shape.lists() | double]
    similarities = {"similarities of all pairs": _SIMILARITY_BYTES * pairs}
    start = start_moments(shape, lean)
    if recipe.initialization is Initialization.SPECTRAL and not shape.has_start:
        eigenvectors = {"eigenvectors": _EIGENVECTOR_BYTES * pairs}
        start = [shape.data() | shape.graph() | eigenvectors]
    forces = _FORCE_BYTES + _FORCE_BYTES_PER_DIMENSION * recipe.n_components
    forces += _DENSITY_BYTES if recipe.density_weight > 0 else 0.0
    return {
        "read": read_moments(shape),
        "neighbors": search,
        "graph": [*graph_moments(shape, lean), shape.data() | shape.lists() | similarities],
        "start": start,
        "layout": [shape.data() | shape.graph() | {"forces of all pairs": forces * pairs}],
    }
