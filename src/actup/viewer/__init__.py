"""One self-contained interactive page for one or several maps of the same points."""

from .alignment import align_maps
from .page import write_page

__all__ = ["align_maps", "write_page"]
