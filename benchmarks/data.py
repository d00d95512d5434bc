"""Data sets for the benchmarks: npz files in the folder ACTUP_DATA names, or from OpenML."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

_OPENML = {"mnist": "mnist_784", "fashion_mnist": "Fashion-MNIST"}


def load(name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """X (as stored) and y (or None) of a data set."""
    folder = os.environ.get("ACTUP_DATA")
    path = Path(folder) / f"{name}.npz" if folder else None
    if path and path.exists():
        with np.load(path) as archive:
            return archive["X"], archive.get("y", None)
    if name not in _OPENML:
        raise FileNotFoundError(f"{name}.npz is not in the folder ACTUP_DATA={folder!r}; put it there")
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml(_OPENML[name], return_X_y=True, as_frame=False)
    return X[:60_000].astype(np.uint8), y[:60_000].astype(np.int64)
