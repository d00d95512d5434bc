"""The KL divergence of an embedding, with the kernel summed over all pairs in three ways."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from actup.compat.opentsne._objectives import mesh_spacing
from actup.quality._gradient import Repulsion, Similarities, kl_gradient

__all__ = ["kl_divergence_approx_bh", "kl_divergence_approx_fft", "kl_divergence_exact"]


def kl_divergence_exact(P: Any, embedding: np.ndarray, dof: float = 1) -> float:
    """The KL divergence, over all pairs.

    Parameters
    ----------
    P : ndarray or sparse matrix of shape (n, n)
        Affinities that sum to 1.
    embedding : ndarray of shape (n, n_components)
        The map.
    dof : float, default=1
        Degrees of freedom of the kernel.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.kl_divergence import kl_divergence_exact
    >>> P = (1 - np.eye(3)) / 6
    >>> abs(kl_divergence_exact(P, np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]]))) < 1e-9
    True
    """
    return _divergence(csr_matrix(P), embedding, Repulsion("exact"), dof)


def kl_divergence_approx_bh(
    indices: np.ndarray,
    indptr: np.ndarray,
    P_data: np.ndarray,
    embedding: np.ndarray,
    theta: float = 0.5,
    dof: float = 1,
) -> float:
    """The KL divergence, with the kernel summed by a Barnes-Hut tree; in at most three dimensions.

    Parameters
    ----------
    indices, indptr, P_data : ndarray
        The arrays of a CSR matrix of affinities that sum to 1.
    embedding : ndarray of shape (n, n_components)
        The map.
    theta : float, default=0.5
        How wide a group of points may be relative to its distance.
    dof : float, default=1
        Degrees of freedom of the kernel.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> from actup.compat.opentsne.kl_divergence import kl_divergence_approx_bh
    >>> embedding = opentsne.TSNE(n_iter=50, random_state=0).fit(load_iris().data)
    >>> P = embedding.affinities.P
    >>> divergence = kl_divergence_approx_bh(P.indices, P.indptr, P.data, embedding)
    >>> abs(divergence - embedding.kl_divergence) < 1e-6
    True
    """
    P = csr_matrix((P_data, indices, indptr), shape=(len(embedding), len(embedding)))
    return _divergence(P, embedding, Repulsion("barnes_hut", theta=theta), dof)


def kl_divergence_approx_fft(
    indices: np.ndarray,
    indptr: np.ndarray,
    P_data: np.ndarray,
    embedding: np.ndarray,
    n_interpolation_points: int = 3,
    min_num_intervals: int = 50,
    ints_in_interval: float = 1,
    dof: float = 1,
) -> float:
    """The KL divergence, with the kernel interpolated on a mesh; in one or two dimensions.

    Parameters
    ----------
    indices, indptr, P_data : ndarray
        The arrays of a CSR matrix of affinities that sum to 1.
    embedding : ndarray of shape (n, n_components)
        The map.
    n_interpolation_points, min_num_intervals, ints_in_interval : float
        Decide how close the lines of the mesh are; see ``TSNE``.
    dof : float, default=1
        Degrees of freedom of the kernel.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> from actup.compat.opentsne.kl_divergence import kl_divergence_approx_fft
    >>> embedding = opentsne.TSNE(n_iter=50, random_state=0).fit(load_iris().data)
    >>> P = embedding.affinities.P
    >>> divergence = kl_divergence_approx_fft(P.indices, P.indptr, P.data, embedding)
    >>> abs(divergence - embedding.kl_divergence) < 0.01
    True
    """
    P = csr_matrix((P_data, indices, indptr), shape=(len(embedding), len(embedding)))
    spacing = mesh_spacing(embedding, n_interpolation_points, min_num_intervals, ints_in_interval)
    return _divergence(P, embedding, Repulsion("mesh", spacing=spacing), dof)


def _divergence(P: csr_matrix, embedding: np.ndarray, repulsion: Repulsion, dof: float) -> float:
    points = np.ascontiguousarray(embedding, np.float64).view(np.ndarray)
    return kl_gradient(Similarities.from_scipy(P), points, repulsion, dof=dof, threads=1)[1]
