"""Static pictures of maps, drawn with matplotlib."""

from actup.plotting._pictures import plot_embedding, plot_gallery

__all__ = ["plot_embedding", "plot_gallery"]
