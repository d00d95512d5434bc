"""The interface of openTSNE 1.0.4 on ActUp's engine.

``from actup.compat import opentsne as openTSNE`` in place of ``import openTSNE`` is enough: the modules,
classes, parameters and attributes have the same names. docs/guide/migrating.md says what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names
from actup.compat.opentsne.version import __version__

if TYPE_CHECKING:
    from actup.compat.opentsne.tsne import TSNE, OptimizationInterrupt, PartialTSNEEmbedding, TSNEEmbedding

__all__ = ["TSNE", "OptimizationInterrupt", "PartialTSNEEmbedding", "TSNEEmbedding", "__version__"]

_MODULES = (
    "affinity",
    "callbacks",
    "initialization",
    "kl_divergence",
    "metrics",
    "nearest_neighbors",
    "sklearn",
    "tsne",
    "utils",
)

__getattr__, __dir__ = lazy_names(
    __name__,
    {name: f"{__name__}.tsne" for name in __all__ if name != "__version__"}
    | {name: f"{__name__}.{name}" for name in _MODULES},
)
