"""Arguments that an estimator does not have: the error says which one was meant, or what to use instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

# Names that other libraries have for a parameter, or had in former releases. The value is the name here, or a
# sentence that says what to do instead.
_OTHER_NAMES = {
    "dim": "n_components",
    "dims": "n_components",
    "dimensions": "n_components",
    "n_dims": "n_components",
    "k": "n_neighbors",
    "n_neighbours": "n_neighbors",
    "epochs": "n_epochs",
    "n_iter": "max_iter",
    "max_epochs": "n_epochs",
    "min_distance": "min_dist",
    "metric_kwargs": "metric_kwds",
    "metric_params": "metric_kwds",
    "initialization": "init",
    "seed": "random_state",
    "random_seed": "random_state",
    "threads": "n_jobs",
    "n_threads": "n_jobs",
    "num_threads": "n_jobs",
    "progress": "verbose",
    "callbacks": "callback",
    "knn": "precomputed_knn",
    "device": "backend",
    "theta": "angle",
}


def explain_unknown_arguments(estimator: Class) -> Class:
    """Class decorator: an unknown keyword argument raises a TypeError that suggests the right name.

    The signature stays as it is, so that scikit-learn reads the parameters from it.
    """
    plain: Callable[..., None] = vars(estimator)["__init__"]
    names = list(inspect.signature(plain).parameters)[1:]

    @functools.wraps(plain)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        unknown = [name for name in kwargs if name not in names]
        if unknown:
            raise TypeError(_describe(estimator.__name__, unknown[0], names, _OTHER_NAMES))
        plain(self, *args, **kwargs)

    setattr(estimator, "__init__", __init__)  # noqa: B010  (mypy objects to an assignment)
    return estimator


def _describe(estimator: str, unknown: str, names: list[str], other_names: Mapping[str, str]) -> str:
    """The error for an unknown argument, with the parameter that was probably meant."""
    meant = other_names.get(unknown.lower())
    close = [meant] if meant in names else get_close_matches(unknown.lower(), names, n=1, cutoff=0.7)
    hint = f": did you mean {close[0]!r}?" if close else f"; its parameters are {', '.join(names)}"
    return f"{estimator} has no parameter {unknown!r}{hint}"
