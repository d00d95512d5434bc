"""Nearest neighbours in any metric, exact or approximate with a measured recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actup._lazy import lazy_names

if TYPE_CHECKING:
    from actup.neighbors._api import NeighborIndex, nearest_neighbors
    from actup.neighbors._transformer import KNeighborsTransformer

__all__ = ["KNeighborsTransformer", "NeighborIndex", "nearest_neighbors"]

# Lazy, because recipes need the table of metrics and not the searches.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "KNeighborsTransformer": "actup.neighbors._transformer",
        "NeighborIndex": "actup.neighbors._api",
        "nearest_neighbors": "actup.neighbors._api",
    },
)
