"""Arguments that an estimator does not have: the error says which one was meant, or what to use instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from actup._suggestions import unknown_argument

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
            raise TypeError(unknown_argument(estimator.__name__, unknown[0], names, _OTHER_NAMES))
        plain(self, *args, **kwargs)

    setattr(estimator, "__init__", __init__)  # noqa: B010  (mypy objects to an assignment)
    return estimator
