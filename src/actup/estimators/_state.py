"""FittedState: everything that a run leaves on an estimator, replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from actup._pipeline import Embedding
from actup._typing import CsrMatrix
from actup.estimators._network import Network
from actup.graph._records import Graph
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
    _derived: Derived
    # What only some runs leave; None: there is no such attribute.
    embedding_list_: list[np.ndarray] | None = None
    rad_orig_: np.ndarray | None = None
    _edge_lengths: np.ndarray | None = None  # (edges,): the distances along the edges of the graph
    movement_: float | None = None
    network_: Network | None = None
    network_error_: float | None = None
    _labels: np.ndarray | None = None
    _disconnected: np.ndarray | None = None  # (points,): points whose coordinates are shown as NaN
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
            recall_=float("nan") if prepared.neighbors is None else prepared.neighbors.recall,
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
