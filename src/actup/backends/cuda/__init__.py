"""The CUDA backend: every stage on one GPU, with arrays that stay there between the stages."""

from actup.backends.cuda import start
from actup.backends.cuda.ahead import compile_ahead
from actup.backends.cuda.arrays import delivered, synchronize
from actup.backends.cuda.graph import affinity_graph
from actup.backends.cuda.landmarks import find_landmarks, scatter_around
from actup.backends.cuda.layout import make_layout
from actup.backends.cuda.neighbors import METRICS, SCALARS, nearest_neighbors
from actup.backends.cuda.start import spectral_coordinates
from actup.backends.cuda.transform import place_rows, query_neighbors

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
