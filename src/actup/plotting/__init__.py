"""Static pictures of maps, drawn with matplotlib."""

from actup.plotting._pictures import plot_embedding, plot_gallery
from actup.plotting._plot import plot

__all__ = ["plot", "plot_embedding", "plot_gallery"]
