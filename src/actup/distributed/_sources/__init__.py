"""Sources: rows in shards that any worker can read on its own."""

from actup.distributed._sources._base import Shard, ShardError, Source
from actup.distributed._sources._dask import DaskSource, StoredBlocks
from actup.distributed._sources._open import open_source

__all__ = ["DaskSource", "Shard", "ShardError", "Source", "StoredBlocks", "open_source"]
