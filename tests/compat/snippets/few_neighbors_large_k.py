"""n_neighbors as large as the data: truncated with a warning."""

import warnings

import numpy as np
import umap

X = np.random.default_rng(0).normal(size=(12, 3))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    places = umap.UMAP(n_neighbors=30, init="random", random_state=0).fit_transform(X)
assert places.shape == (12, 2)
assert any("n_neighbors" in str(warning.message) for warning in caught)
