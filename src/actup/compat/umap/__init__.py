"""The names of umap-learn 0.5.12, computed by ActUp: ``import actup.compat.umap as umap``.

``python -m actup.accel`` serves these modules to programs that import ``umap``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names

__version__ = "0.5.12"  # the release of umap-learn whose names these are

if TYPE_CHECKING:
    from actup.compat.umap import aligned_umap, distances, sparse, spectral, umap_, utils, validation
    from actup.compat.umap.umap_ import UMAP

__all__ = ["UMAP", "aligned_umap", "distances", "sparse", "spectral", "umap_", "utils", "validation"]

_MODULES = {name: f"{__name__}.{name}" for name in __all__ if name != "UMAP"}
_CLASSES = {"UMAP": f"{__name__}.umap_", "AlignedUMAP": f"{__name__}.aligned_umap"}

__getattr__, __dir__ = lazy_names(__name__, _CLASSES | _MODULES)
