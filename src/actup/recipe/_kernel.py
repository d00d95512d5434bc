"""fit_kernel(): the a and b of the map's kernel that ``min_dist`` and ``spread`` ask for."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=64)  # several stages of a run ask for the same fit
def fit_kernel(min_dist: float, spread: float) -> tuple[float, float]:
    """Fit a and b so that the kernel 1/(1 + a d^(2b)) is closest to the curve UMAP wants.

    The curve is 1 up to ``min_dist`` and falls as exp(-(d - min_dist)/spread) beyond it. As in umap-learn,
    the fit is least squares over 300 distances from 0 to 3 ``spread``, so that the same parameters give the
    same kernel. Distances are measured in units of ``spread``. The unknowns are the logarithms of a and b,
    found by the Gauss-Newton method from 0. It is written out here because importing scipy.optimize takes a
    hundred times as long as the fit.
    """
    distance = np.linspace(0, 3, 300)[1:]  # at 0 the kernel is 1 whatever a and b are
    wanted = np.exp(-np.maximum(distance - min_dist / spread, 0))

    def kernel(logarithms: np.ndarray) -> np.ndarray:
        a, b = np.exp(logarithms)
        values: np.ndarray = 1 / (1 + a * distance ** (2 * b))
        return values

    def misfit(logarithms: np.ndarray) -> float:
        return float(np.sum((kernel(logarithms) - wanted) ** 2))

    logarithms = np.zeros(2)
    for _ in range(100):
        values = kernel(logarithms)
        slope = -values * (1 - values)  # the derivative by the logarithm of a
        jacobian = np.column_stack([slope, slope * 2 * np.exp(logarithms[1]) * np.log(distance)])
        step = np.linalg.lstsq(jacobian, wanted - values, rcond=None)[0]
        while np.abs(step).max() > 1e-12 and misfit(logarithms + step) > misfit(logarithms):
            step /= 2
        logarithms += step
        if np.abs(step).max() <= 1e-12:
            break
    a, b = np.exp(logarithms)
    return float(a / spread ** (2 * b)), float(b)
