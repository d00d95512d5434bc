"""Validate maps of the same points, and align them so that a point is easy to follow from map to map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from actup._errors import WrongType
from actup._values import reject_mask, to_floats
from actup._warnings import warn_user

_MAX_ROTATION_STEPS = 200  # only nearly flat maps need more than some tens
_ROTATION_TOLERANCE = 1e-14
_MAP_KEYS = ("X_umap", "X_tsne")  # where actup.sc and scanpy write maps into an AnnData
_MAX_COORDINATE = 1e60  # products of four of them are summed


def map_of(model_or_map: Any, name: str = "Y") -> Any:
    """Return the map of a fitted estimator or of a result of ``actup.embed``, or the map that was given.

    Parameters
    ----------
    model_or_map : estimator, result of ``actup.embed``, or array-like
        The file of a map that ``fit_files`` wrote is memory-mapped.
    name : str
        What error messages call it.
    """
    given = _given_map(model_or_map, name)
    if isinstance(given, str) and given is not model_or_map:
        if not given.endswith(".npy"):
            raise ValueError(f"{name} has its map in {given}: read it, and give its coordinates as an array")
        given = np.load(given, mmap_mode="r")
    reject_mask(given, name)
    return given


def _given_map(model_or_map: Any, name: str) -> Any:
    if hasattr(model_or_map, "__array__"):  # arrays, and data frames, which may have a column "embedding"
        return model_or_map
    for attribute in ("embedding_", "embedding"):
        if hasattr(model_or_map, attribute):
            return getattr(model_or_map, attribute)
    if hasattr(model_or_map, "obsm") and hasattr(model_or_map, "obs"):
        key = next((key for key in _MAP_KEYS if key in model_or_map.obsm), _MAP_KEYS[0])
        raise WrongType(
            f"{name} is an {type(model_or_map).__name__}, which holds several matrices: give its map, e.g. "
            f"adata.obsm[{key!r}] (here: {', '.join(map(repr, model_or_map.obsm)) or 'none'})"
        )
    if hasattr(model_or_map, "fit"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"{name} is a {type(model_or_map).__name__} that is not fitted: call fit first")
    return model_or_map


def read_map(Y: Any, name: str = "Y", *, allow_gaps: bool = False) -> np.ndarray:
    """Return a map as a finite, nonempty float64 array of shape (n, n_components).

    Parameters
    ----------
    Y : array-like of shape (n,) or (n, n_components), fitted estimator, or result of ``actup.embed``
    name : str
        What error messages call the map.
    allow_gaps : bool, default=False
        Whether some points, but not all, may have no place (NaN).
    """
    Y = map_of(Y, name)
    array = _as_numbers(Y, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, d) with one point per row, got shape {np.shape(Y)}")
    if len(array) == 0:
        raise ValueError(f"{name} holds no points: shape {np.shape(Y)}")
    finite = np.isfinite(array).all(axis=1)
    has_gaps_only = finite.any() and not np.isinf(array).any()
    if not finite.all() and not (allow_gaps and has_gaps_only):
        nonfinite = int(np.count_nonzero(~finite))
        raise ValueError(f"{name} has {nonfinite} points with NaN or infinite coordinates; remove them first")
    return array


def _as_numbers(Y: Any, name: str) -> np.ndarray:
    """A map as float64; what holds no real numbers is rejected by name."""
    wrong = WrongType(
        f"{name} is a {type(Y).__name__} that is no table of real numbers: give an array of shape (n, d)"
    )
    if sparse.issparse(Y):
        raise wrong
    with np.errstate(over="ignore"):  # longdouble becomes infinite, which is rejected by name
        return to_floats(Y, name, lambda: wrong)  # wrong: text, objects, rows of different lengths


def read_maps(maps: Mapping[str, ArrayLike], *, allow_gaps: bool = False) -> dict[str, np.ndarray]:
    """Return several maps of the same points by name, each as :func:`read_map` does.

    Parameters
    ----------
    maps : mapping of str to array-like of shape (n,) or (n, n_components)
    allow_gaps : bool, default=False
        Whether some points of a map may have no place (NaN).
    """
    if not isinstance(maps, Mapping):
        raise TypeError(f"maps must be a mapping of names to embeddings, got {type(maps).__name__}")
    if not maps:
        raise ValueError("maps is empty; give at least one embedding, such as {'UMAP': Y}")
    arrays = {str(name): read_map(Y, f"maps[{name!r}]", allow_gaps=allow_gaps) for name, Y in maps.items()}
    if len(arrays) < len(maps):
        raise ValueError(f"maps has names that are the same as text: {list(maps)}; give distinct names")
    for name, array in arrays.items():
        if np.abs(np.nan_to_num(array)).max() > _MAX_COORDINATE:
            raise ValueError(f"maps[{name!r}] has coordinates beyond {_MAX_COORDINATE:g}: scale it down")
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"maps must hold the same points, got different numbers of them: {counts}")
    return arrays


def placed_points(maps: Iterable[np.ndarray]) -> np.ndarray:
    """Return which points have a place on every map, with a warning if some have none.

    Parameters
    ----------
    maps : iterable of ndarray of shape (n, n_components)
        NaN for points without a place.

    Returns
    -------
    ndarray of shape (n,), bool
    """
    placed = np.all([np.isfinite(Y).all(axis=1) for Y in maps], axis=0)
    missing = int(np.count_nonzero(~placed))
    if missing == len(placed):
        raise ValueError(f"none of the {missing} points has a place on every map: give maps without NaN")
    if missing:
        what = "1 point without a place is" if missing == 1 else f"{missing:,} points without a place are"
        warn_user(f"{what} not shown: NaN coordinates, such as of disconnected samples")
    return np.asarray(placed)


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
    return {
        name: target if Y is target else _product(Y, _nearest_rotation(Y, target))
        for name, Y in centered.items()
    }


def align_to(Y: np.ndarray, target: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Return a map moved, turned and mirrored so that its shared points come closest to those of a target.

    Without shared points the map stays where it is.

    Parameters
    ----------
    Y : ndarray of shape (n, n_components)
    target : ndarray of shape (n, n_components)
    shared : ndarray of shape (n,), bool
    """
    if not shared.any():
        return np.array(Y, np.float64)
    centers = [part[shared].mean(axis=0, dtype=np.float64) for part in (Y, target)]
    rotation = _nearest_rotation(Y[shared] - centers[0], target[shared] - centers[1])
    return np.asarray(_product(Y - centers[0], rotation) + centers[1])


def _nearest_rotation(Y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix Q, which may mirror, that minimises ||Y Q - target||.

    It is the orthogonal factor of Yᵀ target, found by Newton's iteration: unlike a singular value
    decomposition by LAPACK, it gives the same bits on every processor.
    """
    moments = np.stack([(Y[:, [i]] * target).sum(axis=0, dtype=np.float64) for i in range(Y.shape[1])])
    size = np.sqrt((moments**2).sum())
    if not size > 0:
        return np.eye(Y.shape[1])
    rotation: np.ndarray = moments / size
    for _ in range(_MAX_ROTATION_STEPS):
        step = _product(rotation, 1.5 * np.eye(len(rotation)) - 0.5 * _product(rotation.T, rotation))
        if np.abs(step - rotation).max() < _ROTATION_TOLERANCE:
            return step
        rotation = step
    return rotation


def _product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The matrix product with sums in the order of columns, on every processor."""
    return np.asarray(sum(A[:, [i]] * B[[i]] for i in range(len(B))))
