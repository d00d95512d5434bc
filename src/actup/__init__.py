"""ActUp: t-SNE, UMAP and everything between them, from one engine.

The public names and modules are imported when they are first used, so that ``import actup`` itself takes no
time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from actup import (
        backends,
        compat,
        datasets,
        estimators,
        graph,
        metrics,
        neighbors,
        plotting,
        progress,
        quality,
        recipe,
        viewer,
    )
    from actup._embed_many import embed_many
    from actup._pipeline import embed
    from actup.estimators import GDR, TSNE, UMAP
    from actup.graph import Graph, Neighbors
    from actup.neighbors import NeighborIndex, nearest_neighbors
    from actup.quality import quality_report
    from actup.recipe import Recipe, preset, presets

_NAMES = {
    "GDR": "actup.estimators",
    "TSNE": "actup.estimators",
    "UMAP": "actup.estimators",
    "Graph": "actup.graph",
    "NeighborIndex": "actup.neighbors",
    "Neighbors": "actup.graph",
    "Recipe": "actup.recipe",
    "embed": "actup._pipeline",
    "embed_many": "actup._embed_many",
    "nearest_neighbors": "actup.neighbors",
    "preset": "actup.recipe",
    "presets": "actup.recipe",
    "quality_report": "actup.quality",
}
_MODULES = (
    "backends",
    "compat",
    "datasets",
    "estimators",
    "graph",
    "metrics",
    "neighbors",
    "plotting",
    "progress",
    "quality",
    "recipe",
    "viewer",
)

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

__getattr__, __dir__ = lazy_names(__name__, _NAMES | {name: f"actup.{name}" for name in _MODULES})
