"""The reference backend, the oracle of the tests: every stage in plain NumPy and float64, slow and simple."""

from actup.backends._reference.affinities import affinity_graph
from actup.backends._reference.layout import make_layout
from actup.backends._reference.neighbors import METRICS, SCALARS, nearest_neighbors
from actup.backends._reference.spectral import spectral_coordinates
from actup.backends._reference.transform import place_rows

__all__ = [
    "METRICS",
    "SCALARS",
    "affinity_graph",
    "make_layout",
    "nearest_neighbors",
    "place_rows",
    "spectral_coordinates",
]
