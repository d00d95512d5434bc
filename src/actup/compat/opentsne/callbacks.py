"""Callbacks of an optimisation."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from actup.compat.opentsne import kl_divergence
from actup.compat.opentsne.tsne import TSNEEmbedding

__all__ = ["Callback", "ErrorApproximations", "ErrorLogger", "VerifyExaggerationError"]

log = logging.getLogger(__name__)

_TOLERANCE = 1e-8  # of a corrected KL divergence


class Callback:
    """The base of callbacks; any callable with the same arguments will do.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> from actup.compat.opentsne.callbacks import Callback
    >>> class StopAt(Callback):
    ...     def __call__(self, iteration, error, embedding):
    ...         return iteration == 20
    >>> affinities = opentsne.affinity.PerplexityBasedNN(load_iris().data)
    >>> embedding = opentsne.TSNEEmbedding(opentsne.initialization.random(150), affinities)
    >>> try:
    ...     embedding.optimize(50, callbacks=StopAt(), callbacks_every_iters=10, propagate_exception=True)
    ... except opentsne.OptimizationInterrupt as interrupt:
    ...     print(interrupt.final_embedding.shape)
    (150, 2)
    """

    def optimization_about_to_start(self) -> None:
        """Called before the first iteration."""

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> bool | None:
        """Called every ``callbacks_every_iters`` iterations.

        Parameters
        ----------
        iteration : int
            Number of the iteration, from 1 on.
        error : float
            The KL divergence.
        embedding : TSNEEmbedding
            The points now.

        Returns
        -------
        bool or None
            True stops the optimisation.
        """
        return None


class ErrorLogger(Callback):
    """Print the KL divergence.

    Examples
    --------
    >>> from actup.compat.opentsne.callbacks import ErrorLogger
    >>> ErrorLogger()(50, 1.25, None)
    Iteration   50, KL divergence 1.2500
    """

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> None:
        """Print one line.

        Parameters
        ----------
        iteration : int
            Number of the iteration.
        error : float
            The KL divergence.
        embedding : TSNEEmbedding
            Not used.
        """
        print(f"Iteration {iteration:4d}, KL divergence {error:6.4f}")


class VerifyExaggerationError(Callback):
    """Raise RuntimeError if the KL divergence that callbacks get is not that without exaggeration.

    Parameters
    ----------
    embedding : TSNEEmbedding
        The embedding that is optimised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> from actup.compat.opentsne.callbacks import VerifyExaggerationError
    >>> tsne = opentsne.TSNE(negative_gradient_method="bh", random_state=0)
    >>> embedding = tsne.prepare_initial(load_iris().data)
    >>> check = VerifyExaggerationError(embedding)
    >>> embedding.optimize(5, exaggeration=4, callbacks=check, callbacks_every_iters=5).shape
    (150, 2)
    """

    def __init__(self, embedding: TSNEEmbedding) -> None:
        self.embedding = embedding
        self.P = embedding.affinities.P.copy()

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> None:
        """Compare the divergence with one that is computed anew.

        Parameters
        ----------
        iteration : int
            Not used.
        error : float
            The KL divergence.
        embedding : TSNEEmbedding
            The points now.
        """
        params: dict[str, Any] = self.embedding.gradient_descent_params
        P = self.P
        arrays = (P.indices, P.indptr, P.data, embedding)
        if params["negative_gradient_method"] in ("fft", "FFT", "interpolation"):
            names = ("n_interpolation_points", "min_num_intervals", "ints_in_interval", "dof")
            true_error = kl_divergence.kl_divergence_approx_fft(
                *arrays, **{name: params[name] for name in names}
            )
        else:
            true_error = kl_divergence.kl_divergence_approx_bh(
                *arrays, theta=params.get("theta", 0.5), dof=params["dof"]
            )
        if abs(true_error - error) > _TOLERANCE:
            raise RuntimeError(f"the KL divergence is {true_error}, but callbacks were given {error}")
        log.info("KL divergence %.4f, computed anew %.4f", error, true_error)


class ErrorApproximations(Callback):
    """Collect the KL divergence with the kernel summed exactly, by a tree and by a mesh.

    Parameters
    ----------
    P : scipy CSR matrix of shape (n_samples, n_samples)
        Affinities that sum to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> from actup.compat.opentsne.callbacks import ErrorApproximations
    >>> embedding = opentsne.TSNE(random_state=0).prepare_initial(load_iris().data)
    >>> errors = ErrorApproximations(embedding.affinities.P)
    >>> moved = embedding.optimize(20, callbacks=errors, callbacks_every_iters=10)
    >>> len(errors.exact_errors), abs(errors.bh_errors[0] - errors.exact_errors[0]) < 0.01
    (2, True)
    """

    def __init__(self, P: csr_matrix) -> None:
        self.P = P.copy()
        self.exact_errors: list[float] = []
        self.bh_errors: list[float] = []
        self.fft_errors: list[float] = []

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> None:
        """Compute and keep the three divergences.

        Parameters
        ----------
        iteration : int
            Not used.
        error : float
            Not used.
        embedding : TSNEEmbedding
            The points now.
        """
        arrays = (self.P.indices, self.P.indptr, self.P.data, embedding)
        self.exact_errors.append(kl_divergence.kl_divergence_exact(self.P, embedding))
        self.bh_errors.append(kl_divergence.kl_divergence_approx_bh(*arrays))
        self.fft_errors.append(kl_divergence.kl_divergence_approx_fft(*arrays))

    def report(self) -> None:
        """Print the mean differences from the exact divergence and their standard deviations."""
        exact = np.array(self.exact_errors)
        for name, errors in (("Barnes-Hut", self.bh_errors), ("Interpolation", self.fft_errors)):
            differences = np.array(errors) - exact
            print(f"{name}: mean difference {differences.mean():.4f} (±{differences.std():.4f})")
