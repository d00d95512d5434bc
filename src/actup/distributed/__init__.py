"""Maps of rows that are larger than memory, on one machine or on the workers of a Dask cluster."""

from actup.distributed._api import FilesEmbedding, embed
from actup.distributed._plan import Plan
from actup.distributed._planning import make_plan
from actup.distributed._sources import ShardError
from actup.distributed._transform import transform

__all__ = ["FilesEmbedding", "Plan", "ShardError", "embed", "make_plan", "transform"]
