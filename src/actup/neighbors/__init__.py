"""Nearest neighbours in any metric, exact or approximate with a measured recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names

if TYPE_CHECKING:
    from actup.neighbors._api import NeighborIndex, nearest_neighbors

__all__ = ["NeighborIndex", "nearest_neighbors"]

# Lazy, because recipes need the table of metrics and not the searches.
__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "actup.neighbors._api"))
