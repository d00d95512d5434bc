"""memory_estimate() of the estimators, and what max_memory makes of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actup._given import Given
from actup._memory import MemoryEstimate, estimate_run, lean_enough, reject_unreadable
from actup._threads import count_threads
from actup.backends import Backend
from actup.backends._memory._shape import GraphChanges, Lean
from actup.estimators._inputs import FitInputs, read_affinities, read_given_neighbors, read_mobility
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe


class MemoryMixin:
    """Gives an estimator ``memory_estimate``."""

    if TYPE_CHECKING:  # what an Embedder has
        precomputed_knn: Any
        init: Any
        n_jobs: int | None
        backend: str
        max_memory: int | str | None

        def _checked_recipe(self) -> Recipe: ...

    def memory_estimate(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        fixed: Any = None,
        dtype: Any = None,
        stored_values: int | None = None,
    ) -> MemoryEstimate:
        """Estimate how much memory ``fit(X)`` takes, stage by stage, without running it.

        Parameters
        ----------
        X : array-like, sparse matrix, or tuple of two int
            What ``fit`` would be given, or only its shape: (n_samples, n_features).
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The labels or target values that ``fit`` would be given; only those of ``UMAP`` take memory.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that ``fit`` would be given.
        fixed : array-like of shape (n_samples,), default=None
            Which samples ``fit`` would keep at their places.
        dtype : dtype, default=None
            Type of the values, if X is a shape; None: float32.
        stored_values : int, default=None
            How many values a sparse matrix of this shape stores, if X is a shape; None: rows are dense.

        Returns
        -------
        MemoryEstimate
            Bytes of every stage, with X but without Python and its libraries; within 20 % (of less than 5 MB:
            1 MB) for metrics that the engine computes. ``describe()`` shows it. With ``unique=True``,
            duplicates are counted if X is an array or a CSR matrix; otherwise they are taken for few, which
            take most memory. The network of ``ParametricUMAP`` is not counted.

        See Also
        --------
        actup.memory_estimate : The same for a recipe.

        Examples
        --------
        >>> import actup
        >>> estimate = actup.TSNE(perplexity=10).memory_estimate((1_000_000, 50))
        >>> 0.6e9 < estimate.bytes < 1.2e9
        True
        """
        recipe = self._checked_recipe()  # first: rejects what cannot be run
        given = self._given_for_memory(X, FitInputs(y, sample_weight, fixed))
        estimate = estimate_run(X, recipe, given, self.n_jobs, self.backend, dtype, stored_values)
        if fixed is not None:
            read_mobility(fixed, self.init, estimate.rows)
        return estimate

    def _lean(self, X: Any, recipe: Recipe, inputs: FitInputs, backend: Backend) -> Lean:
        """Where a fit must take less memory than usual; raises MemoryError if that is not enough."""
        if self.max_memory is None:
            return Lean()
        given, threads = self._given_for_memory(X, inputs), count_threads(self.n_jobs)
        return lean_enough(self.max_memory, X, recipe, given, threads, backend)

    def _given_for_memory(self, X: Any, inputs: FitInputs) -> Given:
        """What of a fit's inputs decides how much memory it takes."""
        reject_unreadable(X)
        changes = self._graph_changes(inputs)
        init = self.init if inputs.init is None else inputs.init
        return Given(
            init=None if isinstance(init, str) else init,
            mobility=None if inputs.fixed is None else np.empty(0),
            neighbors=read_given_neighbors(self.precomputed_knn),
            graph=None if inputs.affinities is None else read_affinities(inputs.affinities),
            reshape_graph=None if changes == GraphChanges() else _as_it_is,
            graph_changes=changes,
            copies_rows=self._copies_rows(inputs),
            left_out=self._count_left_out(X, inputs),
            keep_radii=bool(getattr(self, "output_dens", False)),
            keep_neighbors=False,
        )

    def _graph_changes(self, inputs: FitInputs) -> GraphChanges:
        """What changes the graph after it has been made."""
        return GraphChanges(weighted=inputs.sample_weight is not None)

    def _copies_rows(self, inputs: FitInputs) -> bool:
        """Whether a run is made of a copy of some rows: samples of weight 0 take no part."""
        return inputs.sample_weight is not None and bool((np.asarray(inputs.sample_weight) == 0).any())

    def _count_left_out(self, X: Any, inputs: FitInputs) -> int | None:
        """How many rows of X take no part in a run; None: unknown, and counted as if they were few."""
        return 0 if inputs.sample_weight is None else int((np.asarray(inputs.sample_weight) == 0).sum())


def _as_it_is(graph: Graph, **_: Any) -> Graph:
    return graph
