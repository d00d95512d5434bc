"""Static pictures of maps."""

from actup.plotting._pictures import plot_embedding, plot_gallery, point_style

__all__ = ["plot_embedding", "plot_gallery", "point_style"]
