"""Small helpers that programs import from openTSNE.utils."""

from __future__ import annotations

import importlib
import time
from types import TracebackType

import numpy as np

__all__ = ["Timer", "clip_point_to_disc", "is_package_installed"]


class Timer:
    """Prints what is done and how long it took, if ``verbose``.

    Parameters
    ----------
    message : str
        What is done.
    verbose : bool, default=False
        Whether to print anything.

    Examples
    --------
    >>> from actup.compat.opentsne.utils import Timer
    >>> with Timer("Searching...", verbose=True):
    ...     pass
    ===> Searching...
       --> Time elapsed: 0.00 seconds
    """

    def __init__(self, message: str, verbose: bool | int = False) -> None:
        self.message, self.verbose = message, verbose
        self.start_time = time.time()

    def __enter__(self) -> None:
        if self.verbose:
            print("===>", self.message)

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        if self.verbose:
            print(f"   --> Time elapsed: {time.time() - self.start_time:.2f} seconds")


def is_package_installed(libname: str) -> bool:
    """Whether a package can be imported.

    Parameters
    ----------
    libname : str
        Its name.

    Returns
    -------
    bool

    Examples
    --------
    >>> from actup.compat.opentsne.utils import is_package_installed
    >>> is_package_installed("numpy"), is_package_installed("no_such_package")
    (True, False)
    """
    try:
        importlib.import_module(libname)
    except ImportError:
        return False
    return True


def clip_point_to_disc(
    points: np.ndarray, radius: float, inplace: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Move points outside a disc around 0 to its edge.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        The points.
    radius : float
        Of the disc.
    inplace : bool, default=False
        Whether to change ``points`` itself.

    Returns
    -------
    points : ndarray of shape (n, 2)
        All points inside the disc.
    mask : ndarray of shape (n,), bool
        Which points were outside.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.opentsne.utils import clip_point_to_disc
    >>> points, outside = clip_point_to_disc(np.array([[0.0, 4.0], [0.5, 0.0]]), 2)
    >>> points.tolist(), outside.tolist()
    ([[0.0, 2.0], [0.5, 0.0]], [True, False])
    """
    clipped = points if inplace else points.copy()
    lengths = np.linalg.norm(clipped, axis=1)
    outside = lengths > radius
    clipped[outside] *= (radius / lengths[outside])[:, None]
    return clipped, outside
