"""ActUp: t-SNE, UMAP and everything between them, from one engine.

The public names and modules are imported when they are first used, so that ``import actup`` itself costs
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from actup.cookbook import preset, presets
    from actup.estimators import TSNE, UMAP
    from actup.gdr import GDR
    from actup.graph import Graph, Neighbors
    from actup.many import embed_many
    from actup.metrics import quality_report
    from actup.neighbors import NeighborIndex, nearest_neighbors
    from actup.pipeline import embed
    from actup.recipe import Recipe

_HOMES = {
    "GDR": "actup.gdr",
    "TSNE": "actup.estimators",
    "UMAP": "actup.estimators",
    "Graph": "actup.graph",
    "Neighbors": "actup.graph",
    "Recipe": "actup.recipe",
    "embed": "actup.pipeline",
    "embed_many": "actup.many",
    "NeighborIndex": "actup.neighbors",
    "nearest_neighbors": "actup.neighbors",
    "preset": "actup.cookbook",
    "presets": "actup.cookbook",
    "quality_report": "actup.metrics",
}

_MODULES = ("backends", "datasets", "metrics", "neighbors", "plotting", "viewer")

__all__ = [
    "GDR",
    "TSNE",
    "UMAP",
    "Graph",
    "NeighborIndex",
    "Neighbors",
    "Recipe",
    "__version__",
    "embed",
    "embed_many",
    "nearest_neighbors",
    "preset",
    "presets",
    "quality_report",
]


def __getattr__(name: str):
    if name in _MODULES:
        return import_module(f"actup.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'actup' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # the next use finds it without a call
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__) | set(_MODULES))
