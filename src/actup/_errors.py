"""WrongType: the error for a value of the wrong type. AbsentMethod: says what to use in place of a method."""

from __future__ import annotations

from typing import Any


class WrongType(TypeError, ValueError):
    """A value has the wrong type.

    It is a TypeError, as Python has it, and a ValueError, because programs written for umap-learn and
    scikit-learn expect that from ``fit``.
    """


class AbsentMethod:
    """A method that a class lacks although its relatives have it: reading it raises an AttributeError.

    Parameters
    ----------
    reason : str
        Why there is none, and what to use in its place.
    """

    def __init__(self, reason: str):
        self._reason = reason

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise AttributeError(self._reason)
