"""TSNEEmbedding and PartialTSNEEmbedding: arrays of points that can be optimised further."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from actup.compat.opentsne import affinity
from actup.compat.opentsne import initialization as initialization_scheme
from actup.compat.opentsne._descent import (
    OptimizationInterrupt,
    gradient_descent,
    positive_jobs,
    resolve_parameters,
)
from actup.compat.opentsne._interpolation import InterpolationGrid
from actup.compat.opentsne._objectives import Objective, mesh_spacing

log = logging.getLogger("actup.compat.opentsne.tsne")  # the module that programs know


def check_start(start: np.ndarray, n_samples: int, n_components: int | None = None) -> None:
    if start.ndim != 2:
        raise ValueError(f"the start has shape {start.shape}, not (n_samples, n_components)")
    if start.shape[0] != n_samples:
        raise ValueError(f"the start has {start.shape[0]} points, but there are {n_samples} rows")
    if n_components is not None and start.shape[1] != n_components:
        raise ValueError(f"the start has {start.shape[1]} dimensions, but n_components={n_components}")


class _Embedding(np.ndarray):
    """Points that carry what their optimisation needs, also through pickles."""

    _CARRIED: tuple[str, ...] = ()

    gradient_descent_params: dict[str, Any]
    optimizer: gradient_descent
    kl_divergence: float | None

    def optimize(
        self,
        n_iter: int,
        inplace: bool = False,
        propagate_exception: bool = False,
        **gradient_descent_params: Any,
    ) -> Self:
        """Move the points.

        Parameters
        ----------
        n_iter : int
            Number of iterations.
        inplace : bool, default=False
            Whether to move the points of this object, or those of a copy.
        propagate_exception : bool, default=False
            Whether to raise ``OptimizationInterrupt`` if a callback stops the optimisation.
        **gradient_descent_params
            ``learning_rate``, ``exaggeration``, ``momentum``, ``negative_gradient_method``, ``theta``,
            ``n_interpolation_points``, ``min_num_intervals``, ``ints_in_interval``, ``dof``,
            ``max_grad_norm``, ``max_step_norm``, ``n_jobs``, ``callbacks``, ``callbacks_every_iters`` and
            ``verbose``: as in ``TSNE``, whose values they replace.

        Returns
        -------
        TSNEEmbedding or PartialTSNEEmbedding
            The moved points.
        """
        moved: Any = self if inplace else self._copy()
        arguments = moved._begin_descent()
        params = resolve_parameters(len(self), {**self.gradient_descent_params, **gradient_descent_params})
        try:
            error, moved = moved.optimizer(embedding=moved, n_iter=n_iter, **arguments, **params)
        except OptimizationInterrupt as interrupt:
            log.info("Optimization was interrupted with callback.")
            error, moved = interrupt.error, interrupt.final_embedding
            if propagate_exception:
                moved.kl_divergence = error
                raise
        moved.kl_divergence = error
        result: Self = moved
        return result

    def _copy(self) -> Any:
        """The same points with a copy of the optimiser's state."""
        raise NotImplementedError

    def _begin_descent(self) -> dict[str, Any]:
        """Drop what holds for the present places only; gives the affinities and the reference embedding."""
        raise NotImplementedError

    def __reduce__(self) -> Any:
        reduced: Any = super().__reduce__()
        make, arguments, state = reduced
        carried = {name: getattr(self, name) for name in self._CARRIED if hasattr(self, name)}
        return make, arguments, (state, carried)

    def __setstate__(self, state: Any) -> None:
        array, carried = state
        super().__setstate__(array)
        self.__dict__.update(carried)


def _checked_optimizer(optimizer: gradient_descent | None) -> gradient_descent:
    if optimizer is None:
        return gradient_descent()
    if not isinstance(optimizer, gradient_descent):
        raise TypeError(f"optimizer={optimizer!r} must be a gradient_descent")
    return optimizer


class PartialTSNEEmbedding(_Embedding):
    """New points on a finished embedding, which does not move.

    Parameters
    ----------
    embedding : ndarray of shape (n_rows, n_components)
        Where the points start.
    reference_embedding : TSNEEmbedding
        The finished embedding.
    P : scipy CSR matrix of shape (n_rows, n_samples)
        Affinities of the new points to those of the finished embedding.
    optimizer : gradient_descent, default=None
        An optimiser whose state is continued.
    **gradient_descent_params
        Parameters of ``optimize``.

    Attributes
    ----------
    kl_divergence : float or None
        The sum of the new points' KL divergences after the last ``optimize``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> X = load_iris().data
    >>> embedding = opentsne.TSNE(n_iter=50, random_state=0).fit(X[::2])
    >>> partial = embedding.prepare_partial(X[1::2], perplexity=5)
    >>> partial.optimize(20, learning_rate=0.1).shape
    (75, 2)
    """

    _CARRIED = ("reference_embedding", "P", "gradient_descent_params", "optimizer", "kl_divergence")

    reference_embedding: TSNEEmbedding
    P: csr_matrix

    def __new__(
        cls,
        embedding: np.ndarray,
        reference_embedding: TSNEEmbedding,
        P: csr_matrix,
        optimizer: gradient_descent | None = None,
        **gradient_descent_params: Any,
    ) -> Self:
        """Copy the start."""
        check_start(embedding, P.shape[0])
        made = np.array(embedding, dtype=np.float64, order="C").view(cls)
        made.reference_embedding = reference_embedding
        made.P = P
        made.gradient_descent_params = gradient_descent_params
        made.optimizer = _checked_optimizer(optimizer)
        made.kl_divergence = None
        return made

    def _copy(self) -> PartialTSNEEmbedding:
        return PartialTSNEEmbedding(
            np.copy(self),
            self.reference_embedding,
            self.P,
            optimizer=self.optimizer.copy(),
            **self.gradient_descent_params,
        )

    def _begin_descent(self) -> dict[str, Any]:
        return {"P": self.P, "reference_embedding": self.reference_embedding}


class TSNEEmbedding(_Embedding):
    """An embedding: an array of points that can be optimised further and take in new rows.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        Where the points start.
    affinities : Affinities
        Similarities of the rows.
    dof : float, default=1
        Degrees of freedom of the kernel.
    n_interpolation_points, min_num_intervals, ints_in_interval : float
        Decide how close the lines of the mesh are; see ``TSNE``.
    negative_gradient_method : str or callable, default="auto"
        How repulsion is computed; see ``TSNE``.
    random_state : int or RandomState, default=None
        Where random starts of new rows come from.
    optimizer : gradient_descent, default=None
        An optimiser whose state is continued.
    **gradient_descent_params
        Parameters of ``optimize``.

    Attributes
    ----------
    kl_divergence : float or None
        The KL divergence after the last ``optimize``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> X = load_iris().data
    >>> affinities = opentsne.affinity.PerplexityBasedNN(X, perplexity=20)
    >>> start = opentsne.initialization.pca(X, random_state=0)
    >>> embedding = opentsne.TSNEEmbedding(start, affinities)
    >>> embedding = embedding.optimize(50, exaggeration=12).optimize(100)
    >>> embedding.shape, embedding.kl_divergence < 0.4
    ((150, 2), True)
    """

    _CARRIED = (
        "optimizer",
        "affinities",
        "gradient_descent_params",
        "random_state",
        "kl_divergence",
        "interp_coeffs",
        "box_x_lower_bounds",
        "box_y_lower_bounds",
    )

    affinities: affinity.Affinities
    random_state: Any
    interp_coeffs: InterpolationGrid | None
    box_x_lower_bounds: np.ndarray | None
    box_y_lower_bounds: np.ndarray | None

    def __new__(
        cls,
        embedding: np.ndarray,
        affinities: affinity.Affinities,
        dof: float = 1,
        n_interpolation_points: int = 3,
        min_num_intervals: int = 50,
        ints_in_interval: float = 1,
        negative_gradient_method: str | Objective = "auto",
        random_state: Any = None,
        optimizer: gradient_descent | None = None,
        **gradient_descent_params: Any,
    ) -> Self:
        """Copy the start."""
        check_start(embedding, affinities.P.shape[0])
        made = np.array(embedding, dtype=np.float64, order="C").view(cls)
        made.affinities = affinities
        made.gradient_descent_params = {
            **gradient_descent_params,
            "negative_gradient_method": negative_gradient_method,
            "n_interpolation_points": n_interpolation_points,
            "min_num_intervals": min_num_intervals,
            "ints_in_interval": ints_in_interval,
            "dof": dof,
        }
        made.random_state = random_state
        made.optimizer = _checked_optimizer(optimizer)
        made.kl_divergence = None
        made._forget_grid()
        return made

    def _forget_grid(self) -> None:
        self.interp_coeffs = self.box_x_lower_bounds = self.box_y_lower_bounds = None

    def _copy(self) -> TSNEEmbedding:
        return TSNEEmbedding(
            np.copy(self),
            self.affinities,
            random_state=self.random_state,
            optimizer=self.optimizer.copy(),
            **self.gradient_descent_params,
        )

    def _begin_descent(self) -> dict[str, Any]:
        self._forget_grid()
        return {"P": self.affinities.P}

    def transform(
        self,
        X: Any,
        perplexity: float = 5,
        initialization: str | np.ndarray = "median",
        k: int = 25,
        learning_rate: float | str = 0.1,
        early_exaggeration: float | None = 4,
        early_exaggeration_iter: int = 0,
        exaggeration: float | None = 1.5,
        n_iter: int = 250,
        initial_momentum: float = 0.8,
        final_momentum: float = 0.8,
        max_grad_norm: float | None = 0.25,
        max_step_norm: float | None = None,
    ) -> PartialTSNEEmbedding:
        """Place new rows on the embedding, each of them independently of the others.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            The new rows; distances to the rows if the metric was "precomputed".
        perplexity : float, default=5
            Effective number of neighbours of a new row.
        initialization : {"median", "weighted", "random"} or array, default="median"
            Where the new points start.
        k : int, default=25
            Neighbours whose places decide where a new point starts.
        learning_rate : float or "auto", default=0.1
            Factor of the steps.
        early_exaggeration : float, default=4
            Factor of the attraction in the first iterations.
        early_exaggeration_iter : int, default=0
            Number of these iterations.
        exaggeration : float, default=1.5
            Factor of the attraction afterwards.
        n_iter : int, default=250
            Number of iterations afterwards.
        initial_momentum, final_momentum : float, default=0.8
            Momentum in the first iterations, and afterwards.
        max_grad_norm : float, default=0.25
            Longer gradients of a point are shortened to this length.
        max_step_norm : float, default=None
            Longer steps of a point are shortened to this length.

        Returns
        -------
        PartialTSNEEmbedding
            The new points.
        """
        names = inspect.signature(self.affinities.to_new).parameters
        name = next((name for name in ("perplexity", "perplexities") if name in names), None)
        if name is None:
            raise TypeError(
                f"transform needs affinities with a perplexity, not {type(self.affinities).__name__}: use "
                "prepare_partial and optimize"
            )
        partial = self.prepare_partial(X, initialization=initialization, k=k, **{name: perplexity})
        common = {
            "learning_rate": learning_rate,
            "inplace": True,
            "propagate_exception": True,
            "max_grad_norm": max_grad_norm,
            "max_step_norm": max_step_norm,
        }
        placed: PartialTSNEEmbedding = optimize_in_two_phases(
            partial,
            {
                "n_iter": early_exaggeration_iter,
                "exaggeration": early_exaggeration,
                "momentum": initial_momentum,
            },
            {"n_iter": n_iter, "exaggeration": exaggeration, "momentum": final_momentum},
            common,
        )
        return placed

    def prepare_partial(
        self, X: Any, initialization: str | np.ndarray = "median", k: int = 25, **affinity_params: Any
    ) -> PartialTSNEEmbedding:
        """New points at their start, ready to be optimised.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            The new rows.
        initialization : {"median", "weighted", "random"} or array, default="median"
            Where the new points start.
        k : int, default=25
            Neighbours whose places decide where a new point starts.
        **affinity_params
            Parameters of the affinities' ``to_new``.

        Returns
        -------
        PartialTSNEEmbedding
        """
        names = inspect.signature(self.affinities.to_new).parameters
        if "perplexities" in names and "perplexity" in affinity_params:
            affinity_params.setdefault("perplexities", affinity_params.pop("perplexity"))
        if isinstance(initialization, np.ndarray):
            check_start(initialization, X.shape[0], self.shape[1])
        elif initialization not in ("random", "weighted", "median"):
            raise ValueError(
                f"initialization={initialization!r} is not 'median', 'weighted', 'random' or an array"
            )
        P, neighbors, distances = self.affinities.to_new(X, return_distances=True, **affinity_params)
        if isinstance(initialization, np.ndarray):
            start = np.array(initialization)
        elif initialization == "random":
            start = initialization_scheme.random(X, self.shape[1], random_state=self.random_state)
        elif initialization == "weighted":
            start = initialization_scheme.weighted_mean(X, self, neighbors[:, :k], distances[:, :k])
        else:
            start = initialization_scheme.median(self, neighbors[:, :k])
        return PartialTSNEEmbedding(start, self, P=P, **self.gradient_descent_params)

    def prepare_interpolation_grid(self, padding: float = 0.25) -> None:
        """Tabulate the repulsion of the points, which ``negative_gradient_method="fft"`` reads for new ones.

        Parameters
        ----------
        padding : float, default=0.25
            How far the grid reaches beyond the points, relative to their extent; new points stay inside it.
        """
        if self.shape[1] > 2:
            raise RuntimeError(f"an interpolation grid has one or two dimensions, not {self.shape[1]}")
        params = self.gradient_descent_params
        points = np.ascontiguousarray(self).view(np.ndarray)
        names = ("n_interpolation_points", "min_num_intervals", "ints_in_interval")
        spacing = mesh_spacing(points, **{name: params[name] for name in names})
        threads = positive_jobs(params.get("n_jobs", 1))
        grid = InterpolationGrid.of_embedding(points, spacing, padding, params["dof"], threads)
        self.interp_coeffs = grid
        self.box_x_lower_bounds = grid.axes[0]
        self.box_y_lower_bounds = grid.axes[1] if len(grid.axes) > 1 else None

    def _limits(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The corners of the interpolation grid; None if there is none."""
        if self.interp_coeffs is None:
            return None
        axes = self.interp_coeffs.axes
        return np.array([axis[0] for axis in axes]), np.array([axis[-1] for axis in axes])


def optimize_in_two_phases(
    embedding: Any, first: dict[str, Any], second: dict[str, Any], common: dict[str, Any]
) -> Any:
    """Optimise with early exaggeration and then without, unless a callback stops it."""
    try:
        embedding.optimize(**first, **common)
        embedding.optimize(**second, **common)
    except OptimizationInterrupt as interrupt:
        return interrupt.final_embedding
    return embedding
