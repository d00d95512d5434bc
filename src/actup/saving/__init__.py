"""Saved models: one file of plain arrays and a JSON header, which is read without running code."""

from actup.saving._container import SavedModelError
from actup.saving._model import load

__all__ = ["SavedModelError", "load"]
