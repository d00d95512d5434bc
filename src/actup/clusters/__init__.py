"""Density clusters of a map or of its graph, in layers, with names and representative points."""

from actup.clusters._find import find_clusters
from actup.clusters._records import ClusterLayer, Clusters

__all__ = ["ClusterLayer", "Clusters", "find_clusters"]
