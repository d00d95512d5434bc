"""Backends: the contract every one fulfils, and the registry.

A backend is a module with two constants and five functions::

    METRICS    the metrics of its nearest_neighbors; actup.neighbors._api serves all others, and sparse rows
    SCALARS    the types of dense rows that it reads as they are, others become float32; None: it reads all

    nearest_neighbors(X, k, metric, threads)          -> Neighbors
    affinity_graph(neighbors, recipe, threads)        -> Graph
    spectral_coordinates(graph, dimensions, seed, threads) -> ndarray (n, dimensions), unscaled
    make_layout(graph, start, recipe, seed, threads)  -> Layout
    place_rows(neighbors, embedding, recipe, placement, threads) -> ndarray (rows, n_components)

Very many points start at landmarks (``actup.start._landmarks``), for which "cpu" and "cuda" have two
functions::

    find_landmarks(X, metric, wanted, seed, threads)  -> landmarks (count, columns), labels (n,)
    scatter_around(places, labels, reach, seed, threads) -> array (n, dimensions)

A backend whose arrays live elsewhere also has ``start``, a module with functions that replace those of
``initialization`` with the same names (``pca_start``, ``spectral_start`` and so on);
``query_neighbors(X, X_new, k, metric)``, which replaces a ``NeighborIndex``, or gives None where it cannot;
``synchronize()``, which waits for what has been asked for; ``delivered(prepared, X)``, which gives what was
computed as arrays of the caller's kind; and ``compile_ahead(recipe, n, columns)``, which begins to compile
what a run will need.

``place_rows`` gives the places of new rows on a finished map, from their neighbours among its points, none of
which is at distance 0; each row's place depends on that row alone.

X is C-contiguous, of one of ``SCALARS``, and finite; ``start`` is (n, n_components) float32; all arrays are
in the caller's order. Every function is deterministic: the number of threads never changes a bit of the
result.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np

from actup._warnings import warn_user
from actup.graph._records import on_gpu

_BACKENDS = {
    "cpu": "actup.backends._cpu",
    "cuda": "actup.backends._cuda",
    "reference": "actup.backends._reference",
}


class Layout(Protocol):
    """A descent that can be run in steps: run(5) then run(10) equals run(10)."""

    epoch: int
    n_epochs: int

    def run(self, until: int) -> None:
        """Advance to epoch ``until``; does nothing if it is already there."""

    def embedding(self) -> np.ndarray:
        """The points now, in the caller's order: (n, n_components) float32, a copy."""

    def loss(self) -> float:
        """The recipe's loss at the points now, over all pairs."""


def backends() -> list[str]:
    """The names of the backends that can run here: "cuda" only where CuPy finds a GPU."""
    return [name for name in _BACKENDS if name != "cuda" or cuda_is_available()]


@cache
def cuda_is_available() -> bool:
    """Whether backend "cuda" can run: CuPy is installed and finds a GPU."""
    from actup.backends._cuda.compile import cupy

    try:
        cupy()
    except (ImportError, RuntimeError):
        return False
    return True


# Points from which a GPU is worth its start, for backend "auto".
_WORTH_A_GPU = 5_000


def choose_backend(name: str, X, n_samples: int) -> str:
    """The backend that "auto" stands for: "cuda" where a GPU is there and has enough to do, else "cpu".

    Data that lies on a GPU already is always enough; sparse data stays on the CPU. Any other name is itself.
    """
    if name != "auto":
        return name
    if (n_samples < _WORTH_A_GPU and not on_gpu(X)) or hasattr(X, "tocsr"):
        return "cpu"
    if cuda_is_available():
        return "cuda"
    _note_unusable_gpu()
    return "cpu"


@cache
def _note_unusable_gpu() -> None:
    """Say once that CuPy is installed but cannot be used; say nothing if it is not installed."""
    from actup.backends._cuda.compile import cupy

    try:
        cupy()
    except ImportError:
        pass
    except RuntimeError as error:
        warn_user(f"backend='auto' uses the CPU: {error}")


def load_backend(name: str) -> ModuleType:
    """The module that implements a backend."""
    if name not in _BACKENDS:
        raise ValueError(f"backend={name!r} is not one of 'auto', {', '.join(map(repr, _BACKENDS))}")
    return import_module(_BACKENDS[name])
