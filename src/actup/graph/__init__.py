"""The two records that travel between the stages: nearest neighbours and the graph of similarities."""

from actup.graph._records import Graph, Neighbors

__all__ = ["Graph", "Neighbors"]
