"""Validate maps of the same points, and align them so that a point is easy to follow from map to map."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike


def read_map(Y: ArrayLike, name: str = "Y") -> np.ndarray:
    """Return a map as a finite, nonempty float64 array of shape (n, n_components).

    Parameters
    ----------
    Y : array-like of shape (n,) or (n, n_components)
    name : str
        What error messages call the map.
    """
    array = np.asarray(Y, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, d) with one point per row, got shape {np.shape(Y)}")
    if len(array) == 0:
        raise ValueError(f"{name} holds no points: shape {np.shape(Y)}")
    nonfinite = int(np.count_nonzero(~np.isfinite(array).all(axis=1)))
    if nonfinite:
        raise ValueError(f"{name} has {nonfinite} points with NaN or infinite coordinates; remove them first")
    return array


def read_maps(maps: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Return several maps of the same points by name, each as :func:`read_map` does.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n,) or (n, n_components)
    """
    if not isinstance(maps, Mapping):
        raise TypeError(f"maps must be a mapping of names to embeddings, got {type(maps).__name__}")
    if not maps:
        raise ValueError("maps is empty; give at least one embedding, such as {'UMAP': Y}")
    arrays = {str(name): read_map(Y, f"maps[{name!r}]") for name, Y in maps.items()}
    if len(arrays) < len(maps):
        raise ValueError(f"maps has names that are the same as text: {list(maps)}; give distinct names")
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"maps must hold the same points, got different numbers of them: {counts}")
    return arrays


def align_maps(maps: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Rotate and mirror maps of the same points to agree as well as possible with the first one.

    Orthogonal Procrustes: each map is centred and multiplied by the orthogonal matrix that brings its points
    closest to those of the first map. Distances within a map do not change.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n, n_components)
        Maps by name: the same points in the same order, in the same number of dimensions.

    Returns
    -------
    dict of str to ndarray of shape (n, n_components), float64
        The aligned maps; the first map is only centred.

    See Also
    --------
    actup.viewer.write_page : Aligns its maps itself.
    actup.embed_many : Computes several maps of the same data.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.viewer import align_maps
    >>> Y = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 3.0]])
    >>> aligned = align_maps({"first": Y, "turned": Y[:, ::-1] + 10})
    >>> bool(np.allclose(aligned["turned"], aligned["first"]))
    True
    >>> aligned["first"].mean(axis=0)
    array([0., 0.])
    """
    arrays = read_maps(maps)
    dimensions = {name: Y.shape[1] for name, Y in arrays.items()}
    if len(set(dimensions.values())) > 1:
        raise ValueError(f"maps must have the same number of dimensions to be aligned, got {dimensions}")
    centered = {name: Y - Y.mean(axis=0) for name, Y in arrays.items()}
    target = next(iter(centered.values()))
    return {name: target if Y is target else Y @ _nearest_rotation(Y, target) for name, Y in centered.items()}


def _nearest_rotation(Y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix Q, which may mirror, that minimises ||Y Q - target||."""
    left, _, right = np.linalg.svd(Y.T @ target)
    return np.asarray(left @ right)
