"""The names of umap-learn 0.5.12, computed by ActUp: ``import actup.compat.umap as umap``.

``python -m actup.accel`` serves these modules to programs that import ``umap``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names
from actup.compat.umap._absent import INSTEAD, explain_absent

__version__ = "0.5.12"  # the release of umap-learn whose names these are

if TYPE_CHECKING:
    from actup.compat.umap import aligned_umap, distances, layouts, sparse, spectral, umap_, utils, validation
    from actup.compat.umap.aligned_umap import AlignedUMAP
    from actup.compat.umap.umap_ import UMAP

_CLASSES = {"UMAP": f"{__name__}.umap_", "AlignedUMAP": f"{__name__}.aligned_umap"}
_MODULES = ("aligned_umap", "distances", "layouts", "sparse", "spectral", "umap_", "utils", "validation")

__all__ = [
    "UMAP",
    "AlignedUMAP",
    "aligned_umap",
    "distances",
    "layouts",
    "sparse",
    "spectral",
    "umap_",
    "utils",
    "validation",
]

_find, __dir__ = lazy_names(__name__, _CLASSES | {name: f"{__name__}.{name}" for name in _MODULES})


def __getattr__(name: str) -> object:
    if name in INSTEAD:
        raise explain_absent(__name__, name)
    return _find(name)
