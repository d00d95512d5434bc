"""The quality measures under their former name; ``actup.quality`` is the same."""

from actup.quality import *  # noqa: F403
from actup.quality import __all__ as __all__
