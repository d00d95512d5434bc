"""The table of output metrics: distances between points of the map, with what each needs of a recipe."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._errors import WrongType
from actup._suggestions import not_one_of
from actup._values import as_float
from actup.recipe._switches import Loss, NonEdgeWeight, Repulsion, Update

if TYPE_CHECKING:
    from actup.recipe._recipe import Recipe

OutputFunction = Callable[..., Any]  # (x, y, *parameters) -> (distance, gradient by x)

EUCLIDEAN = "euclidean"
_DEFAULT_P = 2.0  # of "minkowski", as in umap-learn


@dataclass(frozen=True)
class OutputMetric:
    """What the package knows about a distance between points of the map.

    Attributes
    ----------
    name : str
    aliases : tuple of str
        Other names for it in umap-learn.
    dimensions : int or None
        The number of columns that the map must have; None: any from ``least_dimensions`` on.
    least_dimensions : int
    parameters : tuple of str
        The names that ``output_metric_kwds`` may hold.
    """

    name: str
    aliases: tuple[str, ...] = ()
    dimensions: int | None = None
    least_dimensions: int = 1
    parameters: tuple[str, ...] = ()


_TABLE = (
    OutputMetric(EUCLIDEAN, ("l2",)),
    OutputMetric("haversine", dimensions=2),
    OutputMetric("hyperboloid"),
    OutputMetric("spherical_gaussian_energy", dimensions=3),
    OutputMetric("diagonal_gaussian_energy", dimensions=4),
    OutputMetric("gaussian_energy", dimensions=5),
    OutputMetric("manhattan", ("l1", "taxicab", "cityblock")),
    OutputMetric("chebyshev", ("linf", "linfty", "linfinity", "infinity")),
    OutputMetric("minkowski", parameters=("p",)),
    OutputMetric("cosine", least_dimensions=2),
    OutputMetric("correlation", least_dimensions=3),
    OutputMetric("canberra"),
    OutputMetric("braycurtis"),
)
OUTPUT_METRICS = {metric.name: metric for metric in _TABLE}
_NAMES = {alias: metric.name for metric in _TABLE for alias in (metric.name, *metric.aliases)}
# umap-learn's other output metrics, and their functions in actup.compat.umap.distances.
_FUNCTIONS = {
    "hellinger": "hellinger_grad",
    "softmax_hellinger": "softmax_hellinger_grad",
    "mahalanobis": "mahalanobis_grad",
    "seuclidean": "standardised_euclidean_grad",
    "standardised_euclidean": "standardised_euclidean_grad",
    "symmetric_kl": "symmetric_kl_grad",
    "wminkowski": "weighted_minkowski_grad",
    "weighted_minkowski": "weighted_minkowski_grad",
}


def canonical_output_metric(metric: object) -> str | OutputFunction:
    """The one name of an output metric that has several; a function of two points is itself.

    Raises
    ------
    TypeError
        If it is neither a name nor a function.
    ValueError
        If there is no output metric of that name.
    """
    if callable(metric):
        return metric
    if not isinstance(metric, str):
        raise WrongType(
            f"output_metric={metric!r} must be one of {', '.join(OUTPUT_METRICS)}, or a function of two "
            "points"
        )
    if metric in _FUNCTIONS:
        raise ValueError(
            f"output_metric={metric!r} is not compiled: give the function "
            f"actup.compat.umap.distances.{_FUNCTIONS[metric]}, which is called pair by pair and slow"
        )
    if metric not in _NAMES:
        raise ValueError(not_one_of("output_metric", metric, OUTPUT_METRICS))
    return _NAMES[metric]


def function_arguments(function: OutputFunction, parameters: dict[str, object]) -> tuple[Any, ...]:
    """The parameters of an output metric that is a function, in the order in which it takes them."""
    try:
        signature = inspect.signature(getattr(function, "py_func", function))  # numba's are dispatchers
        return signature.bind(None, None, **parameters).args[2:]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"output_metric_kwds={reprlib.repr(parameters)} do not suit output_metric: {error}"
        ) from None


def output_metric_name(recipe: Recipe) -> str:
    """The name of a recipe's output metric that is no function."""
    assert isinstance(recipe.output_metric, str)
    return recipe.output_metric


def output_metric_parameter(recipe: Recipe) -> float:
    """The value of p for metric "minkowski"; other output metrics have no parameter."""
    value = dict(recipe.output_metric_kwds).get("p", _DEFAULT_P)
    assert isinstance(value, Real)
    return float(value)


def reject_output_metric_contradictions(recipe: Recipe) -> None:
    """Reject a recipe that cannot be laid out under its output metric; the message names the remedy."""
    metric = recipe.output_metric
    if isinstance(metric, str):
        _check_parameters(recipe, OUTPUT_METRICS[metric])
        named, record = f"output_metric={metric!r}", OUTPUT_METRICS[metric]
    else:
        name = getattr(metric, "__name__", repr(metric))
        named, record = f"output_metric={name}", OutputMetric(name)
    if metric == EUCLIDEAN:
        return
    dimensions, least = record.dimensions, record.least_dimensions
    contradictions = [
        (
            dimensions is not None and recipe.n_components != dimensions,
            f"{named} needs n_components={dimensions}, not {recipe.n_components}",
        ),
        (
            recipe.n_components < least,
            f"{named} needs n_components of at least {least}, not {recipe.n_components}",
        ),
        (
            recipe.normalized or recipe.loss is not Loss.KL,
            f"{named} needs normalized=False and loss='kl': begin with preset('paper_umap')",
        ),
        (
            recipe.update is not Update.IN_PLACE or recipe.repulsion is not Repulsion.SAMPLED,
            f"{named} needs update='in_place' and repulsion='sampled': begin with preset('paper_umap')",
        ),
        (
            recipe.horizon is not None,
            f"{named} has no horizon: set horizon=None, or begin with preset('paper_umap')",
        ),
        (
            recipe.non_edge_weight is not NonEdgeWeight.ONE,
            f"{named} cannot run with non_edge_weight='{recipe.non_edge_weight}': set non_edge_weight='one'",
        ),
    ]
    for contradiction, remedy in contradictions:
        if contradiction:
            raise ValueError(remedy)
    if not isinstance(metric, str):
        _try_function(metric, recipe, named)


def _try_function(function: OutputFunction, recipe: Recipe, named: str) -> None:
    """Reject a function that does not return the distance of two points and its gradient."""
    arguments = function_arguments(function, dict(recipe.output_metric_kwds))
    points = np.linspace(0.2, 0.8, 2 * recipe.n_components).reshape(2, -1)
    value = function(points[0].copy(), points[1].copy(), *arguments)
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    if not is_pair or np.ndim(value[0]) != 0 or np.shape(value[1]) != (recipe.n_components,):
        raise ValueError(
            f"{named} must return a tuple of the distance of two points and its gradient by the first one, "
            f"an array of {recipe.n_components} numbers; it returned {reprlib.repr(value)}"
        )


def _check_parameters(recipe: Recipe, record: OutputMetric) -> None:
    known = record.parameters
    for name, value in recipe.output_metric_kwds:
        if name not in known:
            allowed = f"only {', '.join(known)}" if known else "no parameters"
            raise ValueError(
                f"output_metric_kwds has {name!r}, but output_metric={recipe.output_metric!r} has {allowed}"
            )
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"output_metric_kwds: {name}={value!r} must be a number")
        if not 1 <= as_float(value, f"output_metric_kwds: {name}") < math.inf:
            raise ValueError(f"output_metric_kwds: {name}={value!r} must be finite and at least 1")
