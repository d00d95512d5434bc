"""``umap.aligned_umap``: AlignedUMAP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names

if TYPE_CHECKING:
    from actup.estimators import AlignedUMAP

__all__ = ["AlignedUMAP"]

__getattr__, __dir__ = lazy_names(__name__, {"AlignedUMAP": "actup.estimators"})
