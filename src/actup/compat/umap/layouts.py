"""``umap.layouts``: the two small functions of umap-learn's descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup.compat.umap._absent import explain_absent

__all__ = ["clip", "rdist"]

_LARGEST_STEP = 4.0


def clip(val: float) -> float:
    """A step along one axis, cut to the range from -4 to 4.

    Parameters
    ----------
    val : float

    Returns
    -------
    float

    Examples
    --------
    >>> from actup.compat.umap.layouts import clip
    >>> clip(7.5), clip(-0.5)
    (4.0, -0.5)
    """
    return min(max(val, -_LARGEST_STEP), _LARGEST_STEP)


def rdist(x: Any, y: Any) -> float:
    """The squared Euclidean distance of two points.

    Parameters
    ----------
    x, y : ndarray of shape (n_components,)

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.layouts import rdist
    >>> rdist(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
    25.0
    """
    return float(((np.asarray(x) - np.asarray(y)) ** 2).sum())


def __getattr__(name: str) -> Any:
    raise explain_absent(__name__, name)
