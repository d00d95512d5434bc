"""n_neighbors, n_components and metric by position."""

import numpy as np
import umap

X = np.random.default_rng(0).normal(size=(100, 5))
model = umap.UMAP(8, 3, "cosine", n_epochs=20, random_state=0).fit(X)
assert model.embedding_.shape == (100, 3)
assert model.metric == "cosine"
