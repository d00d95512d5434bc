"""Modules with the names and functions of other libraries, for programs that were written for those."""

from __future__ import annotations

from actup._lazy import lazy_names

__all__ = ["opentsne", "umap"]

__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{name}" for name in __all__})
