"""Network: a small neural network as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Network:
    """A network of dense layers with rectified linear units, as plain arrays.

    Attributes
    ----------
    shift : ndarray of shape (n_features,), float32
        What is subtracted from a row before the first layer.
    scale : ndarray of shape (1,), float32
        What it is multiplied by then. One number, so that columns keep the proportions that the metric sees.
    weights : list of ndarray of shape (n_in, n_out), float32
    biases : list of ndarray of shape (n_out,), float32
    """

    shift: np.ndarray
    scale: np.ndarray
    weights: list[np.ndarray]
    biases: list[np.ndarray]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The places of rows: (n, n_components) float32."""
        with np.errstate(over="ignore", invalid="ignore"):  # of rows very far from the training data
            values = (rows.astype(np.float32) - self.shift) * self.scale
            for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
                values = np.maximum(values @ weights + biases, 0)
            return np.asarray(values @ self.weights[-1] + self.biases[-1], np.float32)

    def check(self, columns: int, dimensions: int) -> None:
        """Reject layers that do not fit to each other, to rows of so many columns, or to the map."""
        sizes = [columns, *(len(biases) for biases in self.biases)]
        shapes = list(pairwise(sizes))
        fits = [weights.shape for weights in self.weights] == shapes and sizes[-1] == dimensions
        arrays = [self.shift, self.scale, *self.weights, *self.biases]
        plain = all(part.dtype == np.float32 and np.isfinite(part).all() for part in arrays)
        if not (fits and plain and self.shift.shape == (columns,) and self.scale.shape == (1,)):
            raise ValueError("network_ has layers that do not fit together, or values that are not finite")
