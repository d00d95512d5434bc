"""One interactive HTML page, without any other file, for one or several maps of the same points."""

from actup._maps import align_maps
from actup.viewer._page import write_page

__all__ = ["align_maps", "write_page"]
