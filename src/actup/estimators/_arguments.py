"""Arguments that an estimator does not have: the error says which one was meant, or what to use instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from actup._suggestions import unknown_argument

Class = TypeVar("Class", bound=type)

_IS_EXPLAINED = "_explains_unknown_arguments"  # marks methods that are wrapped already

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
    "data": "X",
    "labels": "y",
    "target": "y",
}


# Methods whose unknown arguments are explained too, and former names of their arguments, which still work.
_METHODS = ("fit", "fit_transform", "iter_fit", "partial_fit", "transform", "update")
_FORMER_NAMES = {"force_all_finite": "ensure_all_finite"}


def explain_unknown_arguments(estimator: Class) -> Class:
    """Class decorator: an unknown keyword argument raises an error that suggests the right name.

    Of ``__init__`` and of methods such as ``fit`` it is a TypeError, of ``set_params`` a ValueError, as in
    scikit-learn. The signatures stay as they are, so that scikit-learn reads parameters and metadata from
    them.
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
    for name in (*_METHODS, "set_params"):
        method = getattr(estimator, name, None)
        if method is not None and not hasattr(method, _IS_EXPLAINED):
            explained = _explained_set_params(method) if name == "set_params" else _explained(method, name)
            setattr(explained, _IS_EXPLAINED, True)
            setattr(estimator, name, explained)
    return estimator


def _explained(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method, with an error that explains unknown keyword arguments."""
    parameters = inspect.signature(method).parameters
    names = list(parameters)[1:]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())

    @functools.wraps(method)
    def explained(self: Any, *args: Any, **kwargs: Any) -> Any:
        for former in kwargs.keys() & _FORMER_NAMES.keys() - set(names):
            if _FORMER_NAMES[former] in names:
                kwargs = {**kwargs, _FORMER_NAMES[former]: kwargs[former]}
                del kwargs[former]
        unknown = [] if takes_any else [argument for argument in kwargs if argument not in names]
        if unknown:
            owner = f"{type(self).__name__}.{name}()"
            raise TypeError(unknown_argument(owner, unknown[0], names, _OTHER_NAMES))
        return method(self, *args, **kwargs)

    return explained


def _explained_set_params(set_params: Callable[..., Any]) -> Callable[..., Any]:
    """``set_params``, with an error that explains unknown names."""

    @functools.wraps(set_params)
    def explained(self: Any, **params: Any) -> Any:
        names = self._get_param_names()
        unknown = [name for name in params if name.partition("__")[0] not in names]
        if unknown:
            raise ValueError(unknown_argument(type(self).__name__, unknown[0], names, _OTHER_NAMES))
        return set_params(self, **params)

    return explained
