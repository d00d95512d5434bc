"""Gradient descent of an embedding: the optimiser, which keeps its state, and how its parameters are read."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from actup._threads import count_threads
from actup._values import as_float, read_positive
from actup.compat.opentsne._objectives import Objective, kl_divergence_bh, kl_divergence_fft
from actup.compat.opentsne.utils import Timer
from actup.quality._gradient import Repulsion, Similarities

_MAX_TREE_POINTS = 10_000  # fewer points than this get a tree from negative_gradient_method "auto"
_MAX_DOF = 1e30  # degrees of freedom of the kernel, which float32 holds
_LOG_EVERY = 50  # iterations between two lines of a verbose optimisation
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


def resolve_parameters(n_samples: int, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an optimisation as ``gradient_descent`` takes them."""
    params = dict(params)
    params["callbacks"] = _checked_callbacks(params.get("callbacks"))
    params["use_callbacks"] = params["callbacks"] is not None
    method = params.pop("negative_gradient_method", "auto")
    params["objective_function"] = _objective(method, n_samples)
    params["n_jobs"] = positive_jobs(params.get("n_jobs", 1))
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


def positive_jobs(n_jobs: int) -> int:
    if n_jobs > 0:
        return n_jobs
    return 1 if n_jobs == 0 else count_threads(n_jobs)


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
        if not isinstance(n_iter, Integral):
            raise TypeError(f"n_iter={reprlib.repr(n_iter)} must be a whole number of iterations")
        dof = read_positive(dof, "dof", "degrees of freedom", _MAX_DOF)
        factor = 1.0 if exaggeration is None else as_float(exaggeration, "exaggeration")
        automatic = isinstance(learning_rate, str)
        rate = len(embedding) / factor if automatic else as_float(learning_rate, "learning_rate")
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
