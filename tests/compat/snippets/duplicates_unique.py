"""unique=True: equal rows share a place."""

import numpy as np
import umap
from sklearn.datasets import load_iris

X = np.repeat(load_iris().data[:60], 3, axis=0)
places = umap.UMAP(unique=True, n_neighbors=5, random_state=0).fit_transform(X)
assert places.shape == (180, 2)
assert np.array_equal(places[0], places[1]) and np.array_equal(places[0], places[2])
