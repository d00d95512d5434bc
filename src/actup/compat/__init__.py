"""The interfaces of other libraries on ActUp's engine, one package for each."""

from __future__ import annotations

from actup._lazy import lazy_names

__all__ = ["opentsne"]

__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{name}" for name in __all__})
