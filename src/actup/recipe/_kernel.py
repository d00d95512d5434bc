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
    hundred times as long as the fit, and because the maps of a seed need the same a and b on every processor.
    """
    from actup._elementary import exp, log, power

    distance = np.linspace(0, 3, 300)[1:]  # at 0 the kernel is 1 whatever a and b are
    log_distance = log(distance)
    wanted = exp(-np.maximum(distance - min_dist / spread, 0))

    def kernel(logarithms: np.ndarray) -> np.ndarray:
        a, b = exp(logarithms)
        values: np.ndarray = 1 / (1 + a * power(distance, 2 * b))
        return values

    def misfit(logarithms: np.ndarray) -> float:
        return float(np.sum((kernel(logarithms) - wanted) ** 2))

    logarithms = np.zeros(2)
    for _ in range(100):
        values = kernel(logarithms)
        by_a = -values * (1 - values)  # the derivative by the logarithm of a
        by_b = by_a * 2 * exp(logarithms[1]) * log_distance
        step = _least_squares(by_a, by_b, wanted - values)
        while np.abs(step).max() > 1e-12 and misfit(logarithms + step) > misfit(logarithms):
            step /= 2
        logarithms += step
        if np.abs(step).max() <= 1e-12:
            break
    a, b = exp(logarithms)
    return float(a / power(spread, 2 * b)), float(b)


def _least_squares(x: np.ndarray, y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The factors of x and y whose sum is closest to the target, by products that no processor fuses."""
    share = (x * y).sum() / (x * x).sum()
    rest = y - share * x  # the part of y that is orthogonal to x
    of_rest = (rest * target).sum() / (rest * rest).sum()
    return np.array([(x * target).sum() / (x * x).sum() - share * of_rest, of_rest])
