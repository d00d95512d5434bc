"""Alias of ``actup.quality``, kept for code that uses the module's former name."""

from actup.quality import *  # noqa: F403
from actup.quality import __all__ as __all__
