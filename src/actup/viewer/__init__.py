"""One interactive HTML page, without any other file, for one or several maps of the same points."""

from actup._maps import align_maps
from actup.viewer._live._begin import live
from actup.viewer._live._session import LiveView
from actup.viewer._page import write_page
from actup.viewer._view import View, view

__all__ = ["LiveView", "View", "align_maps", "live", "view", "write_page"]
