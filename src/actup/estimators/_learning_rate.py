"""is_automatic(): whether ``learning_rate`` leaves the size of the steps to ActUp."""

from __future__ import annotations

from numbers import Real

from actup._errors import WrongType


def is_automatic(learning_rate: object, name: str = "learning_rate") -> bool:
    """Whether ``learning_rate`` is "auto"; rejects anything else that is not a number, under this name."""
    if isinstance(learning_rate, str) and learning_rate == "auto":
        return True
    if not isinstance(learning_rate, Real):
        raise WrongType(f"{name}={learning_rate!r} must be 'auto' or a number")
    return False
