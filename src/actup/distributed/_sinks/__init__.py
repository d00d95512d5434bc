"""Sinks: where the map goes, shard by shard, whole or not at all."""

from actup.distributed._sinks._base import Sink
from actup.distributed._sinks._open import open_sink

__all__ = ["Sink", "open_sink"]
