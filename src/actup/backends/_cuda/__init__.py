"""The CUDA backend: every stage on one GPU, with arrays that stay there between the stages."""

from actup.backends._cuda import start
from actup.backends._cuda.ahead import compile_ahead
from actup.backends._cuda.arrays import delivered, synchronize
from actup.backends._cuda.graph import affinity_graph
from actup.backends._cuda.landmarks import find_landmarks, scatter_around
from actup.backends._cuda.layout import make_layout
from actup.backends._cuda.neighbors import METRICS, SCALARS, nearest_neighbors
from actup.backends._cuda.start import spectral_coordinates
from actup.backends._cuda.transform import place_rows, query_neighbors

__all__ = [
    "METRICS",
    "SCALARS",
    "affinity_graph",
    "compile_ahead",
    "delivered",
    "find_landmarks",
    "make_layout",
    "nearest_neighbors",
    "place_rows",
    "query_neighbors",
    "scatter_around",
    "spectral_coordinates",
    "start",
    "synchronize",
]
