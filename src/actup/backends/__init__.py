"""Backends: the contract every one fulfils, and the registry.

A backend is a module with four functions::

    nearest_neighbors(X, k, metric, threads)          -> Neighbors
    affinity_graph(neighbors, recipe, threads)        -> Graph
    spectral_coordinates(graph, dimensions, seed, threads) -> ndarray (n, dimensions), unscaled
    make_layout(graph, start, recipe, seed, threads)  -> Layout

X is C-contiguous float32 and finite; ``start`` is (n, n_components) float32; all arrays are in the caller's
order. Every function is deterministic: the number of threads never changes a bit of the result.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np

_BACKENDS = {
    "cpu": "actup.backends.cpu",
    "cuda": "actup.backends.cuda",
    "reference": "actup.backends.reference",
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
    from actup.backends.cuda.compile import cupy

    try:
        cupy()
    except (ImportError, RuntimeError):
        return False
    return True


def load_backend(name: str) -> ModuleType:
    """The module that implements a backend."""
    if name not in _BACKENDS:
        raise ValueError(f"backend={name!r} is not one of {', '.join(map(repr, _BACKENDS))}")
    return import_module(_BACKENDS[name])
