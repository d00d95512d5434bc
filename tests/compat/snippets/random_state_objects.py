"""A RandomState in place of an integer."""

import numpy as np
import umap

X = np.random.default_rng(0).normal(size=(150, 4))
maps = [umap.UMAP(random_state=np.random.RandomState(7), n_epochs=30).fit_transform(X) for _ in range(2)]
assert np.array_equal(*maps)
