"""TSNE: the estimator of openTSNE, and the names that programs import from its module ``tsne``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from actup._arguments import explain_unknown_arguments
from actup.compat.opentsne import affinity
from actup.compat.opentsne import initialization as initialization_scheme
from actup.compat.opentsne._descent import OptimizationInterrupt, gradient_descent
from actup.compat.opentsne._embeddings import (
    PartialTSNEEmbedding,
    TSNEEmbedding,
    check_start,
    optimize_in_two_phases,
)
from actup.compat.opentsne._objectives import Objective
from actup.compat.opentsne._objectives import kl_divergence_bh as kl_divergence_bh
from actup.compat.opentsne._objectives import kl_divergence_fft as kl_divergence_fft
from actup.neighbors._not_rows import with_shape

__all__ = [
    "TSNE",
    "OptimizationInterrupt",
    "PartialTSNEEmbedding",
    "TSNEEmbedding",
    "gradient_descent",
]

log = logging.getLogger(__name__)

_WIDE_START = 1e-2  # standard deviation from which a given start may converge badly
_MIN_EARLY_EXAGGERATION = 12.0  # early_exaggeration="auto": this, or exaggeration if that is larger


@explain_unknown_arguments
class TSNE(BaseEstimator):
    """t-SNE with the parameters, the schedule and the results of openTSNE.

    ``fit`` returns an array of points, which can be optimised further and take in new rows. ``actup.TSNE``
    needs fewer iterations for a lower KL divergence.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float or sequence of float, default=30
        Effective number of neighbours of a row; several: see ``affinity.MultiscaleMixture``.
    learning_rate : float or "auto", default="auto"
        Factor of the steps; "auto": the number of rows divided by the exaggeration of the phase.
    early_exaggeration_iter : int, default=250
        Number of iterations in the first phase.
    early_exaggeration : float or "auto", default="auto"
        Factor of the attraction in that phase; "auto": 12, or ``exaggeration`` if that is larger.
    n_iter : int, default=500
        Number of iterations in the second phase.
    exaggeration : float, default=None
        Factor of the attraction in that phase; None: 1.
    dof : float, default=1
        Degrees of freedom of the kernel: less than 1 gives heavier tails.
    theta : float, default=0.5
        How wide a group of points may be relative to its distance, for "bh"; 0: sums are exact.
    n_interpolation_points : int, default=3
        Lines of the mesh in an interval, for "fft".
    min_num_intervals : int, default=50
        While the embedding is narrower than this many intervals, the lines are twice as close.
    ints_in_interval : float, default=1
        Width of an interval.
    initialization : {"pca", "spectral", "random"} or array, default="pca"
        Where the points start. Without rows, or with distances, "pca" means "spectral".
    metric : str or callable, default="euclidean"
        Distance between rows: a metric of ``actup.nearest_neighbors``, or "precomputed".
    metric_params : dict, default=None
        Parameters of the metric.
    initial_momentum, final_momentum : float, default=0.8
        Momentum in the first and in the second phase.
    max_grad_norm : float, default=None
        Longer gradients of a point are shortened to this length.
    max_step_norm : float, default=5
        Longer steps of a point are shortened to this length.
    n_jobs : int, default=1
        Number of threads; -1: one per core. It never changes the result.
    neighbors : str or KNNIndex, default="auto"
        "exact", "annoy", "pynndescent", "hnsw" or "approx"; all but "exact" are ActUp's own search. "auto":
        exact for fewer than 1000 rows.
    knn_kwargs : dict, default=None
        Without effect: options of the libraries that openTSNE uses.
    negative_gradient_method : str or callable, default="auto"
        How repulsion is computed. "bh": by a Barnes-Hut tree, "fft": on a mesh, in one or two dimensions;
        "auto": "bh" for fewer than 10,000 rows. A function takes the place of
        ``actup.compat.opentsne.tsne.kl_divergence_bh``.
    callbacks : callable or sequence of callable, default=None
        Called as ``callback(iteration, error, embedding)``; True stops the optimisation.
    callbacks_every_iters : int, default=50
        Iterations between two calls.
    random_state : int or RandomState, default=None
        Where random numbers come from.
    verbose : bool, default=False
        Whether to print what is done, and the KL divergence every 50 iterations.

    See Also
    --------
    actup.TSNE : t-SNE with the parameters of scikit-learn, which needs fewer iterations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> X = load_iris().data
    >>> embedding = opentsne.TSNE(n_iter=100, random_state=0).fit(X[::2])
    >>> embedding.shape, embedding.kl_divergence < 0.4
    ((75, 2), True)
    >>> embedding.transform(X[1::2]).shape
    (75, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        perplexity: float | Any = 30,
        learning_rate: float | str = "auto",
        early_exaggeration_iter: int = 250,
        early_exaggeration: float | str = "auto",
        n_iter: int = 500,
        exaggeration: float | None = None,
        dof: float = 1,
        theta: float = 0.5,
        n_interpolation_points: int = 3,
        min_num_intervals: int = 50,
        ints_in_interval: float = 1,
        initialization: str | np.ndarray = "pca",
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        initial_momentum: float = 0.8,
        final_momentum: float = 0.8,
        max_grad_norm: float | None = None,
        max_step_norm: float | None = 5,
        n_jobs: int = 1,
        neighbors: str | Any = "auto",
        knn_kwargs: dict[str, Any] | None = None,
        negative_gradient_method: str | Objective = "auto",
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.learning_rate = learning_rate
        self.early_exaggeration_iter = early_exaggeration_iter
        self.early_exaggeration = early_exaggeration
        self.n_iter = n_iter
        self.exaggeration = exaggeration
        self.dof = dof
        self.theta = theta
        self.n_interpolation_points = n_interpolation_points
        self.min_num_intervals = min_num_intervals
        self.ints_in_interval = ints_in_interval
        if isinstance(initialization, np.ndarray):
            check_start(initialization, len(np.atleast_1d(initialization)), n_components)
        self.initialization = initialization
        self.metric = metric
        self.metric_params = metric_params
        self.initial_momentum = initial_momentum
        self.final_momentum = final_momentum
        self.max_grad_norm = max_grad_norm
        self.max_step_norm = max_step_norm
        self.n_jobs = n_jobs
        self.neighbors = neighbors
        self.knn_kwargs = knn_kwargs
        self.negative_gradient_method = negative_gradient_method
        self.callbacks = callbacks
        self.callbacks_every_iters = callbacks_every_iters
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any = None,
        affinities: affinity.Affinities | None = None,
        initialization: str | np.ndarray | None = None,
    ) -> TSNEEmbedding:
        """Make an embedding: early exaggeration, then the second phase.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), default=None
            The rows; distances if ``metric`` is "precomputed".
        affinities : Affinities, default=None
            Similarities in place of those that would be computed from X.
        initialization : str or array, default=None
            Where the points start; None: as the parameter says.

        Returns
        -------
        TSNEEmbedding
        """
        if self.verbose:
            print("-" * 80, repr(self), "-" * 80, sep="\n")
        made: TSNEEmbedding = optimize_in_two_phases(
            self.prepare_initial(X, affinities, initialization),
            {
                "n_iter": self.early_exaggeration_iter,
                "exaggeration": self._early_exaggeration(),
                "momentum": self.initial_momentum,
            },
            {"n_iter": self.n_iter, "exaggeration": self.exaggeration, "momentum": self.final_momentum},
            {"inplace": True, "propagate_exception": True},
        )
        return made

    def _early_exaggeration(self) -> Any:
        if isinstance(self.early_exaggeration, str):
            return max(_MIN_EARLY_EXAGGERATION, self.exaggeration or 1)
        return self.early_exaggeration

    def prepare_initial(
        self,
        X: Any = None,
        affinities: affinity.Affinities | None = None,
        initialization: str | np.ndarray | None = None,
    ) -> TSNEEmbedding:
        """An embedding at its start, ready to be optimised.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), default=None
            The rows; distances if ``metric`` is "precomputed".
        affinities : Affinities, default=None
            Similarities in place of those that would be computed from X.
        initialization : str or array, default=None
            Where the points start; None: as the parameter says.

        Returns
        -------
        TSNEEmbedding
        """
        if X is None and affinities is None:
            raise ValueError("X and affinities are both None: give one of them")
        X = with_shape(X, "X")
        if affinities is None:
            affinities = affinity.MultiscaleMixture(
                X,
                self.perplexity,
                method=self.neighbors,
                metric=self.metric,
                metric_params=self.metric_params,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                verbose=self.verbose,
                knn_kwargs=self.knn_kwargs,
            )
        elif not isinstance(affinities, affinity.Affinities):
            raise ValueError(f"affinities is a {type(affinities).__name__}: give an instance of Affinities")
        kind = self.initialization if initialization is None else initialization
        return TSNEEmbedding(
            self._start(X, affinities, kind, affinities.P.shape[0] if X is None else X.shape[0]),
            affinities=affinities,
            random_state=self.random_state,
            dof=self.dof,
            negative_gradient_method=self.negative_gradient_method,
            learning_rate=self.learning_rate,
            momentum=self.final_momentum,
            theta=self.theta,
            n_interpolation_points=self.n_interpolation_points,
            min_num_intervals=self.min_num_intervals,
            ints_in_interval=self.ints_in_interval,
            max_grad_norm=self.max_grad_norm,
            max_step_norm=self.max_step_norm,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            callbacks=self.callbacks,
            callbacks_every_iters=self.callbacks_every_iters,
        )

    def _start(
        self, X: Any, affinities: affinity.Affinities, kind: str | np.ndarray, n_samples: int
    ) -> np.ndarray:
        if isinstance(kind, np.ndarray):
            check_start(kind, n_samples, self.n_components)
            if (np.std(kind, axis=0) > _WIDE_START).any():
                log.warning(
                    "the start has a standard deviation of more than %s: the descent may converge badly",
                    _WIDE_START,
                )
            return np.array(kind)
        precomputed = isinstance(self.metric, str) and self.metric == "precomputed"
        if kind == "pca" and (X is None or precomputed):
            log.warning("there are no rows to take principal components of: the start is 'spectral'")
            kind = "spectral"
        options = {"random_state": self.random_state, "verbose": self.verbose}
        if kind == "pca":
            return initialization_scheme.pca(X, self.n_components, **options)
        if kind == "random":
            return initialization_scheme.random(n_samples, self.n_components, **options)
        if kind == "spectral":
            return initialization_scheme.spectral(affinities.P, self.n_components, **options)
        raise ValueError(f"initialization={kind!r} is not 'pca', 'spectral', 'random' or an array")
