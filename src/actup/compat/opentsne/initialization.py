"""Where the points of an embedding start."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_random_state

from actup._csr import read_sparse
from actup._threads import count_threads
from actup._values import naming_memory, reject_mask
from actup.backends import load_backend
from actup.compat.opentsne.utils import Timer
from actup.graph import Graph
from actup.neighbors._not_rows import with_shape
from actup.neighbors._rows import read_rows

__all__ = ["jitter", "median", "pca", "random", "rescale", "spectral", "weighted_mean"]

_STANDARD_DEVIATION = 1e-4  # of a start along its first axis
_SEED = 0  # of iterations whose result does not depend on where they begin


def rescale(x: np.ndarray, inplace: bool = False, target_std: float = 1e-4) -> np.ndarray:
    """Scale a start, so that its first axis has a standard deviation, unless all its values are equal.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_components)
        The start.
    inplace : bool, default=False
        Whether to change ``x`` itself.
    target_std : float, default=1e-4
        The standard deviation.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.initialization import rescale
    >>> rescale(np.array([[-3.0, 1.0], [3.0, 0.0]]), target_std=1).tolist()
    [[-1.0, 0.3333333333333333], [1.0, 0.0]]
    """
    reject_mask(x, "x")
    scaled = x if inplace else np.array(x, copy=True)
    if scaled.ndim != 2 or scaled.dtype.kind not in "biuf" or not scaled.shape[1]:
        raise ValueError(
            f"x has shape {scaled.shape} of {scaled.dtype}: give a start, a row of numbers for each point"
        )
    if scaled.dtype.kind != "f" and not inplace:
        scaled = scaled.astype(np.float64)
    spread = np.std(scaled[:, 0])
    if spread > 0:
        scaled /= spread / np.float64(target_std)
    return scaled


def jitter(x: np.ndarray, inplace: bool = False, scale: float = 0.01, random_state: Any = None) -> np.ndarray:
    """Add noise to a start, so that no two points share a place.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_components)
        The start.
    inplace : bool, default=False
        Whether to change ``x`` itself.
    scale : float, default=0.01
        Standard deviation of the noise, relative to that of the first axis (1e-4 if its values are equal).
    random_state : int or RandomState, default=None
        Where the noise comes from.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.initialization import jitter
    >>> x = np.array([[-3.0, 1.0], [3.0, 0.0]])
    >>> bool(0 < abs(jitter(x, random_state=0) - x).max() < 1)
    True
    """
    moved = x if inplace else np.array(x, copy=True)
    if moved.ndim != 2 or not moved.shape[1]:
        raise ValueError(f"x has shape {moved.shape}: give a start, a row of numbers for each point")
    spread = np.std(moved[:, 0]) or _STANDARD_DEVIATION
    moved += check_random_state(random_state).normal(0, spread * scale, moved.shape)
    return moved


def random(
    n_samples: int | np.ndarray, n_components: int = 2, random_state: Any = None, verbose: bool | int = False
) -> np.ndarray:
    """Gaussian noise with a standard deviation of 1e-4.

    Parameters
    ----------
    n_samples : int or array
        Number of points, or the data.
    n_components : int, default=2
        Dimensions of the embedding.
    random_state : int or RandomState, default=None
        Where the noise comes from.
    verbose : bool, default=False
        Without effect.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Examples
    --------
    >>> from actup.compat.opentsne.initialization import random
    >>> random(5, random_state=0).shape
    (5, 2)
    """
    _check_components(n_components)
    is_number = isinstance(n_samples, int | np.integer)
    count = n_samples if is_number else with_shape(n_samples, "n_samples").shape[0]
    with naming_memory(n_components, f"n_samples={count} with n_components"):
        noise = check_random_state(random_state).normal(0, _STANDARD_DEVIATION, (count, n_components))
        return np.ascontiguousarray(noise)


def pca(
    X: Any,
    n_components: int = 2,
    svd_solver: str = "auto",
    random_state: Any = None,
    verbose: bool | int = False,
    add_jitter: bool = True,
) -> np.ndarray:
    """The scores along the leading principal components, scaled down.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The data.
    n_components : int, default=2
        Dimensions of the embedding.
    svd_solver : str, default="auto"
        Without effect: ActUp's own iteration finds the components.
    random_state : int or RandomState, default=None
        Where the noise comes from.
    verbose : bool, default=False
        Whether to print what is done.
    add_jitter : bool, default=True
        Whether to add noise, so that no two points share a place.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.initialization import pca
    >>> Y = pca(load_iris().data, random_state=0)
    >>> Y.shape, round(float(Y[:, 0].std()), 5)
    ((150, 2), 0.0001)
    """
    _check_components(n_components)
    with (
        Timer("Calculating PCA-based initialization...", verbose),
        naming_memory(n_components, "n_components"),
    ):
        backend = load_backend("cpu")
        scores = backend.pca_start(read_rows(X, "euclidean"), n_components, _SEED, count_threads(None))
        return _finish(scores, add_jitter, random_state)


def spectral(
    A: Any,
    n_components: int = 2,
    tol: float = 1e-4,
    max_iter: int | None = None,
    random_state: Any = None,
    verbose: bool | int = False,
    add_jitter: bool = True,
) -> np.ndarray:
    """The leading eigenvectors of the random walk on a graph, scaled down.

    Components of a disconnected graph are placed side by side.

    Parameters
    ----------
    A : array or sparse matrix of shape (n_samples, n_samples)
        Weights of the graph's edges.
    n_components : int, default=2
        Dimensions of the embedding.
    tol : float, default=1e-4
        Without effect: the eigenvectors converge to single precision.
    max_iter : int, default=None
        Without effect.
    random_state : int or RandomState, default=None
        Where the noise comes from.
    verbose : bool, default=False
        Whether to print what is done.
    add_jitter : bool, default=True
        Whether to add noise, so that no two points share a place.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Raises
    ------
    ValueError
        If ``A`` is not a square matrix.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne import affinity, initialization
    >>> P = affinity.PerplexityBasedNN(load_iris().data).P
    >>> initialization.spectral(P, random_state=0).shape
    (150, 2)
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"A has shape {A.shape}, but the weights of a graph are a square matrix")
    if not A.shape[0]:
        raise ValueError("A has no rows: give the weights of a graph of at least one point")
    _check_components(n_components)
    with (
        Timer("Calculating spectral initialization...", verbose),
        naming_memory(n_components, "n_components"),
    ):
        A = csr_matrix(read_sparse(A, "A") if issparse(A) else A)
        graph = Graph.from_scipy((A + A.T) / 2)  # weights of one direction act in both
        backend = load_backend("cpu")
        return _finish(
            backend.spectral_start(graph, n_components, _SEED, count_threads(None)), add_jitter, random_state
        )


def _check_components(n_components: Any) -> None:
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer):
        raise TypeError(f"n_components={n_components!r} must be an integer")
    if n_components < 1:
        raise ValueError(f"n_components={n_components} must be at least 1")


def _finish(coordinates: np.ndarray, add_jitter: bool, random_state: Any) -> np.ndarray:
    start = rescale(np.ascontiguousarray(coordinates, np.float64), inplace=True)
    return jitter(start, inplace=True, random_state=random_state) if add_jitter else start


def weighted_mean(
    X: Any, embedding: np.ndarray, neighbors: np.ndarray, distances: np.ndarray, verbose: bool | int = False
) -> np.ndarray:
    """The mean place of each new row's neighbours, weighted by their distances as in openTSNE.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The new rows.
    embedding : ndarray of shape (n_samples, n_components)
        The embedding that they are added to.
    neighbors, distances : ndarray of shape (n_rows, k)
        Their neighbours among its points.
    verbose : bool, default=False
        Whether to print what is done.

    Returns
    -------
    ndarray of shape (n_rows, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.initialization import weighted_mean
    >>> Y = np.array([[0.0, 0.0], [4.0, 0.0]])
    >>> weighted_mean(np.zeros((1, 3)), Y, np.array([[0, 1]]), np.array([[1.0, 3.0]])).tolist()
    [[3.0, 0.0]]
    """
    with Timer("Calculating weighted-mean initialization...", verbose):
        totals = distances.sum(axis=1, keepdims=True)
        equal = np.full_like(distances, 1 / distances.shape[1], dtype=np.float64)
        shares = np.divide(distances, totals, out=equal, where=totals > 0)  # all at distance 0: equal shares
        places = np.asarray(embedding)[neighbors]
        return np.ascontiguousarray((places * shares[:, :, None]).sum(axis=1))


def median(embedding: np.ndarray, neighbors: np.ndarray, verbose: bool | int = False) -> np.ndarray:
    """The median place of each new row's neighbours, axis by axis.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        The embedding that they are added to.
    neighbors : ndarray of shape (n_rows, k)
        Their neighbours among its points.
    verbose : bool, default=False
        Whether to print what is done.

    Returns
    -------
    ndarray of shape (n_rows, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.initialization import median
    >>> median(np.array([[0.0, 0.0], [1.0, 5.0], [9.0, 6.0]]), np.array([[0, 1, 2]])).tolist()
    [[1.0, 5.0]]
    """
    with Timer("Calculating median initialization...", verbose):
        return np.ascontiguousarray(np.median(np.asarray(embedding)[neighbors], axis=1))
