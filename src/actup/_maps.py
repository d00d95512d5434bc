"""Maps of the same points: checked, and aligned so that the eye can follow a point from map to map."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def read_map(Y, name: str = "Y") -> np.ndarray:
    """An embedding as a float64 array of shape (n, d), or an error that names it.

    Parameters
    ----------
    Y : array-like of shape (n,) or (n, d)
    name : str
        How errors call it.
    """
    array = np.asarray(Y, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, d) with one point per row, got shape {np.shape(Y)}")
    if len(array) == 0:
        raise ValueError(f"{name} holds no points: shape {np.shape(Y)}")
    bad = int(np.count_nonzero(~np.isfinite(array).all(axis=1)))
    if bad:
        raise ValueError(f"{name} has {bad} points with NaN or infinite coordinates; leave them out first")
    return array


def read_maps(maps: Mapping) -> dict[str, np.ndarray]:
    """Several maps of the same points by name, checked.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n,) or (n, d)
    """
    if not isinstance(maps, Mapping):
        raise TypeError(f"maps must be a mapping of names to embeddings, got {type(maps).__name__}")
    if not maps:
        raise ValueError("maps is empty; give at least one embedding, such as {'UMAP': Y}")
    arrays = {str(name): read_map(Y, f"maps[{name!r}]") for name, Y in maps.items()}
    if len(arrays) < len(maps):
        raise ValueError(f"maps has names that read the same: {list(maps)}")
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"maps must hold the same points, got different numbers of them: {counts}")
    return arrays


def align_maps(maps: Mapping) -> dict[str, np.ndarray]:
    """Rotate and mirror maps of the same points to agree as well as possible with the first one.

    Orthogonal Procrustes: a map is centred, then turned by the orthogonal matrix that brings its points
    closest to those of the first map. Distances within a map stay as they are.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n, d)
        The same points in every map, in the same order, and in as many dimensions.

    Returns
    -------
    dict of str to ndarray of shape (n, d), float64
        The first map is centred only.
    """
    maps = read_maps(maps)
    dimensions = {name: Y.shape[1] for name, Y in maps.items()}
    if len(set(dimensions.values())) > 1:
        raise ValueError(f"maps must have the same number of dimensions to be aligned, got {dimensions}")
    centered = {name: Y - Y.mean(axis=0) for name, Y in maps.items()}
    target = next(iter(centered.values()))
    return {name: target if Y is target else Y @ _nearest_turn(Y, target) for name, Y in centered.items()}


def _nearest_turn(Y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The orthogonal Q that minimises ||Y Q - target||."""
    left, _, right = np.linalg.svd(Y.T @ target)
    return left @ right
