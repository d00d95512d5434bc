"""TSNE and the embeddings that it makes, which can be optimised further and take in new rows."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator

from actup._threads import count_threads
from actup.compat.opentsne import affinity
from actup.compat.opentsne import initialization as initialization_scheme
from actup.compat.opentsne._interpolation import InterpolationGrid
from actup.compat.opentsne._objectives import Objective, kl_divergence_bh, kl_divergence_fft, mesh_spacing
from actup.compat.opentsne.utils import Timer
from actup.quality._gradient import Repulsion, Similarities

__all__ = [
    "TSNE",
    "OptimizationInterrupt",
    "PartialTSNEEmbedding",
    "TSNEEmbedding",
    "gradient_descent",
]

log = logging.getLogger(__name__)

_MAX_TREE_POINTS = 10_000  # fewer points than this get a tree from negative_gradient_method "auto"
_LOG_EVERY = 50  # iterations between two lines of a verbose optimisation
_WIDE_START = 1e-2  # standard deviation from which a given start may converge badly
_LATE_EARLY_EXAGGERATION = 12.0  # early_exaggeration="auto", unless exaggeration is larger

_OBJECTIVES: dict[str, Objective] = {
    **dict.fromkeys(("bh", "BH", "barnes-hut"), kl_divergence_bh),
    **dict.fromkeys(("fft", "FFT", "interpolation"), kl_divergence_fft),
}


class OptimizationInterrupt(InterruptedError):
    """A callback has stopped an optimisation.

    Parameters
    ----------
    error : float
        The KL divergence.
    final_embedding : TSNEEmbedding or PartialTSNEEmbedding
        The embedding as far as it has come.
    """

    def __init__(self, error: float, final_embedding: Any) -> None:
        super().__init__()
        self.error = error
        self.final_embedding = final_embedding


def _resolved(n_samples: int, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an optimisation as ``gradient_descent`` takes them."""
    params = dict(params)
    params["callbacks"] = _checked_callbacks(params.get("callbacks"))
    params["use_callbacks"] = params["callbacks"] is not None
    method = params.pop("negative_gradient_method", "auto")
    params["objective_function"] = _objective(method, n_samples)
    params["n_jobs"] = _positive_jobs(params.get("n_jobs", 1))
    if isinstance(params.get("learning_rate", "auto"), str):
        if params.get("learning_rate", "auto") != "auto":
            raise ValueError(f"learning_rate={params['learning_rate']!r} must be 'auto' or a number")
        params["learning_rate"] = n_samples / (params.get("exaggeration") or 1)
    return params


def _checked_callbacks(callbacks: Any) -> Any:
    if callbacks is None:
        return None
    if isinstance(callbacks, Iterable):
        if all(callable(callback) for callback in callbacks):
            return callbacks
        raise ValueError(f"callbacks={callbacks!r} must all be callable")
    if not callable(callbacks):
        raise ValueError(f"callbacks={callbacks!r} must be callable")
    return (callbacks,)


def _objective(method: Any, n_samples: int) -> Objective:
    if callable(method):
        own: Objective = method
        return own
    if isinstance(method, str) and method == "auto":
        method = "bh" if n_samples < _MAX_TREE_POINTS else "fft"
    if method not in _OBJECTIVES:
        names = ", ".join(map(repr, _OBJECTIVES))
        raise ValueError(f"negative_gradient_method={method!r} is not 'auto', a function, or one of {names}")
    return _OBJECTIVES[method]


def _positive_jobs(n_jobs: int) -> int:
    if n_jobs > 0:
        return n_jobs
    return 1 if n_jobs == 0 else count_threads(n_jobs)


def _check_start(start: np.ndarray, n_samples: int, n_components: int | None = None) -> None:
    if start.shape[0] != n_samples:
        raise ValueError(f"the start has {start.shape[0]} points, but there are {n_samples} rows")
    if n_components is not None and start.shape[1] != n_components:
        raise ValueError(f"the start has {start.shape[1]} dimensions, but n_components={n_components}")


class gradient_descent:  # noqa: N801 (openTSNE's name)
    """Gradient descent with momentum and gains, whose state lasts from one call to the next.

    Attributes
    ----------
    gains, update : ndarray of shape (n_samples, n_components), or None before the first call
        A factor of each coordinate's steps, and the last steps.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.opentsne.tsne import gradient_descent, kl_divergence_bh
    >>> P = csr_matrix((1 - np.eye(3)) / 6)
    >>> start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> descent = gradient_descent()
    >>> error, embedding = descent(start, P, 100, kl_divergence_bh, learning_rate=3)
    >>> embedding is start, error < 1e-3
    (True, True)
    """

    def __init__(self) -> None:
        self.gains: np.ndarray | None = None
        self.update: np.ndarray | None = None

    def copy(self) -> Self:
        """An optimiser with a copy of the state.

        Returns
        -------
        gradient_descent
        """
        other = type(self)()
        other.gains = None if self.gains is None else self.gains.copy()
        other.update = None if self.update is None else self.update.copy()
        return other

    def __call__(
        self,
        embedding: np.ndarray,
        P: csr_matrix,
        n_iter: int,
        objective_function: Objective,
        learning_rate: float | str = "auto",
        momentum: float = 0.8,
        exaggeration: float | None = None,
        dof: float = 1,
        min_gain: float = 0.01,
        max_grad_norm: float | None = None,
        max_step_norm: float | None = 5,
        theta: float = 0.5,
        n_interpolation_points: int = 3,
        min_num_intervals: int = 50,
        ints_in_interval: float = 1,
        reference_embedding: Any = None,
        n_jobs: int = 1,
        use_callbacks: bool = False,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        verbose: bool | int = False,
    ) -> tuple[float, Any]:
        """Move the points of an embedding, in place.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_components), float64
            The points, which are moved.
        P : scipy CSR matrix
            Affinities to all points, or to those of the reference embedding; never changed.
        n_iter : int
            Number of iterations.
        objective_function : callable
            Gives the KL divergence and its gradient: ``kl_divergence_bh``, ``kl_divergence_fft``, or a
            function with the same arguments.
        learning_rate : float or "auto", default="auto"
            Factor of the steps; "auto": the number of points divided by the exaggeration.
        momentum : float, default=0.8
            Share of a step that is repeated in the next.
        exaggeration : float, default=None
            Factor of the attraction; None: 1.
        dof : float, default=1
            Degrees of freedom of the kernel.
        min_gain : float, default=0.01
            Added to gains that shrink, so that they never vanish.
        max_grad_norm : float, default=None
            Longer gradients of a point are shortened to this length.
        max_step_norm : float, default=5
            Longer steps of a point are shortened to this length.
        theta : float, default=0.5
            How wide a group of points may be relative to its distance, for a tree.
        n_interpolation_points, min_num_intervals, ints_in_interval : float
            Decide how close the lines of the mesh are; see ``TSNE``.
        reference_embedding : TSNEEmbedding, default=None
            The finished embedding that the points are added to.
        n_jobs : int, default=1
            Number of threads.
        use_callbacks : bool, default=False
            Whether callbacks are called.
        callbacks : sequence of callable, default=None
            Called as ``callback(iteration, error, embedding)``; True stops.
        callbacks_every_iters : int, default=50
            Iterations between two calls.
        verbose : bool, default=False
            Whether to print the KL divergence every 50 iterations.

        Returns
        -------
        error : float
            The KL divergence in the end.
        embedding : ndarray
            The same object as ``embedding``.

        Raises
        ------
        OptimizationInterrupt
            If a callback stops the descent.
        """
        factor = 1.0 if exaggeration is None else float(exaggeration)
        rate = len(embedding) / factor if isinstance(learning_rate, str) else float(learning_rate)
        points = embedding.view(np.ndarray)  # moves with the embedding
        if self.gains is None or self.update is None:
            self.gains, self.update = np.ones_like(points), np.zeros_like(points)
        evaluate = _Evaluation(
            objective_function,
            P,
            dof=dof,
            bh_params={"theta": theta},
            fft_params={
                "n_interpolation_points": n_interpolation_points,
                "min_num_intervals": min_num_intervals,
                "ints_in_interval": ints_in_interval,
            },
            reference_embedding=reference_embedding,
            n_jobs=n_jobs,
        )
        watchers = tuple(callbacks) if use_callbacks and callbacks is not None else ()
        for watcher in watchers:
            getattr(watcher, "optimization_about_to_start", lambda: None)()
        title = (
            f"Running optimization with exaggeration={factor:.2f}, lr={rate:.2f} for {n_iter} iterations..."
        )
        limits = None if reference_embedding is None else reference_embedding._limits()
        begin = time.time()
        with Timer(title, verbose):
            for iteration in range(1, n_iter + 1):
                calls = bool(watchers) and iteration % callbacks_every_iters == 0
                logs = bool(verbose) and iteration % _LOG_EVERY == 0
                error, gradient = evaluate(embedding, factor, measure=calls or logs)
                answers = [watcher(iteration, error, embedding) for watcher in watchers if calls]
                if any(answers):
                    raise OptimizationInterrupt(error=error, final_embedding=embedding)
                self._advance(points, gradient, rate, momentum, min_gain, max_grad_norm, max_step_norm)
                if reference_embedding is None:
                    points -= points.mean(axis=0)
                elif limits is not None:
                    self._keep_within(points, limits)
                if logs:
                    seconds, begin = time.time() - begin, time.time()
                    print(
                        f"Iteration {iteration:4d}, KL divergence {error:6.4f}, {_LOG_EVERY} iterations in "
                        f"{seconds:.4f} sec"
                    )
        return evaluate(embedding, 1.0, measure=True)[0], embedding

    def _advance(
        self,
        points: np.ndarray,
        gradient: np.ndarray,
        rate: float,
        momentum: float,
        min_gain: float,
        max_grad_norm: float | None,
        max_step_norm: float | None,
    ) -> None:
        """One step: a coordinate's gain grows while its steps run against the gradient, and shrinks else."""
        assert self.gains is not None and self.update is not None
        if max_grad_norm is not None:
            gradient = _shortened(gradient, max_grad_norm)
        grows = np.sign(self.update) != np.sign(gradient)
        self.gains = np.where(grows, self.gains + 0.2, self.gains * 0.8 + min_gain)
        update = momentum * self.update - rate * self.gains * gradient
        self.update = update if max_step_norm is None else _shortened(update, max_step_norm)
        points += self.update

    def _keep_within(self, points: np.ndarray, limits: tuple[np.ndarray, np.ndarray]) -> None:
        """Stop points at the edge of the interpolation grid, beyond which nothing is known."""
        assert self.update is not None
        inside = np.clip(points, *limits)
        self.update[inside != points] = 0
        points[:] = inside


class _Evaluation:
    """The KL divergence and its gradient at an embedding, with what can be kept between evaluations."""

    def __init__(self, objective: Objective, P: csr_matrix, **arguments: Any) -> None:
        self._objective, self._arguments = objective, arguments
        self._P = P
        self._is_own = objective in (kl_divergence_bh, kl_divergence_fft)
        self._plain = Similarities.from_scipy(P) if self._is_own else P
        self._scaled: tuple[float, Any] = (1.0, self._plain)
        self._cache: dict[float, Repulsion] = {}

    def __call__(self, embedding: Any, exaggeration: float, *, measure: bool) -> tuple[float, np.ndarray]:
        if self._scaled[0] != exaggeration:
            self._scaled = (exaggeration, self._exaggerated(exaggeration))
        more = {"cache": self._cache} if self._objective is kl_divergence_fft else {}
        error, gradient = self._objective(
            embedding, self._scaled[1], should_eval_error=measure, **self._arguments, **more
        )
        if measure and exaggeration != 1:
            error = error / exaggeration - np.log(exaggeration)  # that of the plain affinities
        return float(error), np.asarray(gradient)

    def _exaggerated(self, factor: float) -> Any:
        if not self._is_own:
            return self._P * factor
        plain = self._plain
        return Similarities(plain.offsets, plain.indices, plain.weights * factor, plain.columns)


def _shortened(vectors: np.ndarray, longest: float) -> np.ndarray:
    """Rows of at most this length."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.minimum(1.0, longest / np.maximum(lengths, np.finfo(float).tiny)))


class _Embedding(np.ndarray):
    """Points that carry what their optimisation needs, also through pickles."""

    _CARRIED: tuple[str, ...] = ()

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
    gradient_descent_params: dict[str, Any]
    optimizer: gradient_descent
    kl_divergence: float | None

    def __new__(
        cls,
        embedding: np.ndarray,
        reference_embedding: TSNEEmbedding,
        P: csr_matrix,
        optimizer: gradient_descent | None = None,
        **gradient_descent_params: Any,
    ) -> Self:
        """Copy the start."""
        _check_start(embedding, P.shape[0])
        made = np.array(embedding, dtype=np.float64, order="C").view(cls)
        made.reference_embedding = reference_embedding
        made.P = P
        made.gradient_descent_params = gradient_descent_params
        made.optimizer = _checked_optimizer(optimizer)
        made.kl_divergence = None
        return made

    def optimize(
        self,
        n_iter: int,
        inplace: bool = False,
        propagate_exception: bool = False,
        **gradient_descent_params: Any,
    ) -> PartialTSNEEmbedding:
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
        PartialTSNEEmbedding
            The moved points.
        """
        moved = self
        if not inplace:
            moved = PartialTSNEEmbedding(
                np.copy(self),
                self.reference_embedding,
                self.P,
                optimizer=self.optimizer.copy(),
                **self.gradient_descent_params,
            )
        params = _resolved(len(self), {**self.gradient_descent_params, **gradient_descent_params})
        result: PartialTSNEEmbedding = _run(
            moved,
            propagate_exception,
            lambda: moved.optimizer(
                embedding=moved,
                P=self.P,
                n_iter=n_iter,
                reference_embedding=self.reference_embedding,
                **params,
            ),
        )
        return result


def _run(moved: Any, propagate_exception: bool, descend: Callable[[], tuple[float, Any]]) -> Any:
    """Run a descent and record its divergence, also if a callback stops it."""
    try:
        error, moved = descend()
    except OptimizationInterrupt as interrupt:
        log.info("Optimization was interrupted with callback.")
        interrupt.final_embedding.kl_divergence = interrupt.error
        if propagate_exception:
            raise
        return interrupt.final_embedding
    moved.kl_divergence = error
    return moved


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
    gradient_descent_params: dict[str, Any]
    random_state: Any
    optimizer: gradient_descent
    kl_divergence: float | None
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
        _check_start(embedding, affinities.P.shape[0])
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

    def optimize(
        self,
        n_iter: int,
        inplace: bool = False,
        propagate_exception: bool = False,
        **gradient_descent_params: Any,
    ) -> TSNEEmbedding:
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
        TSNEEmbedding
            The moved points.
        """
        moved = self
        if not inplace:
            moved = TSNEEmbedding(
                np.copy(self),
                self.affinities,
                random_state=self.random_state,
                optimizer=self.optimizer.copy(),
                **self.gradient_descent_params,
            )
        moved._forget_grid()
        params = _resolved(len(self), {**self.gradient_descent_params, **gradient_descent_params})
        result: TSNEEmbedding = _run(
            moved,
            propagate_exception,
            lambda: moved.optimizer(embedding=moved, P=self.affinities.P, n_iter=n_iter, **params),
        )
        return result

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
        placed: PartialTSNEEmbedding = _in_two_phases(
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
            _check_start(initialization, X.shape[0], self.shape[1])
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
        threads = _positive_jobs(params.get("n_jobs", 1))
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


def _in_two_phases(
    embedding: Any, first: dict[str, Any], second: dict[str, Any], common: dict[str, Any]
) -> Any:
    """Optimise with early exaggeration and then without, unless a callback stops it."""
    try:
        embedding.optimize(**first, **common)
        embedding.optimize(**second, **common)
    except OptimizationInterrupt as interrupt:
        return interrupt.final_embedding
    return embedding


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
            _check_start(initialization, initialization.shape[0], n_components)
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
        made: TSNEEmbedding = _in_two_phases(
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
            return max(_LATE_EARLY_EXAGGERATION, self.exaggeration or 1)
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
            _check_start(kind, n_samples, self.n_components)
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
