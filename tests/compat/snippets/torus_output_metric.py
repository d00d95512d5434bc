"""A metric of one's own for the map, with its gradient: a torus."""

import numpy as np
import umap
from sklearn.datasets import load_digits

try:
    from numba import njit
except ImportError:  # umap-learn needs it

    def njit(**options):
        return lambda function: function


@njit(fastmath=True)
def torus_euclidean_grad(x, y, torus_dimensions=(2 * np.pi, 2 * np.pi)):
    distance_sqr = 0.0
    g = np.zeros_like(x)
    for i in range(x.shape[0]):
        a = abs(x[i] - y[i])
        if 2 * a < torus_dimensions[i]:
            distance_sqr += a**2
            g[i] = x[i] - y[i]
        else:
            distance_sqr += (torus_dimensions[i] - a) ** 2
            g[i] = (x[i] - y[i]) * (a - torus_dimensions[i]) / a
    distance = np.sqrt(distance_sqr)
    return distance, g / (1e-6 + distance)


X = load_digits().data[:120]
places = umap.UMAP(output_metric=torus_euclidean_grad, n_epochs=30, random_state=42).fit_transform(X)
assert places.shape == (120, 2)
assert np.isfinite(places).all()
