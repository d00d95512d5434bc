"""check_parameters(): the parameters of a metric are a dict from text, or None."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from actup._errors import WrongType


def check_parameters(parameters: Any, name: str = "metric_kwds") -> None:
    """Reject parameters of a metric that are no dict from text; None stands for none."""
    if parameters is None:
        return
    if not isinstance(parameters, Mapping):
        raise WrongType(f"{name}={reprlib.repr(parameters)} must be a dict of the metric's parameters")
    for key in parameters:
        if not isinstance(key, str):
            raise WrongType(f"{name} has the key {reprlib.repr(key)}, but names of parameters are text")
