"""UmapRuns: how a run of UMAP treats labels, duplicates, given neighbours and disconnected samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from actup._device import to_host
from actup._errors import WrongType
from actup._given import Given
from actup._labels import label_array
from actup._pipeline import Embedding
from actup._suggestions import closest_name
from actup._threads import count_threads
from actup._typing import Array, Rows
from actup._warnings import warn_user
from actup.backends import Backend
from actup.backends._memory._shape import GraphChanges
from actup.estimators._base import Embedder
from actup.estimators._growing import GrowingMap
from actup.estimators._inputs import FitInputs
from actup.estimators._state import FittedState, snapshot
from actup.graph._disconnection import disconnection_distance, isolated_points, too_far
from actup.graph._records import Graph, Neighbors
from actup.graph._target import (
    DISCRETE_METRICS,
    check_target_neighbors,
    check_target_weight,
    has_no_categories,
    intersect_with_target,
    is_discrete,
    read_target,
)
from actup.neighbors._duplicates import count_duplicates, distinct_rows
from actup.neighbors._metrics import canonical_metric
from actup.progress import Progress
from actup.recipe._recipe import Recipe
from actup.transform._new_rows import TrainingRows, check_map

_FEW_DISCONNECTED = 0.1  # the share of samples below which few of them are disconnected

_FLAGS = (
    "low_memory",
    "angular_rp_forest",
    "force_approximation_algorithm",
    "verbose",
    "unique",
    "densmap",
    "output_dens",
)


class UmapRuns(GrowingMap):
    """The runs of an estimator with the parameters of ``UMAP``."""

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{name}={value!r} must be {' or '.join(map(repr, choices))}")

    def _check_transform_mode(self) -> None:
        self._check_choice("transform_mode", ("embedding", "graph"))

    def _check_choices(self) -> None:
        """Reject values of parameters that are no part of the recipe."""
        self._check_target(None)
        self._check_transform_mode()
        self._check_choice("disconnected", ("place", "nan"))
        for name in _FLAGS:
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_ | Integral):
                raise WrongType(f"{name}={value!r} must be True or False")
        if not isinstance(self.tqdm_kwds, Mapping | None):
            raise WrongType(f"tqdm_kwds={self.tqdm_kwds!r} must be a dict or None, and has no effect")
        if self.unique and self.metric == "precomputed":
            raise ValueError(
                "unique=True needs rows to compare, but metric='precomputed' has none: leave it out"
            )

    def _check_target(self, y: Any) -> None:
        """Reject wrong parameters of the target, also if there is none: a later fit may have one."""
        _check_target_metric(self.target_metric)
        if not isinstance(self.target_metric_kwds, Mapping | None):
            raise WrongType(f"target_metric_kwds={self.target_metric_kwds!r} must be a dict or None")
        check_target_weight(self.target_weight)
        if self.target_n_neighbors != -1:
            check_target_neighbors(self.target_n_neighbors)

    def _graph_changes(self, inputs: FitInputs) -> GraphChanges:
        """As in ``Embedder``; labels or target values change the graph too."""
        changes = super()._graph_changes(inputs)
        if inputs.y is None:
            return changes
        self._check_target(inputs.y)
        has_numbers = self.target_metric == "categorical" and has_no_categories(
            label_array(to_host(inputs.y))
        )
        if is_discrete(self.target_metric) and not has_numbers:
            return replace(changes, labeled=True)
        wanted = self.n_neighbors if self.target_n_neighbors == -1 else self.target_n_neighbors
        return replace(changes, target_neighbors=max(1, int(wanted) - 1))

    def _copies_rows(self, inputs: FitInputs) -> bool:
        return super()._copies_rows(inputs) or bool(self.unique)

    def _count_left_out(self, X: Any, inputs: FitInputs) -> int | None:
        """As in ``Embedder``; duplicates take no part if ``unique``, and are found by their hashes."""
        if not self.unique:
            return super()._count_left_out(X, inputs)
        if inputs.sample_weight is not None:  # those of duplicates are added up
            return None
        return count_duplicates(X)

    def _given(self, inputs: FitInputs, rows: Rows, recipe: Recipe) -> Given:
        given = super()._given(inputs, rows, recipe)
        limit = disconnection_distance(recipe.metric, self.disconnection_distance)
        given = replace(given, disconnection_distance=limit, keep_radii=self.output_dens)
        if given.neighbors is not None and _are_unsuitable(given.neighbors, rows.shape[0], recipe):
            given = replace(given, neighbors=None)
        return given if inputs.y is None else self._with_target(given, inputs.y, rows.shape[0])

    def _with_target(self, given: Given, y: Any, n: int) -> Given:
        """Have the graph changed by labels or target values, after sample weights have changed it."""
        metric = self.target_metric
        target: dict[str, Any] = {
            "metric": metric,
            "metric_kwds": self.target_metric_kwds,
            "weight": self.target_weight,
            "n_neighbors": self.n_neighbors if self.target_n_neighbors == -1 else self.target_n_neighbors,
        }
        values = read_target(y, n, **target)
        if metric == "categorical" and has_no_categories(values):
            target["metric"] = "euclidean"
        weigh = given.reshape_graph

        def supervise(graph: Graph, *, backend: Backend, threads: int) -> Graph:
            graph = graph if weigh is None else weigh(graph, backend=backend, threads=threads)
            return intersect_with_target(graph, values, **target, backend=backend, threads=threads)

        return replace(given, reshape_graph=supervise)

    def _prepare_rows(
        self,
        rows: Rows,
        recipe: Recipe,
        inputs: FitInputs,
        backend: Backend,
        progress: Progress,
        seed: int,
        like: Any = None,
    ) -> tuple[Embedding, FittedState]:
        """As in ``Embedder``; equal rows become one point if ``unique``, and isolated points are reported."""
        self._check_target(inputs.y)
        all_rows, labels, inverse = rows, inputs.y, None
        if self.unique:
            rows = to_host(rows)
            kept, inverse = distinct_rows(rows)
            rows = rows if len(kept) == rows.shape[0] else rows[kept]
            inputs = inputs.distinct(kept, inverse)
        prepared, state = super()._prepare_rows(rows, recipe, inputs, backend, progress, seed, like)
        if inverse is not None:
            training = TrainingRows(all_rows, recipe)
            radii = None if state.rad_orig_ is None else state.rad_orig_[inverse]
            state = replace(state, _training=training, _unique_inverse_=inverse, rad_orig_=radii)
        if labels is not None:
            labels = label_array(labels)
            state = replace(state, _labels=labels.astype(object) if labels.dtype.kind == "U" else labels)
        isolated = to_host(isolated_points(prepared.graph))
        if isolated.any() and len(isolated) > 1:
            limit = disconnection_distance(recipe.metric, self.disconnection_distance)
            _warn_of_disconnected(int(isolated.sum()), len(isolated), limit)
            isolated = state.spread_over_points(isolated, False)
            state = replace(state, _disconnected=isolated if self.disconnected == "nan" else None)
        return prepared, state

    def _checked_map(self) -> Array:
        """As in ``Embedder``; disconnected samples may be NaN."""
        if not hasattr(self, "_disconnected"):
            return super()._checked_map()
        places = to_host(self.embedding_)
        shown = ~np.isnan(places).any(axis=1)
        check_map(places[shown], int(shown.sum()), self.recipe_.n_components)
        return places

    def _place(self, rows: Rows, backend: Backend) -> Array:
        """As in ``Embedder``; rows without a connected neighbour get NaN if such samples have."""
        if not hasattr(self, "_disconnected"):
            return super()._place(rows, backend)
        training, places, counted = self._map_of(~np.isnan(self.embedding_).any(axis=1))
        rows = training.columns_of(rows, counted)
        if not len(places):
            return np.full((rows.shape[0], self.recipe_.n_components), np.nan, np.float32)
        model = snapshot(self)
        model.__dict__.pop("_weightless", None)
        model._training, model.embedding_ = training, places
        places = to_host(Embedder._place(model, rows, backend))
        found = training.query_on_host(to_host(rows), 1, count_threads(self.n_jobs))
        limit = disconnection_distance(self.recipe_.metric, self.disconnection_distance)
        places[too_far(found.distances[:, 0], limit)] = np.nan
        return places


def _check_target_metric(metric: Any) -> None:
    """Reject a metric that compares neither labels nor numbers."""
    if is_discrete(metric):
        return
    try:
        canonical_metric(metric)
    except (TypeError, ValueError) as error:
        close = closest_name(metric, DISCRETE_METRICS)
        if close is not None:
            raise ValueError(f"target_metric={metric!r} is not known: did you mean {close!r}?") from None
        labels = f"; labels are compared by {', '.join(map(repr, DISCRETE_METRICS))}"
        raise type(error)(f"target_{error}{'' if str(error).endswith('?') else labels}") from None


def _are_unsuitable(neighbors: Neighbors, n: int, recipe: Recipe) -> bool:
    """Whether given neighbours do not suit the data, as umap-learn decides; warns that they are not used."""
    wanted = min(recipe.neighbors_per_row(), n - 1)
    if len(neighbors) == n and neighbors.indices.shape[1] >= wanted:
        return False
    warn_user(
        f"precomputed_knn has {neighbors.indices.shape[1]} neighbours of each of {len(neighbors)} "
        f"samples, not counting itself, but {wanted} of {n} samples are needed: it is not used, and "
        "neighbours are searched in X"
    )
    return True


def _warn_of_disconnected(count: int, n: int, limit: float) -> None:
    """Say how many samples have no neighbour that counts."""
    amount = "A few" if count < _FEW_DISCONNECTED * n else "A large number"
    reason = f"at a distance below {limit:g}" if limit < math.inf else "that counts"
    warn_user(
        f"{amount} of your vertices were disconnected from the graph: {count} of {n} samples have no "
        f"neighbour {reason}. Raise n_neighbors or disconnection_distance, or leave these samples out; "
        "actup.compat.umap.utils.disconnected_vertices(model) lists them"
    )
