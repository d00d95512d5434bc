"""Arguments that an estimator does not have: the error says which one was meant, or what to use instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from actup._suggestions import unknown_argument

Class = TypeVar("Class", bound=type)

_IS_EXPLAINED = "_explains_unknown_arguments"  # marks methods that are wrapped already

# Names that other libraries have for a parameter, or had in former releases, and its names here: the first
# one that the estimator has is meant.
_OTHER_NAMES = {
    "dim": ("n_components",),
    "dims": ("n_components",),
    "dimensions": ("n_components",),
    "n_dims": ("n_components",),
    "k": ("n_neighbors",),
    "n_neighbours": ("n_neighbors",),
    "epochs": ("n_epochs", "max_iter"),
    "n_iter": ("max_iter", "n_epochs"),
    "max_iter": ("n_epochs",),
    "n_epochs": ("max_iter",),
    "max_epochs": ("n_epochs", "max_iter"),
    "min_distance": ("min_dist",),
    "metric_kwargs": ("metric_kwds", "metric_params"),
    "metric_params": ("metric_kwds",),
    "metric_kwds": ("metric_params",),
    "init": ("initialization",),
    "initialization": ("init",),
    "seed": ("random_state",),
    "random_seed": ("random_state",),
    "threads": ("n_jobs",),
    "n_threads": ("n_jobs",),
    "num_threads": ("n_jobs",),
    "progress": ("verbose",),
    "callbacks": ("callback",),
    "knn": ("precomputed_knn",),
    "device": ("backend",),
    "theta": ("angle",),
    "data": ("X",),
    "labels": ("y",),
    "target": ("y",),
}
_OPENTSNE_ONLY = "actup.compat.opentsne.TSNE, which has the descent of openTSNE, has it"
_KERAS_NETWORK = "the network is scikit-learn's, and its layers are set by hidden_layer_sizes=(256, 256)"
_NO_DECODER = "there is no decoder: inverse_transform gives rows for places of the map"
_KERAS_TRAINING = "the training of the network is set by n_training_epochs and batch_size"
# What to use in place of parameters of other libraries, by the class that is asked for them.
_INSTEAD = {
    "UMAP": {
        "perplexity": "n_neighbors is the size of a neighbourhood, about three times a perplexity",
    },
    "TSNE": {
        "n_neighbors": "perplexity is the size of a neighbourhood, about a third of n_neighbors",
        "min_dist": "exaggeration decides how dense clusters are, from 1 to about 4",
        **dict.fromkeys(
            (
                "early_exaggeration_iter",
                "n_interpolation_points",
                "min_num_intervals",
                "ints_in_interval",
                "initial_momentum",
                "final_momentum",
                "max_grad_norm",
                "max_step_norm",
                "neighbors",
                "knn_kwargs",
                "negative_gradient_method",
            ),
            _OPENTSNE_ONLY,
        ),
    },
    "ParametricUMAP": {
        "dims": "the number of columns is read from X in fit",
        "encoder": _KERAS_NETWORK,
        "decoder": _NO_DECODER,
        "parametric_reconstruction": _NO_DECODER,
        "parametric_reconstruction_loss_fcn": _NO_DECODER,
        "parametric_reconstruction_loss_weight": _NO_DECODER,
        "reconstruction_validation": _NO_DECODER,
        "autoencoder_loss": _NO_DECODER,
        "keras_fit_kwargs": _KERAS_TRAINING,
        "optimizer": _KERAS_TRAINING,
        "loss_report_frequency": "network_error_ says after fit how far the network is from the map",
        "n_training_epochs_per_umap_epoch": _KERAS_TRAINING,
        "global_correlation_loss_weight": "the network learns a finished map: begin it with init='pca'",
        "landmark_loss_fn": "partial_fit adds rows, and keeps the old ones near their places",
        "landmark_loss_weight": "partial_fit adds rows, and keeps the old ones near their places",
    },
}


# Methods whose unknown arguments are explained too, and former names of their arguments, which still work.
_METHODS = ("fit", "fit_transform", "iter_fit", "partial_fit", "transform", "update", "view")
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
            raise TypeError(_explanation(estimator, estimator.__name__, unknown[0], names))
        plain(self, *args, **kwargs)

    setattr(estimator, "__init__", __init__)  # noqa: B010  (mypy objects to an assignment)
    for name in (*_METHODS, "set_params"):
        method = getattr(estimator, name, None)
        if method is not None and not hasattr(method, _IS_EXPLAINED):
            explained = _explained_set_params(method) if name == "set_params" else _explained(method, name)
            setattr(explained, _IS_EXPLAINED, True)
            setattr(estimator, name, explained)
    return estimator


def _explanation(estimator: type, owner: str, unknown: str, names: Collection[str]) -> str:
    """The error for a parameter that an estimator does not have."""
    for kind in estimator.__mro__:
        instead = _INSTEAD.get(kind.__name__, {}).get(unknown)
        if instead is not None and kind.__module__.startswith("actup."):
            return f"{owner} has no parameter {unknown!r}: {instead}"
    return unknown_argument(owner, unknown, names, _other_names(names))


def _other_names(names: Collection[str]) -> dict[str, str]:
    """The parameters that an estimator has, by the names that others have for them."""
    known = {other: [name for name in meant if name in names] for other, meant in _OTHER_NAMES.items()}
    return {other: meant[0] for other, meant in known.items() if meant}


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
            raise TypeError(unknown_argument(owner, unknown[0], names, _other_names(names)))
        return method(self, *args, **kwargs)

    return explained


def _explained_set_params(set_params: Callable[..., Any]) -> Callable[..., Any]:
    """``set_params``, with an error that explains unknown names."""

    @functools.wraps(set_params)
    def explained(self: Any, **params: Any) -> Any:
        names = self._get_param_names()
        unknown = [name for name in params if name.partition("__")[0] not in names]
        if unknown:
            raise ValueError(_explanation(type(self), type(self).__name__, unknown[0], names))
        return set_params(self, **params)

    return explained
