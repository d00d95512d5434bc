"""ActUp: t-SNE, UMAP and everything between them, from one engine.

The public names and modules are imported when they are first used, so that ``import actup`` itself takes no
time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from actup._lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from actup import (
        accel,
        backends,
        clusters,
        compat,
        datasets,
        distributed,
        estimators,
        graph,
        metrics,
        neighbors,
        plotting,
        progress,
        quality,
        recipe,
        saving,
        sc,
        viewer,
    )
    from actup._atlas import write_atlas
    from actup._embed_many import embed_many
    from actup._memory import MemoryEstimate, memory_estimate
    from actup._pipeline import embed
    from actup.clusters import find_clusters
    from actup.estimators import GDR, TSNE, UMAP, AlignedUMAP, ParametricUMAP
    from actup.graph import Graph, Neighbors
    from actup.neighbors import KNeighborsTransformer, NeighborIndex, nearest_neighbors
    from actup.plotting import plot
    from actup.quality import quality_report
    from actup.recipe import Recipe, preset, presets
    from actup.saving import load
    from actup.viewer import live, view

_NAMES = {
    "GDR": "actup.estimators",
    "TSNE": "actup.estimators",
    "UMAP": "actup.estimators",
    "AlignedUMAP": "actup.estimators",
    "ParametricUMAP": "actup.estimators",
    "Graph": "actup.graph",
    "KNeighborsTransformer": "actup.neighbors",
    "NeighborIndex": "actup.neighbors",
    "Neighbors": "actup.graph",
    "MemoryEstimate": "actup._memory",
    "Recipe": "actup.recipe",
    "embed": "actup._pipeline",
    "embed_many": "actup._embed_many",
    "find_clusters": "actup.clusters",
    "live": "actup.viewer",
    "load": "actup.saving",
    "memory_estimate": "actup._memory",
    "nearest_neighbors": "actup.neighbors",
    "plot": "actup.plotting",
    "preset": "actup.recipe",
    "presets": "actup.recipe",
    "quality_report": "actup.quality",
    "view": "actup.viewer",
    "write_atlas": "actup._atlas",
}
_MODULES = (
    "accel",
    "backends",
    "clusters",
    "compat",
    "datasets",
    "distributed",
    "estimators",
    "graph",
    "metrics",
    "neighbors",
    "plotting",
    "progress",
    "quality",
    "recipe",
    "saving",
    "sc",
    "viewer",
)

__all__ = [
    "GDR",
    "TSNE",
    "UMAP",
    "AlignedUMAP",
    "Graph",
    "KNeighborsTransformer",
    "MemoryEstimate",
    "NeighborIndex",
    "Neighbors",
    "ParametricUMAP",
    "Recipe",
    "__version__",
    "embed",
    "embed_many",
    "find_clusters",
    "live",
    "load",
    "memory_estimate",
    "nearest_neighbors",
    "plot",
    "preset",
    "presets",
    "quality_report",
    "view",
    "write_atlas",
]

# Names of umap-learn and openTSNE, for programs with "import actup as umap", and names of own modules.
_UMAP_MODULES = ["aligned_umap", "distances", "layouts", "sparse", "spectral", "umap_", "utils", "validation"]
_OPENTSNE_NAMES = ["TSNEEmbedding", "affinity", "callbacks", "initialization", "sklearn"]
_ELSEWHERE = {
    "parametric_umap": "actup.ParametricUMAP",
    "load_ParametricUMAP": "actup.load, for files of ParametricUMAP.save",
    **{name: f"actup.compat.umap.{name}" for name in _UMAP_MODULES},
    **{name: f"actup.compat.opentsne.{name}" for name in _OPENTSNE_NAMES},
    **{name: f"actup.viewer.{name}" for name in ("align_maps", "write_page")},
    **{name: f"actup.plotting.{name}" for name in ("plot_embedding", "plot_gallery")},
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES | {name: f"actup.{name}" for name in _MODULES}, _ELSEWHERE)

if os.environ.get("ACTUP_ACCEL", "0") not in ("", "0"):  # a user asks for it: see actup.accel
    __getattr__("accel").install(quiet=os.environ["ACTUP_ACCEL"] == "quiet")  # type: ignore[attr-defined]
