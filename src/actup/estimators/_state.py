"""FittedState: everything that a run leaves on an estimator, replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from actup._device import to_host
from actup._pipeline import Embedding
from actup._typing import CsrMatrix
from actup.estimators._network import Network
from actup.graph._records import Graph
from actup.graph._sample_weights import add_isolated_points
from actup.recipe._recipe import Recipe
from actup.transform._new_rows import TrainingRows

Estimator = TypeVar("Estimator")


def snapshot(estimator: Estimator) -> Estimator:
    """The estimator as it is now, whatever a fit in a callback or another thread does to it later."""
    same = object.__new__(type(estimator))
    same.__dict__ = dict(vars(estimator))
    return same


class FittedAttribute:
    """An attribute that follows from a fitted model and is computed when it is read.

    A value that a program assigns takes its place, as with umap-learn's attributes.
    """

    def __init__(self, derive: Callable[[Any], Any]):
        self._derive = derive

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        check_is_fitted(model, "embedding_")
        return self._derive(model)


def check_has_graph(estimator: Any) -> None:
    """Raise NotFittedError if an estimator is not fitted, AttributeError if it was fitted to files."""
    if is_fitted_to_files(estimator):
        raise AttributeError(
            "this model was fitted by fit_files, which keeps neither rows nor graph: fit a sample of the "
            "rows, e.g. model.fit(sample), for all that needs them"
        )
    check_is_fitted(estimator, "_derived")


def is_fitted_to_files(estimator: Any) -> bool:
    """Whether ``fit_files`` was the last fit of an estimator."""
    own = vars(estimator)
    return "recipe_" in own and "_training" not in own and "_derived" not in own


@dataclass(eq=False)
class Derived:
    """What is computed from a run when it is first read. Each run has its own, so that runs cannot mix.

    The steps of a run share it: its graph is theirs, and the divergence says which map it belongs to.
    """

    graph: Graph | CsrMatrix  # a graph on a GPU stays there until it is read
    divergence: tuple[bytes, float, str] | None = None  # digest of the map, value, method

    def scipy_graph(self) -> CsrMatrix:
        """The graph as a SciPy matrix, converted once."""
        if isinstance(self.graph, Graph):
            self.graph = self.graph.to_scipy()
        return self.graph


@dataclass(frozen=True)
class FittedState:
    """Everything that a run leaves on an estimator; each field becomes the attribute of that name."""

    embedding_: np.ndarray
    init_used_: str
    n_epochs_: int
    recall_: float
    recipe_: Recipe
    seed_: int
    stage_seconds_: dict[str, float]
    n_features_in_: int
    feature_names_in_: np.ndarray | None  # None: X had no names, and there is no such attribute
    _training: TrainingRows | None  # None: the model has a graph but no rows
    _derived: Derived | None  # None: the model was fitted to files, and has no graph either
    # What only some runs leave; None: there is no such attribute.
    embedding_list_: list[np.ndarray] | None = None
    rad_orig_: np.ndarray | None = None
    _edge_lengths: np.ndarray | None = None  # (edges,): the distances along the edges of the graph
    movement_: float | None = None
    n_shared_: int | None = None
    network_: Network | None = None
    network_error_: float | None = None
    _labels: np.ndarray | None = None
    _disconnected: np.ndarray | None = None  # (points,): points whose coordinates are shown as NaN
    _weightless: np.ndarray | None = None  # (points,): points of weight 0, which the run left out
    _unique_inverse_: np.ndarray | None = None  # (n_samples,): the point of each sample

    @classmethod
    def of_run(
        cls, prepared: Embedding, training: TrainingRows | None, seed: int, checked: Any
    ) -> FittedState:
        """The state of a run that is prepared up to the layout.

        Parameters
        ----------
        prepared : Embedding
        training : TrainingRows or None
        seed : int
        checked : estimator
            What scikit-learn has set ``n_features_in_`` and, if X had names, ``feature_names_in_`` on.
        """
        return cls(
            embedding_=prepared.embedding,
            init_used_=prepared.init_used,
            n_epochs_=prepared.n_epochs,
            recall_=prepared.recall,
            recipe_=prepared.recipe,
            seed_=seed,
            stage_seconds_=prepared.seconds,
            n_features_in_=checked.n_features_in_,
            feature_names_in_=getattr(checked, "feature_names_in_", None),
            _training=training,
            _derived=Derived(prepared.graph),
            rad_orig_=prepared.radii,
            _edge_lengths=prepared.edge_lengths,
        )

    def with_left_out(self, weighty: np.ndarray, n: int) -> Self:
        """The state of a run of some points, whose numbers are given, as one of ``n`` points.

        The other points have no edges, and are NaN until the caller has placed them.
        """
        weightless = np.ones(n, bool)
        weightless[weighty] = False
        state = replace(self, _weightless=weightless)
        assert self._derived is not None
        graph = self._derived.graph
        assert isinstance(graph, Graph)
        radii = self.rad_orig_
        return replace(
            state,
            embedding_=state._shown(self.embedding_),
            _derived=Derived(add_isolated_points(graph, weighty, n)),
            rad_orig_=None if radii is None else state.spread_over_points(radii, np.nan),
        )

    def spread_over_points(self, values: np.ndarray, missing: float | bool) -> np.ndarray:
        """Values of the points that the run had, as values of all; ``missing`` where it left a point out."""
        if self._weightless is None:
            return values
        values = to_host(values)
        spread = np.full((len(self._weightless), *values.shape[1:]), missing, values.dtype)
        spread[~self._weightless] = values
        return spread

    def weightless_samples(self) -> np.ndarray | None:
        """Which samples have weight 0; None: none of them."""
        if self._weightless is None or self._unique_inverse_ is None:
            return self._weightless
        return np.asarray(self._weightless[self._unique_inverse_])

    def advanced_to(self, reached: Embedding) -> Self:
        """The state of the same run after further epochs."""
        return replace(
            self,
            embedding_=self._shown(reached.embedding),
            n_epochs_=reached.n_epochs,
            stage_seconds_=reached.seconds,
            embedding_list_=[self._shown(map_) for map_ in reached.snapshots] or None,
        )

    def _shown(self, embedding: np.ndarray) -> np.ndarray:
        """The map as the caller sees it: every sample has a row, disconnected ones may be NaN."""
        embedding = self.spread_over_points(embedding, np.nan)
        if self._disconnected is not None:
            embedding = embedding.copy()
            embedding[self._disconnected] = np.nan
        return embedding if self._unique_inverse_ is None else embedding[self._unique_inverse_]

    def replace_state_of(self, estimator: object) -> None:
        """Give an estimator all attributes of this state in place of those of its former run.

        One assignment replaces them all: no exception, signal handler or other thread can see, or leave
        behind, some attributes of one run beside some of another. What another thread sets on the estimator
        (``set_params``, its own attributes) while this method runs may be lost.
        """
        names = {field.name for field in fields(self)}
        others = {name: value for name, value in dict(vars(estimator)).items() if name not in names}
        estimator.__dict__ = others | {name: value for name, value in vars(self).items() if value is not None}
